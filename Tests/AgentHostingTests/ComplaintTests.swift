import AgentKit
import Locking
import Testing
import Vocabulary
import Worlds

@testable import AgentHosting

@Suite("Standard error of children")
struct ComplaintTests {
    private let stage = Stage { $0.replacing("hunter2", with: "***") }

    private var notes: [String] {
        stage.events.withLock { $0 }.compactMap { if case .note(.complaint(let words)) = $0 { words } else { nil } }
    }

    init() { stage.order(.open(Stage.channel, Stage.child())) }

    @Test("a line goes to the log, without secrets and cut")
    func line() {
        stage.programs.handlers[0](.complained("password hunter2"))
        stage.programs.handlers[0](.complained(String(repeating: "x", count: 2_000)))
        #expect(notes.first == "standard error: password ***")
        #expect(notes.last?.count == 1_000 + "standard error: …".count)
    }

    @Test("of many lines some are logged, then their number")
    func many() {
        for number in 0..<50 { stage.programs.handlers[0](.complained("line \(number)")) }
        #expect(notes.count == 20)
        stage.clock.pass(.seconds(10))
        stage.programs.handlers[0](.complained("later"))
        #expect(notes.suffix(2) == ["standard error: 30 lines more were left out", "standard error: later"])
    }

    @Test("once chats are encrypted and the agent has had a message, lines are counted and not quoted")
    func sealed() {
        var limit = ComplaintLimit()
        #expect(limit.take("starting", isSealed: true, at: .zero) == ["standard error: starting"])
        limit.prompted()
        let words = ["Ada's secret 1", "Ada's secret 2", "Ada's secret 3"].flatMap {
            limit.take($0, isSealed: true, at: .zero)
        }
        #expect(words.count == 1 && !words[0].contains("Ada"))
        let later = limit.take("Ada's secret 4", isSealed: true, at: .zero + .seconds(11))
        #expect(later.first == "standard error: 2 lines more, not shown" && !later.joined().contains("Ada"))
        #expect(limit.take("open", isSealed: false, at: .zero + .seconds(12)) == ["standard error: open"])
    }

    @Test(
        "a chat that reached the agent in an earlier process, or with a command that is no message, ends the quotes too",
        arguments: ["begin", "answer", "look up", "resolve"])
    func reachedBefore(how: String) {
        let sealed = Stage(isSealed: true)
        let session = AgentSession("s")
        var past = AgentPast()
        if how == "begin" {
            past.turns = [
                EarlierTurn(
                    session: session, runs: [EarlierTurn.Run(RunID("r"), text: "Ada")], isAccepted: true,
                    isStopping: false, receivedAt: .zero, decisions: [], detached: [])
            ]
        }
        sealed.order(.open(Stage.channel, Stage.child()))
        sealed.programs.handlers[0](.complained("starting"))
        sealed.link.begin(past)
        switch how {
        case "answer": sealed.link.command(.answer(question: QuestionID("q"), session: session, answer: .declined))
        case "look up": sealed.link.command(.lookUp(session: session, run: RunID("r")))
        case "resolve": sealed.link.command(.resolve(approval: ApprovalID("a"), subject: .exec, decision: .deny))
        default: break
        }
        sealed.programs.handlers[0](.complained("Ada's secret"))
        let notes = sealed.events.withLock { "\($0)" }
        #expect(notes.contains("starting") && !notes.contains("Ada"), "\(notes)")
    }

    @Test("a piece of a child's own log reaches its machine without secrets")
    func ownLog() {
        stage.order(.work(WorkID(7), .complaints(log: "/l", from: 3, limit: 10)))
        stage.works.open[0](.read(Array("no hunter2".utf8), size: 13))
        #expect(stage.script.pieces == ["no ***"])
    }

    @Test("the last words of a child reach its machine without secrets")
    func lastWords() {
        stage.programs.handlers[0](.exited(.exited(1), lastWords: "no hunter2"))
        #expect(stage.script.lastWords == "no ***")
    }
}
