import BridgeService
import Commands
import Files
import Glibc
import Journal
import Locking
import Vocabulary

/// `journal inspect|verify|export|backup|clean`
struct JournalCommand: Command {
    static let declaration = CommandDeclaration(
        name: "journal", summary: "look into, check, copy out, back up or tidy the durable state",
        operands: "inspect|verify|export|clean|backup FILE",
        actions: ["inspect", "verify", "export", "backup", "clean"], subjects: ["backup": "a file to write"],
        options: [
            .init("last", "N", "with inspect: the newest turns, open and closed, with their times"),
            .init("replace", nil, "with backup: replace a file that is there"),
            .init(
                "connection", "NAME", "with clean: forget all that is kept of a connection no longer configured"),
            .config, .stateDirectory,
        ],
        examples: [
            "sophon-bridge journal inspect --last 20", "sophon-bridge journal export > journal.jsonl",
            "sophon-bridge journal backup /mnt/backup/journal.db --replace",
        ])

    private let command: ParsedCommand
    private let output: Output

    /// How long closed turns are kept (DESIGN.md#a-runs-journey, step 7).
    private static let keptMilliseconds: Int64 = 30 * 24 * 60 * 60 * 1_000

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        // Block the signals before the first line of output starts its thread: an interrupted copy deletes its part of a file.
        if command.operands.first == "backup" { SignalWatcher.block() }
        let configuration = try CommandConfiguration.load(command, output).configuration
        let directory = configuration.stateDirectory
        let action = command.operands.first
        if let name = command.values["connection"] {
            guard action == "clean" else {
                throw UsageError(
                    "--connection goes with clean alone", try: "sophon-bridge journal clean --connection \(name)")
            }
            return try forget(ConnectionName(name), directory, configuration)
        }
        if command.values["last"] != nil, action != "inspect" {
            throw UsageError("--last goes with inspect alone", try: "sophon-bridge journal inspect --last 20")
        }
        if command.switches.contains("replace"), action != "backup" {
            throw UsageError("--replace goes with backup alone", try: "sophon-bridge journal backup FILE --replace")
        }
        switch action {
        case "inspect": try inspect(directory, last: last())
        case "verify": try verify(JournalReader(directory: directory))
        case "export": try JournalReader(directory: directory).export { output.document($0) }
        case "backup":
            try backUp(
                directory, to: command.operands[1],
                notIn: [directory, configuration.configDirectory].compactMap(\.self))
        default: try clean(directory)
        }
    }

    // MARK: Inspect

    /// The value of `--last`; nil selects the open turns.
    private func last() throws -> Int? {
        guard let text = command.values["last"] else { return nil }
        guard let count = Int(text), (1...100_000).contains(count) else {
            throw UsageError(
                "--last takes a number from 1 to 100000, not \(text)", try: "sophon-bridge journal inspect --last 20")
        }
        return count
    }

    private func inspect(_ directory: String, last: Int?) throws {
        let reader = try JournalReader(directory: directory)
        let summary = try reader.summary()
        output.event(
            "journal",
            [
                ("path", .string(summary.path)), ("bytes", .number(summary.byteCount)),
                ("version", .number(summary.version)),
            ])
        output.line("\(summary.path), \(summary.byteCount) bytes, version \(summary.version)")
        if summary.connections.isEmpty { output.line("nothing is kept yet") }
        for connection in summary.connections { show(connection) }
        let turns = try last.map { try reader.turns(open: nil, last: $0) } ?? reader.turns(open: true)
        for turn in turns { show(turn) }
        for letter in try reader.deadLetters() { show(letter) }
    }

    private func show(_ connection: JournalSummary.Connection) {
        output.event(
            "journal_connection",
            [
                ("connection", .string(connection.name.text)), ("open_turns", .number(connection.openTurns)),
                ("waiting_turns", .number(connection.waitingTurns)), ("closed_turns", .number(connection.closedTurns)),
                ("dead_letters", .number(connection.deadLetters)), ("stops", .number(connection.stops)),
                ("settings", .number(connection.settings)),
            ])
        output.line(
            "connection \(connection.name): \(Counted.words(connection.openTurns, "open turn")) "
                + "(\(connection.waitingTurns) not begun), "
                + "\(connection.closedTurns) closed, \(Counted.words(connection.deadLetters, "call")) given up")
    }

    private func show(_ turn: TurnSummary) {
        output.event(
            "journal_turn",
            [
                ("connection", .string(turn.connection.text)), ("turn", .string(turn.turn.text)),
                ("session", .optional(turn.session?.text)), ("interaction", .optional(turn.interaction?.text)),
                ("kept_at", .number(turn.keptAt)), ("closed_at", .optional(turn.closedAt)),
                ("outcome", .optional(turn.outcome)), ("calls", .number(turn.calls)),
                ("undelivered", .number(turn.undelivered)),
            ])
        let name =
            "turn \(VisibleText.value(turn.turn.text)) of \(turn.connection), since \(JournalTime.text(turn.keptAt))"
        guard let closedAt = turn.closedAt else {
            return output.line("open: \(name), \(turn.calls) calls, \(turn.undelivered) not delivered")
        }
        output.line("ended: \(name), until \(JournalTime.text(closedAt)): \(turn.outcome ?? "no outcome")")
    }

    private func show(_ letter: DeadLetter) {
        output.event(
            "dead_letter",
            [
                ("connection", .string(letter.connection.text)), ("turn", .string(letter.turn.text)),
                ("key", .string(letter.key.text)), ("path", .string(letter.path)), ("tries", .number(letter.tries)),
                ("last_result", .string(letter.lastResult)), ("last_tried_at", .number(letter.lastTriedAt)),
            ])
        output.line(
            "given up: call \(VisibleText.value(letter.key.text)) to \(VisibleText.value(letter.path)) after "
                + "\(letter.tries) tries, the last \(JournalTime.text(letter.lastTriedAt)): "
                + VisibleText.value(letter.lastResult))
    }

    // MARK: Back up

    /// `ours` names the folders of the bridge's own files.
    private func backUp(_ directory: String, to file: String, notIn ours: [String]) throws {
        let isStopped = Locked(false)
        let signals = try SignalWatcher { if $0 == .stop { isStopped.withLock { $0 = true } } }
        let reader = try JournalReader(directory: directory, ofAnyVersion: true)
        try checkFree(file, notIn: ours)
        let clock = SystemClock()
        let start = clock.now
        let showsProgress = !output.json && isatty(STDERR_FILENO) == 1
        var isShown = false
        defer { if isShown { output.progress("") } }
        try PrivateFile.replace(file) { temporary in
            try reader.backUp(to: temporary) { copied, pages in
                if isStopped.withLock({ $0 }) {
                    throw CommandFailure(code: .unexpected, message: "interrupted; \(file) is not written")
                }
                guard showsProgress, clock.now - start > .seconds(1) else { return }
                isShown = true
                output.progress("copying the journal… \(copied * 100 / max(1, pages)) %")
            }
            try checkFree(file, notIn: ours)
        }
        withExtendedLifetime(signals) {}
        var status = stat()
        let bytes = stat(file, &status) == 0 ? Int(status.st_size) : 0
        output.event("journal_backed_up", [("file", .string(file)), ("bytes", .number(bytes))])
        output.line("\(file): the journal as it was just now, \(bytes) bytes; it holds what the journal holds")
    }

    private func checkFree(_ file: String, notIn ours: [String]) throws {
        if ours.contains(where: { JournalReader.lies(file, in: $0) }) {
            throw CommandFailure(
                code: .unexpected,
                message: "\(file) would lie among the bridge's own files; name a file in another directory")
        }
        var status = stat()
        guard lstat(file, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure(code: .unexpected, message: "\(file) is no ordinary file; name another one")
        }
        guard command.switches.contains("replace") else {
            throw CommandFailure(
                code: .unexpected, message: "\(file) is there already; name another file, or add --replace")
        }
    }

    // MARK: Verify and clean

    private func verify(_ reader: JournalReader) throws {
        let faults = try reader.verify()
        for fault in faults {
            output.event("journal_fault", [("fault", .string(fault))])
            output.line(fault)
        }
        guard faults.isEmpty else {
            throw CommandFailure(
                code: .unexpected,
                message:
                    "the journal is damaged; end the bridge, save what can be read with journal export, and move it away"
            )
        }
        output.event("journal_ok")
        output.line("ok: the journal is whole")
    }

    /// Forgets everything of a connection, but never of one that a bridge would resume.
    private func forget(_ name: ConnectionName, _ directory: String, _ configuration: Configuration) throws {
        if configuration.connections.contains(where: { $0.name == name }) {
            throw CommandFailure(
                code: .usage,
                message: "connection \(name) is configured, and its turns go on at the next start; "
                    + "take it out of the configuration first")
        }
        let known = try JournalReader(directory: directory).summary().connections.map(\.name)
        guard known.contains(name) else {
            throw CommandFailure(
                code: .usage,
                message: "the journal has nothing of a connection \(name); it has "
                    + (known.isEmpty ? "none" : known.map(\.text).joined(separator: ", ")))
        }
        // End its agents first: the journal alone names them.
        let living = try LivingChildren.endAll(of: name, in: directory, output)
        guard living.isEmpty else { throw LivingChildren.notEnded(living, ", and its connection is not forgotten") }
        let lock = try InstanceLock(directory: directory)
        let (turns, remedy) = try JournalCleaning.forget(name, directory: directory)
        withExtendedLifetime(lock) {}
        output.event(
            "journal_cleaned",
            [("connection", .string(name.text)), ("turns_forgotten", .number(turns))] + Self.member(remedy))
        output.line("forgot connection \(name) with \(Counted.words(turns, "turn"))")
        if let remedy { output.say(remedy) }
    }

    private func clean(_ directory: String) throws {
        // Fails without a journal, before a lock file is created.
        _ = try JournalReader(directory: directory)
        let now = SystemClock().wallMilliseconds
        let lock = try InstanceLock(directory: directory)
        let outcome = try JournalCleaning.clean(directory: directory, before: now - Self.keptMilliseconds, now: now)
        withExtendedLifetime(lock) {}
        output.event(
            "journal_cleaned",
            [
                ("turns_forgotten", .number(outcome.turnsForgotten)), ("bytes_before", .number(outcome.bytesBefore)),
                ("bytes_after", .number(outcome.bytesAfter)),
            ] + Self.member(outcome.remedy))
        output.line(
            "forgot \(Counted.words(outcome.turnsForgotten, "closed turn")); \(outcome.bytesBefore) bytes before, "
                + "\(outcome.bytesAfter) after")
        if let remedy = outcome.remedy { output.say(remedy) }
    }

    private static func member(_ remedy: String?) -> [(String, JSONText)] {
        remedy.map { [("remedy", .string($0))] } ?? []
    }
}
