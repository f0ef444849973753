import Vocabulary

/// One reading of an ask, from its beginning to its end: the shell's text is taken apart into commands in the order in which they run,
/// and the rules judge each.
///
/// No shell is imitated. Values of variables, files and folders are followed only as far as the text itself gives them. `budget` bounds
/// the work and `depthLimit` the nesting; deeper text is not read.
struct AskScan {
    typealias Rule = SeverityRules.Rule

    /// Levels of scripts in scripts, and of programs that start programs.
    static let depthLimit = 24
    /// Variables, and written files, that are remembered.
    static let memory = 256
    /// Bytes of a folder's path (`PATH_MAX`).
    private static let folderLimit = 4_096

    let places: AskPlaces
    private(set) var met: Set<Rule> = []
    /// A path outside the workspace is written or deleted.
    private(set) var touchesOutside = false

    /// The folder in which the current command runs, or nil if unknown.
    var folder: [[UInt8]]?
    var variables: [String: ShellValue] = [:]
    /// Known contents of written files, by path.
    var files: [[UInt8]: ShellFlow] = [:]
    var hereDocuments = 0
    var depth = 0
    /// Bytes that may still be read.
    var budget: Int

    init(_ subject: SeverityRules.Subject) {
        let places = AskPlaces(
            home: subject.home, workspace: subject.workspace ?? subject.folder, own: subject.ownFolders)
        self.places = places
        folder = (subject.folder ?? subject.workspace).flatMap { places.path(Array($0.utf8), in: nil) }
        budget = 65_536 + 24 * subject.command.utf8.count
    }

    /// Ends the reading.
    mutating func exhaust() { budget = 0 }

    /// The text was too long or too deep to be read to its end.
    var isExhausted: Bool { budget <= 0 }

    mutating func meet(_ rule: Rule) { met.insert(rule) }

    // MARK: Paths

    func path(_ bytes: [UInt8]) -> [[UInt8]]? { places.path(bytes, in: folder) }

    /// A file or folder is made, changed or replaced.
    mutating func writes(_ bytes: [UInt8]) {
        guard let path = path(bytes) else { return }
        writes(to: path)
    }

    mutating func writes(to path: [[UInt8]]) {
        met.formUnion(places.rules(of: path))
        if AskPlaces.isDisk(path) { meet(.deletionOutside) }
        if places.isOutside(path) { touchesOutside = true }
    }

    mutating func deletes(_ bytes: [UInt8]) {
        guard let path = path(bytes) else { return }
        met.formUnion(places.rules(of: path))
        guard places.isOutside(path) else { return }
        touchesOutside = true
        meet(.deletionOutside)
    }

    /// The known content of a file.
    func content(_ word: ShellWord) -> ShellFlow? {
        if let flow = word.flow { return flow }
        if word.isDownload { return ShellFlow(isDownload: true) }
        guard !files.isEmpty, let path = path(word.bytes) else { return nil }
        return files[places.text(path)]
    }

    /// A file receives the output of a command.
    mutating func keep(_ flow: ShellFlow, in word: ShellWord) {
        guard flow.isDownload || flow.text != nil, let path = path(word.bytes) else { return }
        let key = places.text(path)
        guard files.count < Self.memory || files[key] != nil else { return }
        files[key] = flow
    }

    // MARK: Texts that run

    /// Runs a text that a shell is given.
    @discardableResult
    mutating func run(script: [UInt8], input: ShellFlow = ShellFlow()) -> ShellFlow {
        var cursor = ShellCursor(script)
        return self.script(&cursor, until: nil, input: input)
    }

    /// Runs `flow` as a program: by a shell if `isShell`, otherwise by an interpreter.
    mutating func executes(_ flow: ShellFlow, isShell: Bool, input: ShellFlow = ShellFlow()) {
        if flow.isDownload { meet(.downloadRun) }
        guard let text = flow.text else { return }
        if isShell { run(script: text, input: input) } else { code(text) }
    }

    /// Changes the folder, as `cd` does.
    mutating func enter(_ bytes: [UInt8]) {
        folder = path(bytes).flatMap { $0.count < Self.memory ? $0 : nil }
        // Every later path begins with the folder; no system has one of this length.
        if let folder, folder.reduce(0, { $0 + $1.count + 1 }) > Self.folderLimit { exhaust() }
    }

    mutating func assign(_ name: String, _ value: ShellValue) {
        guard variables.count < Self.memory || variables[name] != nil else { return }
        variables[name] = value
    }
}
