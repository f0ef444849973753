import AgentKit
import BridgeCore
import BridgeService
import ConfigurationFile
import Files
import FoundationEssentials
import Vocabulary

extension LocalFiles {
    /// Nil if the agent's files are on another machine.
    convenience init?(of agent: any LiveAgent, in loaded: LoadedConfiguration) {
        guard agent.sharesFiles else { return nil }
        self.init(home: ProcessInfo.processInfo.environment["HOME"], hidden: loaded.ownFiles)
    }
}

extension LoadedConfiguration {
    /// Folders and files with the bridge's own secrets in them.
    var ownFiles: Set<String> {
        let folders = [configuration.configDirectory, configuration.stateDirectory].compactMap(\.self)
        return Set(folders).union(settings.flatMap(\.origin.files))
    }

    func asks(of connection: Configuration.Connection) -> AskSettings {
        configuration.askSettings(of: connection, home: ProcessInfo.processInfo.environment["HOME"])
    }
}

extension ConfigurationOrigin {
    /// Files that hold the value: the configuration itself, wherever it is, and the file that it names by `"@/path"`.
    fileprivate var files: [String] {
        switch self {
        case .file(let file, _), .variable(_, let file, _): [file]
        case .contents(let path, let naming): [path] + naming.files
        case .fallback, .environment, .flag: []
        }
    }
}
