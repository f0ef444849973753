import Attachments
import BridgeService
import Commands
import Files
import Vocabulary

/// `logout`
struct LogoutCommand: Command {
    static let declaration = CommandDeclaration(
        name: "logout", summary: "delete the token that pairing has saved",
        options: [
            .connection,
            .config,
        ],
        examples: ["sophon-bridge logout", "sophon-bridge logout --connection work"])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let loaded = try CommandConfiguration.load(command, output)
        let target = try ConnectionOfCommand(command, in: loaded)
        let store = CredentialStore(directory: target.directory)
        let name = target.connection.name
        let path = store.path(of: name)
        let isDeleted = try store.delete(name)
        output.event(
            "logged_out", [("path", .string(path)), ("deleted", JSONText(unchecked: isDeleted ? "true" : "false"))])
        output.line(isDeleted ? "deleted \(path)" : "nothing to delete: there is no \(path)")
        try forgetKeys(of: name, in: loaded.configuration)
        let living = try LivingChildren.endAll(of: name, in: loaded.configuration.stateDirectory, output)
        try deleteFiles(in: loaded.configuration)
        if isDeleted { output.say("the phone lists this bridge until it is removed there") }
        if let origin = target.tokenOrigin { output.say("a token is still set by \(origin)") }
        guard living.isEmpty else { throw LivingChildren.notEnded(living, "") }
    }

    /// Deletes files of messages that a killed process left: the next start would do so, and may not come.
    private func deleteFiles(in configuration: Configuration) throws {
        let folder = configuration.stateDirectory + "/files"
        guard FileSpool.isThere(folder), try InstanceLock.holder(directory: configuration.stateDirectory) == .nobody
        else { return }
        try FileSpool(folder).open()
    }

    private func forgetKeys(of name: ConnectionName, in configuration: Configuration) throws {
        let files = SealingFiles(
            configDirectory: configuration.configDirectory, stateDirectory: configuration.stateDirectory)
        guard try files.delete(name) else { return }
        output.event("keys_deleted", [("connection", .string(name.text))])
        output.line("deleted the keys of its sealed chats")
        guard try InstanceLock.holder(directory: configuration.stateDirectory) != .nobody else { return }
        output.say("the bridge that runs still has them, and may write them again: end it, then log out once more")
    }
}
