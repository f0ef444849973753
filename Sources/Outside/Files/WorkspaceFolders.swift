import Glibc
package import Vocabulary

/// Decides which folders an agent may use as its workspace: an existing one that neither is nor contains the person's
/// home or a directory of the bridge.
package struct WorkspaceFolders: Hashable, Sendable {
    private struct Kept: Hashable, Sendable {
        var path: String
        var name: String
        /// Folders within it are refused as well.
        var isPrivate: Bool
    }

    package static let remedy =
        "name another folder: `workspaces` in the configuration, or SOPHON_WORKSPACE, or start the bridge in it"

    private let kept: [Kept]

    package init(home: String?, configDirectory: String?, stateDirectory: String) {
        let kept = [
            home.map { Kept(path: $0, name: "the home directory", isPrivate: false) },
            configDirectory.map { Kept(path: $0, name: "the bridge's configuration directory", isPrivate: true) },
            Kept(path: stateDirectory, name: "the bridge's state directory", isPrivate: true),
        ]
        self.kept = kept.compactMap(\.self).filter { $0.path.hasPrefix("/") }
    }

    /// Why the folder is refused, as words to follow its path, or nil if it may be used. Links are followed; the folder need not exist.
    package func refusal(of folder: String) -> String? {
        let path = Self.resolved(folder) ?? Self.withoutSlash(folder)
        if path == "/" { return "is the root of all files" }
        for place in kept {
            let own = Self.resolved(place.path) ?? Self.withoutSlash(place.path)
            if path == own { return "is \(place.name) itself" }
            if own.hasPrefix(path + "/") { return "holds \(place.name), \(own)" }
            if place.isPrivate, path.hasPrefix(own + "/") { return "is within \(place.name)" }
        }
        return nil
    }

    /// Checks the folder itself. Blocks as long as its disk does.
    package func look(at folder: String) -> FolderAnswer {
        guard let path = Self.resolved(folder) else {
            return .unusable(
                "The workspace \(folder) is not there (\(String(cString: strerror(errno)))). Make it, or \(Self.remedy)."
            )
        }
        if let refusal = refusal(of: path) {
            return .unusable("The workspace \(folder) cannot be used, because it \(refusal). To go on, \(Self.remedy).")
        }
        var about = stat()
        guard stat(path, &about) == 0, about.st_mode & S_IFMT == S_IFDIR else {
            return .unusable("The workspace \(folder) is no folder. To go on, \(Self.remedy).")
        }
        guard access(path, R_OK | X_OK) == 0 else {
            return .unusable(
                "The workspace \(folder) may not be entered by this user. Let this user read it, or \(Self.remedy).")
        }
        return .found(path)
    }

    private static func resolved(_ path: String) -> String? {
        guard path.hasPrefix("/"), let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    private static func withoutSlash(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }
}
