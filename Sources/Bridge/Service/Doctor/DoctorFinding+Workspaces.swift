package import AgentKit
import BridgeCore
package import Files
import FoundationEssentials
import Vocabulary

extension WorkspaceFolders {
    package init(of configuration: Configuration) {
        self.init(
            home: ProcessInfo.processInfo.environment["HOME"], configDirectory: configuration.configDirectory,
            stateDirectory: configuration.stateDirectory)
    }
}

extension DoctorFinding {
    /// One line for each folder in which chats of this connection work.
    package static func workspaces(
        of connection: Configuration.Connection, _ folders: WorkspaceFolders
    ) -> [DoctorFinding] {
        (connection.workspaces?.all ?? []).map { workspace in
            let name = workspace.name.map { "the workspace \($0)" } ?? "the workspace"
            switch folders.look(at: workspace.folder) {
            case .found(let path):
                return DoctorFinding(.workspace, .ok, "\(name) is \(path)", connection: connection.name.text)
            case .unusable(let sentence):
                return DoctorFinding(
                    .workspace, .failed, sentence, connection: connection.name.text, exitCode: .usage)
            }
        }
    }
}
