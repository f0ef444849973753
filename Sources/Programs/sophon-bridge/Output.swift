import BridgeService
import Commands
import Glibc
import Locking
import Vocabulary

/// Results and events on standard output, words for people on standard error. Each goes through a bounded queue to a thread that writes it, so that
/// no terminal, pipe or disk blocks a command that has other work.
final class Output: Sendable {
    /// Behaviour of a command whose output is not read.
    enum Conduct: Sendable {
        /// The output is the command's purpose: it waits for its reader, and ends on a closed pipe or a full disk.
        case results
        /// The command never blocks, and ends on a closed pipe.
        case show
        /// The command never waits, and continues without its output.
        case service
    }

    private struct State {
        var conduct = Conduct.results
        var endsByItself = false
        var isLeaving = false
    }

    /// Longest delay of the process's end by a stalled reader.
    private static let flushLimit = Duration.seconds(1)

    let json: Bool
    /// Secrets that no line shows, on either stream.
    let secrets = SecretCover()
    private let state = Locked(State())
    private let standardOutput: OutputWriter
    private let standardError: OutputWriter

    init(json: Bool) {
        self.json = json
        // A closed reader is an error of the write, not a signal that ends the process.
        signal(SIGPIPE, SIG_IGN)
        Self.fillClosedDescriptors()
        let standardOutput = OutputWriter { losses in
            json ? Self.dropped(losses, "stdout") : Self.dropped(losses, from: STDOUT_FILENO)
        }
        self.standardOutput = standardOutput
        guard !Self.leadToTheSame() else {
            standardError = standardOutput
            return
        }
        standardError = OutputWriter { losses in
            // Programs read events, and may not look at standard error at all.
            if json { standardOutput.put(Self.dropped(losses, "stderr")) }
            return Self.dropped(losses, from: STDERR_FILENO)
        }
    }

    /// Sets the conduct, which is `results` before.
    func conduct(_ conduct: Conduct) {
        state.withLock { $0.conduct = conduct }
        if conduct == .service { for writer in [standardOutput, standardError] { writer.endure() } }
    }

