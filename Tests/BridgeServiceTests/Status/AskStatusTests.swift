import AgentKit
import BridgeService
import Files
import FoundationEssentials
import OpenClaw
import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("Asks in the status")
struct AskStatusTests {
    private let clock = HandClock(now: Instant(nanoseconds: 5_000_000_000_000), wallMilliseconds: 1_770_000_000_000)

    private func status(_ figures: BridgeFigures) -> BridgeStatus {
        let board = StatusBoard(
            version: "1", pid: 7,
            connections: [
                Configuration.Connection(agent: AgentSettings(AgentKind(rawValue: "openclaw"), OpenClawValues()))
            ], clock: clock)
        let waiting = BridgeStatus.Waiting(figures, at: clock.now, wallMilliseconds: clock.wallMilliseconds)
        return board.status { _ in
            nil
        } waiting: { _ in
            waiting
        }
    }

    private func figures(_ asks: [OpenAsk] = [], ends: [String: Int] = [:]) -> BridgeFigures {
        var figures = Bridge().figures(at: clock.now)
        (figures.asks, figures.cardEnds) = (asks, ends)
        return figures
    }

    private func ask(
        _ chat: String, ago seconds: Int, cards: Int = 1, left: Duration? = nil, isOnPhone: Bool = true
    ) -> OpenAsk {
        OpenAsk(
            chat: SessionID(chat), since: clock.now - .seconds(seconds), cards: cards,
            ended: max(1, cards) - (isOnPhone ? 1 : 0),
            until: left.map { clock.now + $0 }, isOnPhone: isOnPhone)
    }

    private func text(_ status: BridgeStatus) -> String {
        StatusText.lines(status, isRunning: true, wallMilliseconds: clock.wallMilliseconds).joined(separator: "\n")
    }

    @Test("each ask has its chat, its agent, since when, its cards and, where it is known, until when")
    func json() {
        let status = status(
            figures(
                [ask("s1", ago: 600, cards: 2, left: .seconds(60), isOnPhone: false), ask("s2", ago: 1, cards: 0)],
                ends: ["timeout": 2, "session_deleted": 1]))
        let json = String(decoding: StatusFile.bytes(of: status), as: UTF8.self)
        #expect(
            json.contains(
                #""asks":[{"agent":"openclaw","cards":2,"chat":"s1","since":1769999400000,"until":1770000060000},"#
                    + #"{"agent":"openclaw","cards":0,"chat":"s2","since":1769999999000}]"#))
        #expect(json.contains(#""card_ends":{"session_deleted":1,"timeout":2}"#))
    }

    @Test("people read how many wait, since when, and how cards ended; where there is nothing nothing is said")
    func words() {
        #expect(!text(status(figures())).contains("ask"))
        #expect(!text(status(figures())).contains("cards"))
        #expect(text(status(figures([ask("s", ago: 90)]))).contains("  asks    1 ask waits for an answer, for 90 s"))
        let two = status(figures([ask("s", ago: 600), ask("s", ago: 10)], ends: ["timeout": 3, "expired": 1]))
        #expect(text(two).contains("  asks    2 asks wait for an answer, the oldest for 10 min\n"))
        #expect(text(two).contains("  cards   closed by the relay: expired ×1, timeout ×3"))
    }

    @Test("a status of an earlier version, which says nothing of asks, is read")
    func older() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "status-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let whole = status(figures([ask("s", ago: 5)], ends: ["session_deleted": 1]))
        try StatusFile.write(whole, in: directory)
        #expect(try StatusFile.read(in: directory) == whole)
        let path = StatusFile.path(in: directory)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let older = text.replacing(/"asks":\[[^\]]*\],"card_ends":\{[^}]*\},/, with: "")
        #expect(older != text)
        try PrivateFile.write(Array(older.utf8), to: path)
        let read = try #require(try StatusFile.read(in: directory)?.connections.first)
        #expect(read.asks == nil)
        #expect(read.cardEnds == nil)
        #expect(read.relay == whole.connections[0].relay)
    }

    @Test("each card that nobody answered is reported once, over restarts too")
    func unanswered() {
        var known = UnansweredCards()
        func said(_ asks: OpenAsk...) -> [String] { known.news(asks).map { "\($0.chat) \($0.cards)" } }
        known.restore([ask("old", ago: 900, cards: 3, isOnPhone: false)])
        let old = ask("old", ago: 900, cards: 3, isOnPhone: false)
        #expect(said(old, ask("a", ago: 10)) == [])
        #expect(said(old, ask("a", ago: 10, isOnPhone: false)) == ["a 1"])
        #expect(said(old, ask("a", ago: 10, isOnPhone: false), ask("a", ago: 5, isOnPhone: false)) == ["a 1"])
        #expect(said(old, ask("a", ago: 10, cards: 2), ask("a", ago: 5, isOnPhone: false)) == [])
        // The next card may leave before the end of the one before is reported.
        #expect(said(old, ask("a", ago: 10, cards: 3), ask("a", ago: 5, isOnPhone: false)) == ["a 3"])
        #expect(said(ask("old", ago: 900, cards: 4, isOnPhone: false)) == ["old 4"])
        // A question has no card.
        #expect(said(ask("q", ago: 60, cards: 0)) == [])
        #expect(said(ask("q", ago: 60, cards: 0, isOnPhone: false)) == ["q 0"])
        #expect(said(ask("q", ago: 60, cards: 0, isOnPhone: false)) == [])
    }
}
