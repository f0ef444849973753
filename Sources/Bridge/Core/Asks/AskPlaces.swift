/// The places that paths lead to, and the rules that writing there meets.
///
/// A path is a list of its parts. It begins with `ShellMark.unknown` if its beginning is unknown, and with `ShellMark.home` in a home
/// folder whose own path is unknown.
struct AskPlaces {
    typealias Rule = SeverityRules.Rule

    let home: [[UInt8]]
    private let workspace: [[UInt8]]?
    private let own: [[[UInt8]]]

    private static let slash = UInt8(ascii: "/")
    static let unknown: [[UInt8]] = [[ShellMark.unknown]]

    init(home: String?, workspace: String?, own: [String]) {
        let base = home.map { Self.parts(Array($0.utf8), after: []) } ?? [[ShellMark.home]]
        self.home = base
        func absolute(_ text: String) -> [[UInt8]]? {
            let bytes = Array(text.utf8)
            if text == "~" || text.hasPrefix("~/") { return Self.parts(Array(bytes.dropFirst()), after: base) }
            return text.hasPrefix("/") ? Self.parts(bytes, after: []) : nil
        }
        // A workspace that is the whole disk bounds nothing.
        self.workspace = workspace.flatMap(absolute).flatMap { $0.isEmpty ? nil : $0 }
        self.own = own.compactMap(absolute).filter { !$0.isEmpty }
    }

    var user: [UInt8] { home.last.flatMap { $0 == [ShellMark.home] ? nil : $0 } ?? [ShellMark.unknown] }

    /// The path that `~name` stands for.
    func home(of user: [UInt8]) -> [UInt8] {
        if user == self.user { return [ShellMark.home] }
        return user == Array("root".utf8) ? Array("/root".utf8) : Array("/home/".utf8) + user
    }

    func text(_ path: [[UInt8]]) -> [UInt8] {
        if let first = path.first?.first, first == ShellMark.unknown || first == ShellMark.home {
            return Array(path.joined(separator: [Self.slash]))
        }
        return [Self.slash] + path.joined(separator: [Self.slash])
    }

    /// Nil if nothing of the path is known.
    func path(_ bytes: [UInt8], in folder: [[UInt8]]?) -> [[UInt8]]? {
        guard let first = bytes.first else { return nil }
        if first == ShellMark.home {
            guard bytes.count == 1 || bytes[1] == Self.slash else { return nil }
            return Self.parts(Array(bytes.dropFirst()), after: home)
        }
        if first == Self.slash { return Self.parts(bytes, after: []) }
        if first == ShellMark.unknown {
            guard let end = bytes.firstIndex(of: Self.slash) else { return nil }
            return Self.parts(Array(bytes[end...]), after: Self.unknown)
        }
        return Self.parts(bytes, after: folder ?? Self.unknown)
    }

    private static func parts(_ bytes: [UInt8], after base: [[UInt8]]) -> [[UInt8]] {
        var parts = base
        for part in bytes.split(separator: slash) {
            if part.elementsEqual("..".utf8) {
                if parts != unknown, !parts.isEmpty { parts.removeLast() }
            } else if !part.elementsEqual(".".utf8) {
                parts.append(Array(part))
            }
        }
        return parts
    }

    // MARK: Inside and outside

    /// The rest of a path within the workspace. Nil also if the workspace is the home folder, or holds it.
    private func rest(inWorkspace path: [[UInt8]]) -> ArraySlice<[UInt8]>? {
        guard let workspace, path.starts(with: workspace), !home.starts(with: workspace) else { return nil }
        return path[workspace.count...]
    }

    /// The path is known to lie outside the workspace. Temporary files belong to no place.
    func isOutside(_ path: [[UInt8]]) -> Bool {
        if path.first == [ShellMark.unknown] || Self.isTemporary(path) { return false }
        if path.count == 2, path[0] == Array("dev".utf8), !Self.isDisk(path) { return false }
        guard let workspace else { return true }
        return !path.starts(with: workspace)
    }

    private static let temporary: [[[UInt8]]] = [
        "tmp", "var/tmp", "private/tmp", "private/var/folders", "var/folders", "dev/shm", "dev/fd",
    ].map { parts(Array($0.utf8), after: []) }

    /// One name in a folder for temporary files. A pattern for all of its names does not count.
    private static func isTemporary(_ path: [[UInt8]]) -> Bool {
        temporary.contains { path.count > $0.count && path.starts(with: $0) && path[$0.count] != [ShellMark.any] }
    }

    static func isNothing(_ path: [[UInt8]]) -> Bool { path == [Array("dev".utf8), Array("null".utf8)] }

    /// The path is a disk, as a device file.
    static func isDisk(_ path: [[UInt8]]) -> Bool {
        guard path.count > 1, path[0] == Array("dev".utf8) else { return false }
        let kinds = ["sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper", "md", "dm-", "loop"]
        return kinds.contains { path[1].starts(with: $0.utf8) }
    }

    // MARK: Places that a rule names

    /// The rules that writing this path meets.
    func rules(of path: [[UInt8]]) -> Set<Rule> {
        var rules: Set<Rule> = []
        if own.contains(where: { Self.leads(path[...], under: $0) }) { rules.insert(.ownFolder) }
        for (index, part) in path.enumerated() where index + 1 < path.count && part == Self.git {
            if Self.isNamed(path[index + 1], Self.hooks) || Self.isNamed(path[index + 1], Self.config) {
                rules.insert(.startUpFile)
            }
        }
        if let rest = rest(inWorkspace: path) {
            rules.formUnion(Self.rules(of: rest, in: Self.inProject))
        } else if let rest = self.rest(inHome: path) {
            rules.formUnion(Self.isFolderOfWork(rest) ? [] : Self.rules(of: rest, in: Self.inHome))
        } else {
            rules.formUnion(Self.rules(of: path[...], in: Self.inSystem))
        }
        return rules
    }

