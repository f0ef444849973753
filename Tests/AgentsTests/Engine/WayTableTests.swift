import AgentKit
import ConversationEngine
import LeastAgent
import Testing
import Vocabulary

/// Every event in every state of the way to a child, one row per cell.
@Suite("The way to a child on the engine, state by state")
struct WayTableTests {
    enum State: String {
        case reaching, opening, seated, greeting, keeping, open, openIdle, leaving, waiting
    }

    static func make(_ state: State) -> LeastConversation {
        var least = LeastConversation.make(reach: state == .reaching ? .pauses : .atOnce)
        switch state {
        case .openIdle, .leaving:
            _ = least.looksUp("none")
            _ = least.opens()
            _ = least.confirms("find", #","found":"broken""#)
            if state == .leaving { _ = least.isWanted() }
            return least
        case .reaching, .opening, .seated, .greeting, .keeping, .open, .waiting: break
        }
        _ = least.sends("r1", "one")
        switch state {
        case .seated: _ = least.waitsForPlace(behind: 8)
        case .greeting: _ = least.spawns()
        case .keeping:
            _ = least.spawns()
            _ = least.confirms("hello")
        case .open: _ = least.opens()
        case .waiting:
            _ = least.spawns()
            _ = least.exits()
        case .reaching, .opening, .openIdle, .leaving: break
        }
        return least
    }

    enum Event: Hashable {
        case spawned, confirmed, refused, kept, full, died, absent, wanted, stop, message, released, waits
        case moved, outdated, broken, works, longLine
        case seconds(Int64)
    }

    struct Cell: CustomTestStringConvertible {
        var state: State
        var event: Event
        var lines: [String]
        var testDescription: String { "\(state), \(event)" }

        init(_ state: State, _ event: Event, _ lines: [String]) {
            (self.state, self.event, self.lines) = (state, event, lines)
        }
    }

    static func happens(_ event: Event, in least: inout LeastConversation) -> [String] {
        switch event {
        case .spawned: least.spawns()
        case .confirmed: least.confirms("hello")
        case .refused: least.confirms("hello", #","no":"yes""#)
        case .kept: least.keeps()
        case .full: least.keeps(false)
        case .died: least.exits()
        case .absent: least.failsToStart("no such program")
        case .wanted: least.isWanted()
        case .stop: least.aborts("r1")
        case .message: least.sends("r2", "two")
        case .moved: least.sends("r2", "two", folder: "/srv")
        case .released: least.releases(isDeleted: true)
        case .waits: least.waitsForPlace(behind: 8)
        case .outdated: least.says(#"{"outdated":"yes"}"#)
        case .broken: least.says(#"{"breaks":"it is confused"}"#)
        case .works: least.says(#"{"works":"2 tasks"}"#)
        case .longLine: least.skips(1_000_000)
        case .seconds(let seconds): least.waits(seconds * 1_000)
        }
    }

    private static let full =
        #"send r1 not made "The bridge could not write down Least's session, so the message was not sent. Is the disk full?""#

    static let cells: [Cell] = [
        Cell(.reaching, .seconds(1), ["r1 pi-ses_1 tool finished place-r1 call wait completed", "start 1 "]),
        Cell(.reaching, .stop, ["stop of r1 answered"]),
        Cell(.opening, .spawned, ["1 > sb-1 hello"]),
        Cell(.opening, .died, []),
        Cell(.opening, .absent, [#"send r1 not made "Least could not be started: no such program""#]),
        Cell(.opening, .seconds(600), []),
        Cell(.seated, .spawned, ["r1 pi-ses_1 tool finished place-r1 call wait completed", "1 > sb-1 hello"]),
        Cell(.seated, .stop, ["kill 1", "stop of r1 answered"]),
        Cell(.greeting, .confirmed, ["keep session:pi-ses_1=/s/1"]),
        Cell(.greeting, .refused, ["kill 1"]),
        Cell(.greeting, .died, []),
        Cell(.greeting, .stop, ["stop of r1 answered"]),
        Cell(.greeting, .seconds(30), ["kill 1"]),
        Cell(.keeping, .kept, ["1 > sb-2 prompt r1 one"]),
        Cell(.keeping, .full, [full]),
        Cell(.keeping, .died, []),
        Cell(.open, .broken, ["kill 1", #"r1 pi-ses_1 failed agentGone "it is confused""#]),
        Cell(.open, .outdated, []),
        Cell(.open, .wanted, []),
        Cell(
            .open, .longLine,
            [
                "note a line of 1000000 bytes was skipped", "kill 1",
                #"r1 pi-ses_1 failed agentGone "Least wrote 1000000 bytes on one line""#,
            ]),
        Cell(
            .open, .message,
            [
                #"r2 pi-ses_1 tool started place-r2 call wait title="Least takes one message at a time: this one waits for the run before it.""#
            ]),
        Cell(.openIdle, .wanted, ["end 1"]),
        Cell(.openIdle, .message, ["1 > sb-3 prompt r2 two"]),
        Cell(.openIdle, .moved, ["end 1"]),
        Cell(.openIdle, .outdated, ["end 1"]),
        Cell(.openIdle, .broken, ["kill 1"]),
        Cell(.openIdle, .died, []),
        Cell(.openIdle, .released, ["end 1"]),
        Cell(.openIdle, .works, []),
        Cell(.openIdle, .seconds(599), []),
        Cell(.openIdle, .seconds(600), ["end 1"]),
        Cell(.leaving, .message, []),
        Cell(.leaving, .died, []),
        Cell(.leaving, .seconds(3), ["kill 1"]),
        Cell(.waiting, .seconds(2), ["start 2 "]),
        Cell(.waiting, .message, []),
        Cell(.waiting, .stop, ["stop of r1 answered"]),
    ]

    @Test("each cell", arguments: cells)
    func cell(_ cell: Cell) {
        var least = Self.make(cell.state)
        #expect(Self.happens(cell.event, in: &least) == cell.lines)
    }

    @Test("a child with work in the background is not idle, tells its work to those that wait, and takes prompts")
    func background() {
        var least = Self.make(.open)
        _ = least.says(#"{"began":"r1"}"#)
        least.showsIdle = true
        _ = least.says(#"{"works":"2 tasks"}"#)
        #expect(
            least.says(#"{"ended":"r1"}"#)
                == ["r1 pi-ses_1 finished stop run -", "1 asks ses_1 since 0 for 2 tasks"])
        #expect(least.waits(3_600_000) == [])
        #expect(least.isWanted() == ["busy 1"])
        #expect(least.sends("r2", "two") == ["1 > sb-3 prompt r2 two", "1 asks nobody"])
    }

    @Test("a place that could not be written down is written before the next prompt")
    func writesLater() {
        var least = Self.make(.keeping)
        least.showsIdle = true
        #expect(least.keeps(false) == [Self.full, "idle 1"])
        #expect(least.sends("r2", "two") == ["busy 1", "keep session:pi-ses_1=/s/1"])
        #expect(least.keeps() == ["1 > sb-2 prompt r2 two"])
        _ = least.says(#"{"began":"r2"}"#)
        _ = least.says(#"{"ended":"r2"}"#)
        _ = least.exits(0)
        #expect(least.sends("r3", "three") == ["start 2 /s/1"])
    }

    @Test("a child whose place could not be written down gives its seat up, and its empty session is forgotten")
    func leavesUnwritten() {
        var least = Self.make(.keeping)
        _ = least.keeps(false)
        #expect(least.isWanted() == ["end 1"])
        #expect(least.exits(0) == [])
        #expect(least.sends("r2", "two") == ["start 2 "])
    }

    @Test("the prompt that begins another session says so, once")
    func losesSession() {
        var settings = LeastDialect.Settings()
        settings.reach = .losesSession
        var least = LeastConversation(
            settings: settings, facts: [Fact("session:\(LeastConversation.chat)", Array("gone".utf8))])
        #expect(least.sends("r1", "one") == ["start 1 "])
        _ = least.spawns()
        #expect(least.confirms("hello") == ["keep session:pi-ses_1=/s/1"])
        #expect(least.keeps() == ["r1 begins another conversation", "1 > sb-2 prompt r1 one"])
        _ = least.says(#"{"began":"r1"}"#)
        _ = least.says(#"{"ended":"r1"}"#)
        #expect(least.sends("r2", "two") == ["1 > sb-3 prompt r2 two"])
    }

    @Test("a child that is out of date ends after its turn, and the next message gets another")
    func outdated() {
        var least = Self.make(.open)
        _ = least.says(#"{"outdated":"yes"}"#)
        _ = least.says(#"{"began":"r1"}"#)
        #expect(least.says(#"{"ended":"r1"}"#) == ["r1 pi-ses_1 finished stop run -", "end 1"])
        _ = least.sends("r2", "two")
        #expect(least.exits(0) == ["start 2 /s/1"])
    }

    @Test("a run of the agent's own is stopped where a person names it, and only then")
    func ownRun() {
        var least = Self.make(.openIdle)
        _ = least.says(#"{"began":"own"}"#)
        #expect(least.aborts("r9") == ["stop of r9 answered"])
        #expect(least.aborts("own") == ["1 > sb-3 stop"])
        #expect(least.says(#"{"ended":"own"}"#) == ["own pi-ses_1 finished stop run -", "stop of own answered"])
    }
}
