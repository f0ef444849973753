import AgentKit
import ConversationEngine
import LeastAgent
import Testing
import Vocabulary

/// Every event in every state of a prompt and its Stop, one row per cell.
@Suite("A prompt on the engine, state by state")
struct PromptTableTests {
    enum State: String, CaseIterable { case held, written, taken, going, doubtful, stopping, stoppingUnbegun }

    /// A conversation whose prompt `r1` is in this state.
    static func make(_ state: State, _ again: Habits.Again = .whereAbsent) -> LeastConversation {
        var least = LeastConversation.make { $0.again = again }
        _ = least.sends("r1", "one")
        if state == .held { return least }
        _ = least.opens()
        switch state {
        case .held, .written: break
        case .taken: _ = least.says(#"{"took":"r1"}"#)
        case .going, .stopping:
            _ = least.says(#"{"took":"r1"}"#)
            _ = least.says(#"{"began":"r1"}"#)
            if state == .stopping { _ = least.aborts("r1") }
        case .doubtful:
            _ = least.exits()
            _ = least.spawns(2)
        case .stoppingUnbegun: _ = least.aborts("r1")
        }
        return least
    }

    enum Event: Hashable {
        case taken, refused, began, ended, failed, died, stop
        case probed(String)
        case seconds(Int64)
        case found(String)
    }

    struct Cell: CustomTestStringConvertible {
        var state: State
        var event: Event
        var again = Habits.Again.whereAbsent
        var lines: [String]
        var testDescription: String { "\(state), \(event)" }

        init(_ state: State, _ event: Event, _ lines: [String]) {
            (self.state, self.event, self.lines) = (state, event, lines)
        }

        init(_ state: State, _ event: Event, _ again: Habits.Again, _ lines: [String]) {
            (self.state, self.event, self.again, self.lines) = (state, event, again, lines)
        }
    }

    static func happens(_ event: Event, in least: inout LeastConversation, _ channel: Int = 1) -> [String] {
        switch event {
        case .taken: least.says(#"{"took":"r1"}"#, channel)
        case .refused: least.says(#"{"refused":"r1"}"#, channel)
        case .began: least.says(#"{"began":"r1"}"#, channel)
        case .ended: least.says(#"{"ended":"r1"}"#, channel)
        case .failed: least.says(#"{"failed":"r1"}"#, channel)
        case .died: least.exits(1, words: "", channel)
        case .stop: least.aborts("r1")
        case .probed(let activity):
            least.waits(60_000) + least.confirms("probe", #","is":"\#(activity)""#, channel)
                + least.waits(1_000) + least.confirms("probe", #","is":"\#(activity)""#, channel)
        case .seconds(let seconds): least.waits(seconds * 1_000)
        case .found(let fate):
            least.confirms("hello", "", channel)
                + least.confirms("find", #","found":"\#(fate)","text":"Found.""#, channel)
        }
    }

    private static let died = #"r1 pi-ses_1 failed agentGone "its process ended with code 1""#

    static let cells: [Cell] = [
        // Waits for the child to start.
        Cell(.held, .died, []),
        Cell(.held, .stop, ["stop of r1 answered"]),
        // Written.
        Cell(.written, .taken, ["send r1 accepted as r1"]),
        Cell(.written, .refused, [#"send r1 refused "no""#]),
        Cell(.written, .began, ["r1 pi-ses_1 started"]),
        Cell(.written, .died, ["start 2 /s/1"]),
        Cell(.written, .died, .never, [died]),
        Cell(.written, .stop, ["1 > sb-3 stop"]),
        Cell(.written, .seconds(10), ["1 > sb-3 probe"]),
        Cell(.written, .seconds(60), ["1 > sb-3 probe", "kill 1", "start 2 /s/1"]),
        Cell(
            .written, .seconds(60), .never,
            ["1 > sb-3 probe", "kill 1", #"r1 pi-ses_1 failed agentGone "Least does not answer any more""#]),
        // Taken.
        Cell(.taken, .refused, [#"send r1 refused "no""#]),
        Cell(.taken, .began, ["r1 pi-ses_1 started"]),
        Cell(.taken, .ended, ["r1 pi-ses_1 finished stop run -"]),
        Cell(.taken, .died, ["start 2 /s/1"]),
        Cell(.taken, .stop, ["1 > sb-3 stop"]),
        Cell(.taken, .seconds(10), ["1 > sb-3 probe"]),
        // Going.
        Cell(.going, .ended, ["r1 pi-ses_1 finished stop run -"]),
        Cell(.going, .failed, [#"r1 pi-ses_1 failed other "bad""#]),
        Cell(.going, .died, ["start 2 /s/1"]),
        Cell(.going, .died, .never, [died]),
        Cell(.going, .stop, ["1 > sb-3 stop"]),
        Cell(.going, .seconds(60), ["1 > sb-3 probe"]),
        Cell(.going, .probed("busy"), ["1 > sb-3 probe"]),
        Cell(.going, .probed("idle"), ["1 > sb-3 probe", "1 > sb-4 probe", "1 > sb-5 find r1"]),
        // In doubt: the next child runs.
        Cell(.doubtful, .found("absent"), ["2 > sb-4 find r1", "2 > sb-5 prompt r1 one"]),
        Cell(.doubtful, .found("ended"), ["2 > sb-4 find r1", #"r1 pi-ses_1 finished stop run "Found.""#]),
        Cell(.doubtful, .found("broken"), ["2 > sb-4 find r1", #"r1 pi-ses_1 failed agentGone "broken off""#]),
        Cell(.doubtful, .stop, []),
        // A Stop is on its way.
        Cell(.stopping, .ended, ["r1 pi-ses_1 finished stop run -", "stop of r1 answered"]),
        Cell(.stopping, .failed, [#"r1 pi-ses_1 failed other "bad""#, "stop of r1 answered"]),
        Cell(.stopping, .stop, []),
        Cell(.stopping, .died, ["start 2 /s/1"]),
        Cell(.stopping, .died, .never, ["r1 pi-ses_1 finished aborted run -", "stop of r1 answered"]),
        Cell(
            .stopping, .seconds(15), .never,
            ["r1 pi-ses_1 finished aborted run -", "stop of r1 answered", "kill 1"]),
        // A Stop came before the run began.
        Cell(.stoppingUnbegun, .taken, ["send r1 accepted as r1"]),
        Cell(.stoppingUnbegun, .refused, [#"send r1 refused "no""#, "stop of r1 answered"]),
        Cell(.stoppingUnbegun, .began, ["r1 pi-ses_1 started", "1 > sb-4 stop"]),
    ]

    @Test("each cell", arguments: cells)
    func cell(_ cell: Cell) {
        var least = Self.make(cell.state, cell.again)
        let channel = cell.state == .doubtful ? 2 : 1
        #expect(Self.happens(cell.event, in: &least, channel) == cell.lines)
    }
}
