import AgentKit
import ConversationEngine
import LeastAgent
import Testing
import Vocabulary

/// Every event in every state of an ask, one row per cell.
@Suite("An ask on the engine, state by state")
struct AskTableTests {
    enum State: String {
        /// A card or a question within `r1`, which continues.
        case card, question, twoQuestions, halfAnswered, behindStop, deniedInWords
        /// A run of the agent's own asks, with no prompt out.
        case between
    }

    static func make(_ state: State) -> LeastConversation {
        var least = LeastConversation.make {
            $0.deniesInWords = true
            $0.asksBetweenRuns = true
            $0.steers = true
        }
        _ = least.looksUp("none")
        _ = least.opens()
        _ = least.confirms("find", #","found":"absent""#)
        if state == .between {
            _ = least.says(#"{"began":"own"}"#)
            _ = least.says(#"{"asks":"a1","run":"own"}"#)
            return least
        }
        _ = least.sends("r1", "one")
        _ = least.says(#"{"began":"r1"}"#)
        if state == .behindStop { _ = least.aborts("r1") }
        switch state {
        case .card, .behindStop, .between, .deniedInWords: _ = least.says(#"{"asks":"a1","run":"r1"}"#)
        case .question: _ = least.says(#"{"asks":"a1","run":"r1","kind":"question"}"#)
        case .twoQuestions, .halfAnswered: _ = least.says(#"{"asks":"a1","run":"r1","kind":"two"}"#)
        }
        if state == .halfAnswered { _ = least.answers("a1-1", .text("x")) }
        if state == .deniedInWords { _ = least.decides("a1", .deny, wordsFollow: true) }
        return least
    }

    enum Event: Hashable {
        case yes, no, unanswered, yesToOther, noInWords, words(String)
        case answer(String), declines(String)
        case stop, ended, died, withdrawn, again, another
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
        case .yes: return least.decides("a1", .approve)
        case .no: return least.decides("a1", .deny)
        case .unanswered: return least.decides("a1", .deny, isUnanswered: true)
        case .yesToOther:
            let other = ApprovalRequest(id: ApprovalID("a1"), subject: .exec, title: "Else", message: "rm")
            return least.decides("a1", .approve, shown: AskFingerprint(of: other))
        case .noInWords: return least.decides("a1", .deny, wordsFollow: true)
        case .words(let run): return least.sends(run, "use make", steers: true)
        case .answer(let question): return least.answers(question, .text("x"))
        case .declines(let question): return least.answers(question, .declined)
        case .stop: return least.aborts("r1")
        case .ended: return least.says(#"{"ended":"r1"}"#)
        case .died: return least.exits()
        case .withdrawn: return least.says(#"{"withdraws":"a1"}"#)
        case .again: return least.says(#"{"asks":"a1","run":"r1"}"#)
        case .another: return least.says(#"{"asks":"a2","run":"r1","kind":"odd"}"#)
        case .seconds(let seconds): return least.waits(seconds * 1_000)
        }
    }

    private static func settled(_ how: String, _ name: String = "a1") -> String {
        "- pi-ses_1 approval settled \(name) \(how)"
    }
    private static let denied = settled("decided(Vocabulary.ApprovalDecision.deny)")
    private static let allowed = settled("decided(Vocabulary.ApprovalDecision.approve)")
    private static func answered(_ name: String) -> String { "- pi-ses_1 question settled \(name) answered" }
    private static func gone(_ name: String) -> String { "- pi-ses_1 question settled \(name) cancelled" }

    static let cells: [Cell] = [
        Cell(.card, .yes, ["1 > settle a1 yes", allowed]),
        Cell(.card, .no, ["1 > settle a1 no", denied]),
        Cell(.card, .unanswered, ["1 > settle a1 unanswered", denied]),
        Cell(.card, .yesToOther, []),
        Cell(.card, .noInWords, [denied]),
        Cell(.card, .withdrawn, [settled("cancelled")]),
        Cell(.card, .ended, ["r1 pi-ses_1 finished stop run -", "1 > settle a1 dropped", settled("cancelled")]),
        Cell(.card, .stop, ["1 > sb-4 stop"]),
        Cell(.card, .another, ["1 > settle a2 dropped", "note a dialog (odd) cannot be shown"]),
        Cell(
            .card, .died,
            [#"r1 pi-ses_1 failed agentGone "its process ended with code 1""#, settled("cancelled")]),
        // A Stop came first, so nothing is open.
        Cell(.behindStop, .yes, ["- - approval settled a1 unknown"]),
        // The ask is denied, and the words are yet to come.
        Cell(.deniedInWords, .words("r2"), ["1 > settle a1 no: use make", "send r2 accepted as r1"]),
        Cell(.deniedInWords, .seconds(10), ["1 > settle a1 no"]),
        Cell(.deniedInWords, .yes, ["- - approval settled a1 unknown"]),
        Cell(.deniedInWords, .ended, ["r1 pi-ses_1 finished stop run -", "1 > settle a1 dropped"]),
        Cell(.deniedInWords, .died, [#"r1 pi-ses_1 failed agentGone "its process ended with code 1""#]),
        Cell(.deniedInWords, .withdrawn, []),
        // Questions.
        Cell(.question, .answer("a1"), ["1 > settle a1 answers 1", answered("a1")]),
        Cell(.question, .declines("a1"), ["1 > settle a1 answers 1", answered("a1")]),
        Cell(.question, .answer("else"), ["- pi-ses_1 question settled else unknown"]),
        Cell(.twoQuestions, .answer("a1-1"), [answered("a1-1")]),
        Cell(
            .twoQuestions, .ended,
            ["r1 pi-ses_1 finished stop run -", "1 > settle a1 dropped", gone("a1-1"), gone("a1-2")]),
        Cell(.halfAnswered, .answer("a1-2"), ["1 > settle a1 answers 2", answered("a1-2")]),
        Cell(.halfAnswered, .withdrawn, [gone("a1-2")]),
        // Between the runs of the bridge.
        Cell(.between, .yes, ["1 > settle a1 yes", allowed]),
        Cell(.between, .no, ["1 > settle a1 no", denied]),
    ]

    @Test("each cell", arguments: cells)
    func cell(_ cell: Cell) {
        var least = Self.make(cell.state)
        #expect(Self.happens(cell.event, in: &least) == cell.lines)
    }

    @Test("a yes behind a Stop allows nothing: the ask is dropped")
    func yesBehindStop() {
        var least = Self.make(.card)
        _ = least.aborts("r1")
        #expect(least.decides("a1", .approve) == ["1 > settle a1 dropped", Self.settled("cancelled")])
        #expect(least.decides("a1", .approve) == ["- - approval settled a1 unknown"])
    }

    @Test("an answer behind a Stop is none")
    func answerBehindStop() {
        var least = Self.make(.question)
        _ = least.aborts("r1")
        #expect(least.answers("a1", .text("x")) == ["1 > settle a1 dropped", Self.gone("a1")])
    }

    @Test("an ask has one answer")
    func once() {
        var least = Self.make(.card)
        _ = least.decides("a1", .approve)
        #expect(least.decides("a1", .deny) == ["- - approval settled a1 unknown"])
    }

    @Test("a yes counts as taken once it is written; one for an ask whose child is gone goes to no later child")
    func yesAroundDeath() {
        var written = Self.make(.card)
        #expect(written.decides("a1", .approve) == ["1 > settle a1 yes", Self.allowed])
        #expect(written.exits() == [#"r1 pi-ses_1 failed agentGone "its process ended with code 1""#])
        var late = Self.make(.card)
        _ = late.exits()
        #expect(late.decides("a1", .approve) == ["- - approval settled a1 unknown"])
    }

    @Test("words behind a denial that has left are the next prompt")
    func lateWords() {
        var least = Self.make(.card)
        _ = least.decides("a1", .deny)
        #expect(least.sends("r2", "use make", steers: true) == ["1 > sb-4 steer r2 use make"])
    }

    @Test("words that a run had and did not take are not handed back at the end of the bridge")
    func wordsAtTheEnd() {
        var least = Self.make(.card)
        _ = least.decides("a1", .deny)
        _ = least.sends("r2", "use make", steers: true)
        _ = least.sends("r3", "three")
        _ = least.says(#"{"ended":"r1"}"#)
        let said = least.shutsDown()
        #expect(said.contains("send r3 never left") && !said.contains("send r2 never left"), "\(said)")
    }

    @Test("a child with an open ask keeps its place, and is not idle")
    func place() {
        var least = Self.make(.between)
        least.showsIdle = true
        _ = least.says(#"{"ended":"own"}"#)
        _ = least.says(#"{"asks":"a2"}"#)
        #expect(least.waits(3_600_000).allSatisfy { $0.contains("probe") })
        #expect(least.isWanted() == ["busy 1"])
    }

    @Test("a card that shows anything else is another ask")
    func shown() {
        var least = Self.make(.card)
        let same = ApprovalRequest(id: ApprovalID("a1"), subject: .dialog, title: "Sure?", message: "")
        #expect(least.decides("a1", .approve, shown: AskFingerprint(of: same)) == ["1 > settle a1 yes", Self.allowed])
    }
}