    /// The rest of a path within a home folder, of this person or another. A path of unknown beginning may lie in one.
    private func rest(inHome path: [[UInt8]]) -> ArraySlice<[UInt8]>? {
        if path.starts(with: home) { return path[home.count...] }
        if path.first == [ShellMark.unknown] { return path[1...] }
        if path.count > 2, path[0] == Array("home".utf8) || path[0] == Array("Users".utf8) { return path[2...] }
        return path.count > 1 && path[0] == Array("root".utf8) ? path[1...] : nil
    }

    /// OpenClaw keeps the workspaces of its agents among its settings.
    private static func isFolderOfWork(_ rest: ArraySlice<[UInt8]>) -> Bool {
        guard let first = rest.first, let second = rest.dropFirst().first else { return false }
        return first.elementsEqual(".openclaw".utf8) && second.starts(with: "workspace".utf8)
    }

    private static let git = Array(".git".utf8)
    private static let hooks = Array("hooks".utf8)
    private static let config = Array("config".utf8)

    private static func rules(of rest: ArraySlice<[UInt8]>, in table: [(Rule, [[[UInt8]]])]) -> Set<Rule> {
        Set(table.filter { row in row.1.contains { leads(rest, under: $0) } }.map(\.0))
    }

    private static func table(_ rows: [(Rule, [String])]) -> [(Rule, [[[UInt8]]])] {
        rows.map { rule, paths in (rule, paths.map { parts(Array($0.utf8), after: []) }) }
    }

    private static let inHome = table([
        (
            .startUpFile,
            [
                ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
                ".zshenv",
                ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".xprofile", ".xinitrc",
                ".xsession",
                ".xsessionrc", ".pam_environment", ".inputrc", ".gitconfig", ".config/git", ".config/fish",
                ".config/autostart",
                ".config/systemd", ".local/share/systemd", ".config/environment.d", "Library/LaunchAgents",
            ]
        ),
        (
            .keyFile,
            [
                ".ssh", ".gnupg", ".aws", ".azure", ".config/gcloud", ".kube", ".docker/config.json", ".netrc",
                ".git-credentials",
                ".config/gh", ".config/hub", ".pgpass", ".npmrc", ".pypirc", ".password-store", ".config/op",
                ".cargo/credentials",
                ".cargo/credentials.toml", ".local/share/keyrings", "Library/Keychains", ".config/rclone",
                ".config/sops",
                ".vault-token", ".terraform.d/credentials.tfrc.json",
            ]
        ),
        (
            .agentSettings,
            [
                ".codex", ".claude", ".claude.json", ".config/claude", ".openclaw", ".pi", ".oppi", ".cursor",
                ".gemini",
                ".config/opencode",
            ]
        ),
    ])

    /// Settings that agents keep in a project. They count as those in the home folder do.
    private static let inProject = table([
        (
            .agentSettings,
            [
                ".codex", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".openclaw", ".pi",
                ".oppi",
            ]
        )
    ])

    private static let inSystem = table([
        (
            .startUpFile,
            [
                "etc/profile", "etc/profile.d", "etc/bash.bashrc", "etc/bashrc", "etc/zsh", "etc/zshrc", "etc/zshenv",
                "etc/environment", "etc/crontab", "etc/cron.d", "etc/cron.hourly", "etc/cron.daily", "etc/cron.weekly",
                "etc/cron.monthly", "var/spool/cron", "etc/systemd", "lib/systemd", "usr/lib/systemd", "etc/init.d",
                "etc/rc.local",
                "etc/ld.so.preload", "etc/sudoers", "etc/sudoers.d", "etc/gitconfig", "etc/passwd", "etc/pam.d",
                "Library/LaunchAgents", "Library/LaunchDaemons",
            ]
        ),
        (.keyFile, ["etc/ssh", "etc/shadow", "etc/ssl/private"]),
    ])

    /// Whether `path` is `place`, or lies in it; a pattern counts as every name that it meets.
    private static func leads(_ path: ArraySlice<[UInt8]>, under place: [[UInt8]]) -> Bool {
        path.count >= place.count && zip(path, place).allSatisfy { isNamed($0, $1) }
    }

    /// Case is ignored, as in some file systems.
    private static func isNamed(_ part: [UInt8], _ name: [UInt8]) -> Bool {
        func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte + 0x20 : byte }
        guard part.contains(where: { $0 == ShellMark.any || $0 == ShellMark.one }) else {
            return part.count == name.count && zip(part, name).allSatisfy { lower($0) == lower($1) }
        }
        // A pattern does not meet the dot at the beginning of a name.
        guard part.count <= 4_096, part.first == name.first || name.first != UInt8(ascii: ".") else { return false }
        var reached: Set = [0]
        for byte in part {
            switch byte {
            case ShellMark.any: reached = Set((reached.min() ?? name.count + 1)...max(name.count, reached.min() ?? 0))
            case ShellMark.one: reached = Set(reached.filter { $0 < name.count }.map { $0 + 1 })
            default:
                reached = Set(reached.filter { $0 < name.count && lower(name[$0]) == lower(byte) }.map { $0 + 1 })
            }
            if reached.isEmpty { return false }
        }
        return reached.contains(name.count)
    }
}
