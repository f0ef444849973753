import BridgeService
import Locking
import Testing
import Vocabulary
import Worlds

/// A log whose lines and time the test controls.
private final class Desk: Sendable {
    let clock = HandClock(wallMilliseconds: 1_763_714_483_005)
    private let said = Locked<[String]>([])

    var lines: [String] { said.withLock { $0 } }

    func log(_ settings: Log.Settings = .init()) -> Log {
        Log(settings, clock: clock) { line in self.said.withLock { $0.append(line) } }
    }
}

@Suite("The log")
struct LogTests {
    @Test("a line for people has the time, the level, the message and its fields")
    func text() {
        let desk = Desk()
        desk.log().warning("relay lost", [("connection", "home"), ("reason", "it fell silent"), ("tries", 3)])
        #expect(
            desk.lines == [
                #"2025-11-21T08:41:23.005Z warning relay lost connection=home reason="it fell silent" tries=3"#
            ])
    }

    @Test("a line for programs is one JSON object")
    func json() {
        let desk = Desk()
        desk.log(.init(format: .json)).error(
            "call failed", [("path", "/v1/\"x\""), ("after", .duration(.milliseconds(1_500))), ("final", .flag(true))])
        #expect(
            desk.lines == [
                #"{"ts":"2025-11-21T08:41:23.005Z","level":"error","message":"call failed","path":"/v1/\"x\"","#
                    + #""after":1500,"final":true}"#
            ])
    }

    @Test(
        "the journal reads a line's level before it, in both forms", arguments: [Configuration.Log.Format.text, .json])
    func priorities(format: Configuration.Log.Format) {
        let desk = Desk()
        let log = desk.log(.init(level: .debug, format: format, hasPriority: true))
        log.error("e")
        log.warning("w")
        log.info("i")
        log.debug("d")
        #expect(desk.lines.map { $0.prefix(3) } == ["<3>", "<4>", "<6>", "<7>"])
    }

    @Test("colour is there where it was asked for, and only there")
    func color() {
        let desk = Desk()
        desk.log(.init(hasColor: true)).info("ready")
        desk.log().info("ready")
        #expect(desk.lines.map { $0.contains("\u{1B}[") } == [true, false])
    }

    @Test("what is beyond the level is neither written nor worked out, and the level can be changed")
    func level() {
        let desk = Desk()
        let log = desk.log(.init(level: .warning))
        var worked = 0
        func fields() -> Log.Fields {
            worked += 1
            return []
        }
        log.info("one", fields())
        log.level = .debug
        log.debug("two", fields())
        #expect(desk.lines.count == 1)
        #expect(worked == 1)
    }

    @Test(
        "a secret is covered, shown as itself and in what others say",
        arguments: [Configuration.Log.Format.text, .json])
    func secrets(format: Configuration.Log.Format) {
        let desk = Desk()
        let log = desk.log(.init(format: format))
        let token = Secret("inst_0123456789:s_live_abcdef")
        log.cover(token)
        log.error("refused", [("said", .text("no \(token.text)!")), ("shown", "\(token)")])
        #expect(desk.lines.first?.contains("***") == true)
        #expect(desk.lines.first?.contains("s_live") == false)
    }

    @Test("what a peer says can neither begin a line nor drive the terminal")
    func controls() {
        let desk = Desk()
        desk.log().info("said", [("text", "a\nb\u{1B}[2J\u{9B}1m\u{7F}\u{202E}\u{3164}")])
        #expect(desk.lines.first?.hasSuffix(#"text="a\nb⟨U+001B⟩[2J⟨U+009B⟩1m⟨U+007F⟩⟨U+202E⟩⟨U+3164⟩""#) == true)
    }

    @Test("a line for programs has such letters as escapes")
    func controlsInJSON() {
        let desk = Desk()
        desk.log(.init(format: .json)).info("said", [("text", "\u{1B}[2J\u{9B}1m\u{7F}\u{202E}")])
        #expect(desk.lines.first?.hasSuffix(#""text":"\u001b[2J\u009b1m\u007f\u202e"}"#) == true)
    }

    @Test("a value has its bound")
    func bound() {
        let desk = Desk()
        desk.log().info("said", [("text", .text(String(repeating: "a", count: 5_000)))])
        #expect((desk.lines.first?.count ?? 0) < 1_100)
    }

    @Test("a line that repeats itself is written once and then counted")
    func repeats() {
        let desk = Desk()
        let log = desk.log()
        for _ in 0..<5 { log.warning("relay lost", [("connection", "home")]) }
        log.warning("relay lost", [("connection", "work")])
        #expect(desk.lines.count == 2)
        desk.clock.pass(.seconds(31))
        log.flush()
        #expect(desk.lines.count == 3)
        #expect(desk.lines.last?.hasSuffix("… repeated 4 times: relay lost connection=home") == true)
        log.warning("relay lost", [("connection", "home")])
        #expect(desk.lines.count == 3)
        log.flush(all: true)
        #expect(desk.lines.last?.contains("… repeated 1 time: relay lost") == true)
        log.warning("relay lost", [("connection", "home")])
        #expect(desk.lines.count == 5)
    }

    @Test("lines that turn up in great variety are written, and what was held back of them is told")
    func variety() {
        let desk = Desk()
        let log = desk.log()
        for number in 0..<200 {
            log.info("seen", [("number", .integer(number))])
            log.info("seen", [("number", .integer(number))])
        }
        log.flush(all: true)
        #expect(desk.lines.count == 400)
        #expect(desk.lines.filter { $0.contains("… repeated 1 time:") }.count == 200)
    }

    @Test(
        "times before 1970 and leap days are right",
        arguments: [(-1, "1969-12-31T23:59:59.999Z"), (1_709_164_800_000, "2024-02-29T00:00:00.000Z")]
            as [(Int64, String)])
    func times(milliseconds: Int64, text: String) { #expect(ISOTime.text(milliseconds) == text) }
}
