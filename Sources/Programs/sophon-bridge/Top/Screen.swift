import CPosix
import Commands
import Glibc
import OSThreads
import Vocabulary

/// The terminal of a live view, if there is one: its size, its keys, and its former state.
final class Screen {
    enum Heard { case nothing, end }

    let isTerminal = isatty(STDOUT_FILENO) == 1
    /// True if pictures replace each other on it.
    let isLive: Bool
    private let columns: Int?
    private var before = termios()
    private var isTaken = false
    private var hasKeys = true

    init(columns: Int?, isDumb: Bool) {
        self.columns = columns
        isLive = isTerminal && !isDumb
    }

    /// The terminal's size. `COLUMNS` overrides an unknown width.
    var size: (columns: Int, lines: Int) {
        var (width, height) = (Int32(0), Int32(0))
        sb_terminal_size(STDOUT_FILENO, &width, &height)
        return (width > 0 ? Int(width) : columns ?? 80, height > 0 ? Int(height) : 24)
    }

    // MARK: Output

    /// Switches to the alternate screen and hides the cursor; `end` reverts both.
    static let begin = "\u{1B}[?1049h\u{1B}[?25l"
    static let end = "\u{1B}[?25h\u{1B}[?1049l"

    /// Each line clears its rest, so that nothing flickers.
    static func frame(_ lines: [String]) -> String {
        "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
    }

    // MARK: Keys

    func take() throws {
        // Install a handler: an ignored signal does not interrupt `poll`.
        signal(SIGWINCH) { _ in }
        guard isatty(STDIN_FILENO) == 1 else {
            hasKeys = false
            return
        }
        guard sb_terminal_take(STDIN_FILENO, &before) == 0 else {
            throw CommandFailure(
                code: .unexpected,
                message: "the terminal takes no mode: \(String(cString: strerror(errno))); use --once")
        }
        isTaken = true
    }

    func giveBack() { if isTaken { sb_terminal_give_back(STDIN_FILENO, &before) } }

    /// Blocks until a key, a signal, a resize or the timeout.
    func wait(for wakeUp: WakeUp, atMost limit: Duration, hearsKeys: Bool) -> Heard {
        var places = [
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: hearsKeys && hasKeys ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&places, 2, Int32(clamping: limit.nanoseconds / 1_000_000 + 1))
        wakeUp.clear()
        guard places[1].revents != 0 else { return .nothing }
        var keys = [UInt8](repeating: 0, count: 64)
        let count = read(STDIN_FILENO, &keys, keys.count)
        if count <= 0 { hasKeys = false }
        return keys.prefix(max(0, count)).contains { [UInt8(ascii: "q"), UInt8(ascii: "Q")].contains($0) }
            ? .end : .nothing
    }
}
