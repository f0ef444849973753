import BridgeService
import Testing
import Vocabulary

@Suite("A picture of top")
struct TopPictureTests {
    private static let now: Int64 = 1_770_000_000_000

    private static func status() -> BridgeStatus {
        var status = BridgeStatus(version: "9.9", pid: 7, started: now - 600_000, ts: now - 3_000)
        var main = BridgeStatus.Connection(
            name: "default", relayAddress: "https://relay.example", agentKind: "openclaw", since: now - 300_000)
        main.relay.state = .waiting
        main.relay.reason = "the address 日本語.example cannot be found, whatever is tried"
        main.relay.retryAt = now + 5_000
        main.agent.link.state = .up
        main.agent.version = "2026.6"
        main.work.openTurns = 2
        main.work.waiting = 1
        main.work.tokens = ["msg": 30, "delta": 200.5]
        main.lastError = BridgeStatus.Trouble(at: now - 120_000, message: "the relay refused end: 500 internal")
        main.chats = [
            .init(chat: "ses_4Xw2", state: "asks", since: now - 180_000),
            .init(chat: nil, state: "tool", since: now - 9_000),
            .init(chat: "ses_b", state: "behind_run", since: now - 1_000),
        ]
        status.connections = [main]
        return status
    }

    private func lines(_ width: Int, _ height: Int? = nil, color: Bool = false) -> [String] {
        TopPicture(width: width, height: height, hasColor: color)
            .lines(Self.status(), isRunning: true, wallMilliseconds: Self.now)
    }

    @Test("it says in eighty columns how each side, the work and each chat is")
    func eighty() {
        #expect(
            lines(80) == [
                "sophon-bridge 9.9: not ready, for 10 min, as of 3 s ago",
                "",
                "default",
                "  relay  away 5 min: the address 日本語.example cannot be found, whatever is",
                "         tried; next try in 5 s",
                "  agent  openclaw 2026.6 up 5 min",
                "  work   2 turns open, 1 waiting, 0 calls under way",
                "  calls  free now: delta 200, msg 30",
                "  error  2 min ago: the relay refused end: 500 internal",
                "  chat   3 min waits for you: ses_4Xw2",
                "  chat   9 s a tool runs: a sealed chat",
                "  chat   1 s waits behind a run: ses_b",
            ])
    }

    @Test("no line is wider than the terminal, and nothing is lost", arguments: [1, 2, 8, 20, 40, 80, 200])
    func widths(width: Int) {
        let lines = lines(width)
        // A letter of two columns must fit somewhere.
        #expect(lines.allSatisfy { DisplayWidth.of($0) <= max(2, width) }, "\(lines)")
        let letters = { (lines: [String]) in lines.joined().filter { $0 != " " } }
        #expect(letters(lines).count == letters(self.lines(80)).count)
        if width >= 20 { #expect(lines.joined(separator: "\n").contains("ses_4Xw2")) }
    }

    @Test("a lower terminal says how much is missing", arguments: [1, 2, 5, 12, 13])
    func heights(height: Int) {
        let lines = lines(80, height)
        #expect(lines.count == min(height, 12))
        #expect(lines.last?.contains("more lines") == (height < 12))
    }

    @Test("color is around words alone, and where it is allowed")
    func color() {
        let plain = lines(40)
        #expect(!plain.joined().contains("\u{1B}"))
        let colored = lines(40, color: true)
        #expect(colored.joined().contains("\u{1B}[31m"))
        #expect(colored.map(Self.withoutColor) == plain)
    }

    private static func withoutColor(_ line: String) -> String {
        line.split(separator: "\u{1B}[", omittingEmptySubsequences: false).enumerated().map { number, part in
            number == 0 ? String(part) : String(part.drop { $0 != "m" }.dropFirst())
        }.joined()
    }

    @Test("words of a far side move no cursor")
    func hostile() {
        var status = Self.status()
        status.connections[0].relay.reason = "no\u{1B}[3A\r\nforged\u{202E}"
        let text = TopPicture(width: 40, height: nil, hasColor: false)
            .lines(status, isRunning: true, wallMilliseconds: Self.now).joined()
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
    }

    @Test("without a bridge it says so, and what to do")
    func gone() {
        let picture = TopPicture(width: 80, height: nil, hasColor: false)
        let last = picture.lines(Self.status(), isRunning: false, wallMilliseconds: Self.now)
        #expect(last.first == "not running; the last bridge here (process 7) was heard 3 s ago")
        #expect(picture.lines(nil, isRunning: false, wallMilliseconds: Self.now) == [StatusText.neverRan])
        #expect(picture.lines(nil, isRunning: true, wallMilliseconds: Self.now) == [StatusText.hasNotSaid])
    }
}
