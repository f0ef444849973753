import AgentKit
import BridgeModel
import BridgeService
import Files
import FoundationEssentials

extension FileViewer.Parts {
    /// Nil: the agent's files are on another machine.
    init?(of agent: any LiveAgent, in configuration: Configuration, alarm: @autoclosure () throws -> any Alarm) rethrows
    {
        guard agent.sharesFiles else { return nil }
        let own = [configuration.configDirectory, configuration.stateDirectory].compactMap(\.self)
        let files = LocalFiles(home: ProcessInfo.processInfo.environment["HOME"], hidden: own)
        self.init(files: files, alarm: try alarm())
    }
}