    /// Sets an action for a demo that ends in its own way on a closed pipe.
    func whenUnreadable(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.endsByItself = true }
        standardOutput.onFailure(action)
    }

    /// An event as a JSON line, under `--json` alone.
    func event(_ name: String, _ members: [(String, JSONText)] = []) {
        guard json else { return }
        put(STDOUT_FILENO, Self.entry(name, members))
    }

    /// A line of the result for people. A line break in it is escaped.
    func line(_ text: String) { raw(TerminalText.line(text) + "\n") }

    /// A line of a result that is the same for people and programs.
    func document(_ line: String) { put(STDOUT_FILENO, OutputQueue.Entry(STDOUT_FILENO, .words, line + "\n")) }

    /// A piece of a line, or several lines.
    func raw(_ text: String) { if !json { put(STDOUT_FILENO, OutputQueue.Entry(STDOUT_FILENO, .words, text)) } }

    /// A line on standard error. A line break in it is escaped.
    func say(_ text: String) { say(lines: [text]) }

    func say(lines: [String]) {
        let text = lines.map { TerminalText.line($0) + "\n" }.joined()
        put(STDERR_FILENO, OutputQueue.Entry(STDERR_FILENO, .words, text))
    }

    /// A line of the log.
    func log(_ text: String) { put(STDERR_FILENO, OutputQueue.Entry(STDERR_FILENO, .log, text + "\n")) }

    /// A line on a terminal that the next one replaces; empty clears it.
    func progress(_ text: String) { put(STDERR_FILENO, OutputQueue.Entry(STDERR_FILENO, .log, "\r\u{1B}[2K" + text)) }

    /// A picture on a terminal, with escapes that move its cursor; the words in it are clean.
    func picture(_ text: String) { put(STDOUT_FILENO, OutputQueue.Entry(STDOUT_FILENO, .log, text)) }

    private func put(_ descriptor: Int32, _ entry: OutputQueue.Entry) {
        var entry = entry
        // A line of the log was covered when it was made.
        if entry.rank != .log {
            let bytes = secrets.covered(entry.bytes)
            entry.bytes = json && descriptor == STDOUT_FILENO ? TerminalText.document(bytes) : TerminalText.words(bytes)
        }
        let writer = descriptor == STDOUT_FILENO ? standardOutput : standardError
        let (conduct, endsByItself) = state.withLock { ($0.conduct, $0.endsByItself) }
        guard descriptor == STDOUT_FILENO, conduct != .service else { return writer.put(entry) }
        if conduct == .results {
            entry.rank = .result
            writer.putWhenThereIsRoom(entry)
        } else {
            writer.put(entry)
        }
        if writer.failure != nil, !endsByItself { leave(.clean) }
    }

    var logLinesDropped: Int { standardError.logLinesDropped }

    // MARK: End of the process

    /// Ends the process once the queues are written. Only a result is waited for longer than a second.
    func leave(_ code: ExitCode) -> Never {
        let (isFirst, conduct) = state.withLock { state in
            defer { state.isLeaving = true }
            return (!state.isLeaving, state.conduct)
        }
        // Another thread is ending the process already.
        while !isFirst { pause() }
        let end = SystemClock().now + Self.flushLimit
        standardOutput.flush(atMost: conduct == .results ? nil : Self.flushLimit)
        let failure = conduct == .service ? nil : standardOutput.failure
        if case .unwritable(let number) = failure {
            standardError.put(
                OutputQueue.Entry(
                    STDERR_FILENO, .words,
                    "sophon-bridge: standard output cannot be written: \(String(cString: strerror(number)))\n"))
        }
        standardError.flush(atMost: max(.zero, end - SystemClock().now))
        exit((code == .clean ? failure.map(Self.code) ?? .clean : code).rawValue)
    }

    /// Writes the queues before another program replaces this one.
    func flush() { for writer in [standardOutput, standardError] { writer.flush(atMost: Self.flushLimit) } }

    private static func code(of failure: OutputWriter.Failure) -> ExitCode {
        switch failure {
        case .closed: .outputClosed
        case .unwritable: .unexpected
        }
    }

    // MARK: Descriptors

    /// Opens `/dev/null` for each standard descriptor that the process was started without: the next opened file would get its number, and a
    /// line of ours would then be written into the journal.
    private static func fillClosedDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", O_RDWR)
        }
    }

    private static func leadToTheSame() -> Bool {
        var (output, error) = (stat(), stat())
        guard fstat(STDOUT_FILENO, &output) == 0, fstat(STDERR_FILENO, &error) == 0 else { return false }
        return output.st_dev == error.st_dev && output.st_ino == error.st_ino
    }

    // MARK: Entries

    private static func dropped(_ losses: OutputQueue.Losses, _ stream: String) -> OutputQueue.Entry {
        entry(
            "dropped",
            [
                ("stream", .string(stream)), ("log_lines", .number(losses.logLines)),
                ("turn_ended", .number(losses.turnsEnded)), ("lines", .number(losses.words)),
                ("repeated", .number(losses.repeatedMilestones)),
            ])
    }

    private static func dropped(_ losses: OutputQueue.Losses, from descriptor: Int32) -> OutputQueue.Entry {
        OutputQueue.Entry(
            descriptor, .words, "sophon-bridge: \(losses.total) lines were dropped here, because nothing read them\n")
    }

    private static func entry(_ name: String, _ members: [(String, JSONText)]) -> OutputQueue.Entry {
        var line = #"{"event":"# + JSONText.string(name).text
        line += #","ts":"# + String(SystemClock().wallMilliseconds)
        for (name, value) in members { line += "," + JSONText.member(name, value) }
        return OutputQueue.Entry(
            STDOUT_FILENO, name == "turn_ended" ? .turnEnded : .milestone,
            subject: OutputQueue.subject(of: name, members), line + "}\n")
    }
}

extension JSONText {
    static func number(_ value: Int) -> JSONText { JSONText(unchecked: String(value)) }
    static func number(_ value: Int64) -> JSONText { JSONText(unchecked: String(value)) }
    static func number(_ code: ExitCode) -> JSONText { number(Int(code.rawValue)) }
    static func flag(_ value: Bool) -> JSONText { JSONText(unchecked: value ? "true" : "false") }
    static func list(_ values: [JSONText]) -> JSONText {
        JSONText(unchecked: "[" + values.map(\.text).joined(separator: ",") + "]")
    }
    static func object(_ members: [(String, JSONText)]) -> JSONText {
        JSONText(unchecked: "{" + members.map(member).joined(separator: ",") + "}")
    }
    fileprivate static func member(_ name: String, _ value: JSONText) -> String { string(name).text + ":" + value.text }
}
