import AgentKit
import BridgeCore
import ConfigurationFile
import Files

/// Folders that agents work in: `workspaces` with one default, else the variable, else the folder in which the program started.
/// A named folder that must not be used is a fault; whether it exists is checked before each message.
struct WorkspacesReading {
    private static let limit = 64
    private static let expected = "a folder for the agent to work in, such as \"~/site\""

    private let directory: ValueForm<String>
    private let rules: WorkspaceFolders
    private let currentDirectory: String?

    init(_ sources: ConfigurationSources, directory: ValueForm<String>, _ configuration: Configuration) {
        self.directory = directory
        rules = WorkspaceFolders(
            home: sources.environment["HOME"], configDirectory: configuration.configDirectory,
            stateDirectory: configuration.stateDirectory)
        currentDirectory = sources.currentDirectory
    }

    /// Workspaces for agents whose own keys name no folder; `isUsed` is true if there is such an agent.
    func workspaces(_ top: ConfigurationSection, isUsed: Bool, _ reader: inout ConfigurationReader) -> Workspaces? {
        if let value = top["workspaces"] { return named(value, top, &reader) }
        if let value = top["default_workspace"] {
            reader.complain(
                "default_workspace", found: "set, without workspaces", expected: "the name of one of the workspaces",
                origin: reader.origin(value))
        }
        guard isUsed else { return nil }
        let path = reader.value(
            "workspace", of: ConfigurationSection(path: ""), as: directory.optional,
            environment: ["SOPHON_WORKSPACE"], else: currentDirectory)
        // An unusable current directory is no fault of the configuration: messages say what to do.
        let origin = reader.settings.last?.origin ?? .fallback
        if let path, origin != .fallback { judge(path, at: "workspace", origin, &reader) }
        return path.map { Workspaces(standard: Workspace(folder: $0)) }
    }

    private func named(
        _ value: ConfigurationValue, _ top: ConfigurationSection, _ reader: inout ConfigurationReader
    ) -> Workspaces? {
        guard case .members(let all) = value.content else {
            reader.complain(
                "workspaces", found: value.content.shown,
                expected: "an object of names and folders, such as {\"site\": \"~/site\"}", origin: reader.origin(value)
            )
            return nil
        }
        let section = ConfigurationSection(path: "workspaces", members: all.filter { !$0.name.hasPrefix("//") })
        guard (1...Self.limit).contains(section.members.count) else {
            reader.complain(
                "workspaces", found: "\(section.members.count) of them", expected: "1 to \(Self.limit) workspaces",
                origin: reader.origin(value))
            return nil
        }
        var known: [Workspace] = []
        for member in section.members {
            let path = section.path(of: member.name)
            let isName = (try? ValueForm<String>.connectionName.read(.string(member.name))) != nil
            if !isName || known.contains(where: { $0.name?.lowercased() == member.name.lowercased() }) {
                reader.complain(
                    path,
                    found: isName
                        ? "a name that differs from another only in its case" : "a name that cannot be written",
                    expected: "a name of 1 to 64 letters, digits, - or _, once", origin: reader.origin(member.value))
            }
            let folder = reader.value(member.name, of: section, as: directory, else: "")
            if !folder.isEmpty { judge(folder, at: path, reader.origin(member.value), &reader) }
            known.append(Workspace(name: member.name, folder: folder))
        }
        let names = known.compactMap(\.name)
        let standard = reader.value(
            "default_workspace", of: top, as: .word(of: names), else: names[0])
        guard let index = names.firstIndex(of: standard) else { return nil }
        let first = known.remove(at: index)
        return Workspaces(standard: first, others: known)
    }

    /// The folder that an agent's own keys name serves all its chats.
    func own(
        _ folder: String, at path: String, besides workspaces: Bool, _ reader: inout ConfigurationReader
    ) -> Workspaces {
        let origin = reader.settings.last { $0.path == path }?.origin ?? .fallback
        if workspaces {
            reader.complain(
                path, found: "set, and so are workspaces", expected: "one of the two; chats are begun in workspaces",
                origin: origin)
        }
        judge(folder, at: path, origin, &reader)
        return Workspaces(standard: Workspace(folder: folder))
    }

    private func judge(
        _ folder: String, at path: String, _ origin: ConfigurationOrigin, _ reader: inout ConfigurationReader
    ) {
        guard let refusal = rules.refusal(of: folder) else { return }
        reader.complain(
            path, found: "\(folder), which \(refusal)", expected: Self.expected, origin: origin)
    }
}
