import BridgeModel
import BridgeService
import Commands
import Glibc
import Locking

/// Results and events on standard output, words for people on standard error.
final class Output: Sendable {
    let json: Bool
    private let lock = Locked(())

    init(json: Bool) {
        self.json = json
        // A reader that goes away ends the program by its write, quietly, and not by a signal's default words.
        signal(SIGPIPE, SIG_IGN)
    }

    /// An event as a JSON line, under `--json` alone.
    func event(_ name: String, _ members: [(String, JSONText)] = []) {
        guard json else { return }
        var line = #"{"event":"# + JSONText.string(name).text
        line += #","ts":"# + String(SystemClock().wallMilliseconds)
        for (name, value) in members { line += "," + JSONText.string(name).text + ":" + value.text }
        write(line + "}\n", to: STDOUT_FILENO)
    }

    /// A line of the result, where no program reads it.
    func line(_ text: String) {
        if !json { write(text + "\n", to: STDOUT_FILENO) }
    }

    /// A line of a result that is the same for people and programs.
    func document(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// A piece of a line.
    func raw(_ text: String) { if !json { write(text, to: STDOUT_FILENO) } }

    func say(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

    /// A line on a terminal that the next one replaces; empty clears it.
    func progress(_ text: String) { write("\r\u{1B}[2K" + text, to: STDERR_FILENO) }

    private func write(_ text: String, to descriptor: Int32) {
        lock.withLock { _ in
            var bytes = Array(text.utf8)[...]
            while !bytes.isEmpty {
                let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
                if count > 0 {
                    bytes = bytes.dropFirst(count)
                } else if errno != EINTR {
                    if errno == EPIPE { exit(ExitCode.clean.rawValue) }
                    return
                }
            }
        }
    }
}

extension JSONText {
    static func number(_ value: Int) -> JSONText { JSONText(unchecked: String(value)) }
    static func number(_ value: Int64) -> JSONText { JSONText(unchecked: String(value)) }
    static func flag(_ value: Bool) -> JSONText { JSONText(unchecked: value ? "true" : "false") }
}
