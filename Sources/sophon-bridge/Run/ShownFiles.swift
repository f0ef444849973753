import AgentKit
import BridgeModel
import BridgeService
import Configuring
import Files
import FoundationEssentials

extension FileViewer.Parts {
    /// Nil: the agent's files are on another machine.
    init?(
        of agent: any LiveAgent, in loaded: LoadedConfiguration, alarm: @autoclosure () throws -> any Alarm
    ) rethrows {
        guard agent.sharesFiles else { return nil }
        let configuration = loaded.configuration
        let folders = [configuration.configDirectory, configuration.stateDirectory].compactMap(\.self)
        let own = folders + Set(loaded.settings.flatMap(\.origin.files)).sorted()
        let files = LocalFiles(home: ProcessInfo.processInfo.environment["HOME"], hidden: own)
        self.init(files: files, alarm: try alarm())
    }
}

extension ConfigurationOrigin {
    /// Those that hold the value: the configuration itself, wherever it is, and what it names by `"@/path"`.
    fileprivate var files: [String] {
        switch self {
        case .file(let file, _), .variable(_, let file, _): [file]
        case .contents(let path, let file, _): [path, file]
        case .fallback, .environment, .flag: []
        }
    }
}
