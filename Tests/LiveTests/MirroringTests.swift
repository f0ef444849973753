import AgentKit
import Testing
import Vocabulary

@testable import BridgeService

@Suite("Which runs are mirrored, and where")
struct MirroringTests {
    private static let session = AgentSession("agent:main:terminal")
    private static let chat = SessionID("ses_1")

    private static func signal(_ run: String, _ event: RunEvent = .started, in session: AgentSession = session)
        -> RunSignal
    {
        RunSignal(run: RunID(run), session: session, event: event)
    }

    /// A mirroring that wrote its intent and whose `createSession` call is under way.
    private static func asking(_ runs: [String] = ["a"]) -> Mirroring {
        var mirroring = Mirroring(.all)
        for run in runs { _ = mirroring.heard(signal(run), at: .zero, wall: 0) }
        _ = mirroring.chatIsAsked(for: session)
        return mirroring
    }

    // MARK: Runs

    @Test("runs of one session share a chat; what comes before it is made is kept; an end begins nothing again")
    func machine() {
        var mirroring = Mirroring(.all)
        let first = Self.signal("a")
        let text = Self.signal("a", .text(.append("x")))
        #expect(mirroring.heard(first, at: .zero, wall: 0) == .makeChat(Self.session))
        #expect(mirroring.chatIsAsked(for: Self.session)?.tries == 1)
        #expect(mirroring.heard(text, at: .zero, wall: 0) == .none)
        #expect(mirroring.heard(Self.signal("b"), at: .zero, wall: 0) == .none)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.map(\.run.text) == ["a", "b"])
        #expect(made.first?.said == [first, text])
        #expect(mirroring.heard(text, at: .zero, wall: 0) == .none)
        guard case .begin(let third) = mirroring.heard(Self.signal("c"), at: .zero, wall: 0) else {
            Issue.record("the chat is there")
            return
        }
        #expect(third.chat == Self.chat)
        #expect(mirroring.agentSession(of: Self.chat) == Self.session)
        #expect(mirroring.heard(Self.signal("sophon-int_1"), at: .zero, wall: 0) == .none)
        let question = ApprovalRequest(id: ApprovalID("x"), subject: .exec, title: "t")
        #expect(mirroring.heard(Self.signal("d", .approvalRequested(question)), at: .zero, wall: 0) == .none)
    }

    @Test("a question that comes before the chat is made is kept with its run, also where it names the session alone")
    func questions() {
        var mirroring = Self.asking()
        let question = RunEvent.approvalRequested(ApprovalRequest(id: ApprovalID("x"), subject: .exec, title: "t"))
        let asked = RunSignal(run: nil, session: Self.session, event: question)
        #expect(mirroring.heard(asked, at: .zero, wall: 0) == .none)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.first?.said == [Self.signal("a"), asked])
    }

    @Test("a run that waits for its chat while the link is lost is looked up when it begins")
    func linkLost() {
        var mirroring = Self.asking()
        mirroring.linkLost()
        _ = mirroring.heard(Self.signal("b"), at: .zero, wall: 0)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.map(\.mayLackWords) == [true, false])
    }

    @Test("a run that says too much before its chat is made is left whole, and its session still gets its one chat")
    func talkative() {
        var mirroring = Self.asking()
        let text = String(repeating: "x", count: 100_000)
        for _ in 0..<9 { _ = mirroring.heard(Self.signal("a", .text(.append(text))), at: .zero, wall: 0) }
        #expect(mirroring.record(of: Self.session).runs.map(\.run) == ["a"])
        _ = mirroring.heard(Self.signal("a", .text(.append(text))), at: .zero, wall: 0)
        #expect(mirroring.record(of: Self.session).runs.isEmpty)
        #expect(mirroring.heard(Self.signal("b"), at: .zero, wall: 0) == .none)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.map(\.run.text) == ["b"])
        #expect(mirroring.heard(Self.signal("a", .text(.append("y"))), at: .zero, wall: 0) == .none)
    }

    @Test("only so many runs wait; what waits for a refused chat goes first")
    func room() {
        var mirroring = Mirroring(.all)
        func other(_ number: Int) -> AgentSession { AgentSession("agent:main:s\(number)") }
        for number in 0..<64 {
            let signal = Self.signal("r\(number)", in: other(number))
            #expect(
                mirroring.heard(signal, at: .zero + .seconds(number), wall: Int64(number)) == .makeChat(other(number)))
        }
        #expect(mirroring.heard(Self.signal("r64", in: other(64)), at: .zero + .seconds(64), wall: 64) == .none)
        #expect(mirroring.record(of: other(64)).runs.isEmpty)
        let isTold = [mirroring.takeCrowd(), mirroring.takeCrowd()]
        #expect(isTold == [true, false])
        _ = mirroring.chatIsAsked(for: other(5))
        #expect(mirroring.chatAnswered(.refused, for: other(5), at: .zero + .seconds(64)) == .kept(runs: 1))
        #expect(
            mirroring.heard(Self.signal("r65", in: other(65)), at: .zero + .seconds(65), wall: 65)
                == .makeChat(other(65)))
        #expect(mirroring.record(of: other(5)).runs.isEmpty)
    }

    @Test("a run in the phone's own chat that finds no room is told, once until one is shown there")
    func crowdAtHome() {
        var mirroring = Mirroring(.none, hasHomes: true)
        mirroring.isAtHome(Self.session, in: Self.chat)
        var told: [Bool] = []
        for (run, hasRoom) in [("a", false), ("b", false), ("c", true), ("d", false)] {
            let step = mirroring.heard(Self.signal(run), at: .zero, wall: 0, hasRoom: hasRoom)
            #expect((step == .none) == !hasRoom)
            told.append(mirroring.takeCrowd())
        }
        #expect(told == [true, false, false, true])
    }

    @Test("text that grows is kept once")
    func words() {
        var words = HeldWords()
        for event in [
            RunEvent.started, .text(.snapshot("a")), .text(.append("b")), .text(.append("c")),
            .tool(.started(ToolStart(call: ToolCallID("t"), name: "exec"))), .text(.append("d")), .text(.append("e")),
            .text(.snapshot("abcde.")), .text(.segment("s")), .text(.segment("st")), .text(.segment("x")),
        ] { words.take(Self.signal("a", event)) }
        #expect(
            words.signals.map(\.event) == [
                .started, .text(.snapshot("abc")), .tool(.started(ToolStart(call: ToolCallID("t"), name: "exec"))),
                .text(.snapshot("abcde.")), .text(.segment("st")), .text(.segment("x")),
            ])
        #expect(words.bytes == 6 * 400 + 3 + 6 + 2 + 1)
    }

    // MARK: The scheduler's

    private static func job(_ name: String? = "backup", in session: AgentSession? = session, run: String? = nil)
        -> AgentJob
    {
        AgentJob(name: name, session: session, run: run.map { RunID($0) })
    }

    @Test("a run that is named is shown, whatever its session holds; another is not")
    func named() {
        var runs = SchedulerRuns()
        runs.started(Self.job(run: "r1"), at: .zero)
        #expect(runs.isScheduled(RunID("r2"), in: Self.session, begins: true, at: .zero) == false)
        #expect(runs.isScheduled(RunID("r1"), in: Self.session, begins: false, at: .zero) == true)
    }

    @Test("one that is named and first seen at its end is shown with what it said, and once")
    func firstSeenAtItsEnd() {
        var mirroring = Mirroring(.cron)
        mirroring.jobStarted(Self.job(run: "a"), at: .zero)
        let end = Self.signal("a", .finished(RunEnd(text: "The report.")))
        #expect(mirroring.heard(end, at: .zero, wall: 0) == .makeChat(Self.session))
        mirroring.jobFinished(Self.job(run: "a"))
        _ = mirroring.chatIsAsked(for: Self.session)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.map(\.run) == [RunID("a")] && made.first?.said == [end])
        #expect(mirroring.heard(end, at: .zero, wall: 0) == .none)
    }

    @Test("without a name it is the first run that begins after started and before finished, and no other")
    func first() {
        var runs = SchedulerRuns()
        func isScheduled(_ run: String, begins: Bool = true, at seconds: Int = 0) -> Bool {
            let isIt = runs.isScheduled(
                RunID(run), in: Self.session, begins: begins, at: .zero + .seconds(seconds))
            runs.ended(RunID(run), in: Self.session)
            return isIt
        }
        #expect(!isScheduled("before"))
        runs.started(Self.job(), at: .zero)
        // A run whose beginning the bridge missed may have begun before the job.
        #expect(!isScheduled("half", begins: false))
        #expect(isScheduled("first"))
        #expect(!isScheduled("second"))
        runs.finished(Self.job())
        #expect(!isScheduled("third"))
        runs.started(Self.job(), at: .zero)
        runs.finished(Self.job())
        #expect(!isScheduled("fourth"))
        runs.started(Self.job(), at: .zero)
        #expect(!isScheduled("late", at: 3_601))
        runs.started(Self.job(), at: .zero)
        runs.linkLost()
        #expect(!isScheduled("fifth"))
        runs.started(Self.job(), at: .zero)
        #expect(isScheduled("sixth"))
    }

    @Test("a job that names no session is bound by its own name")
    func unnamedSession() {
        var runs = SchedulerRuns()
        runs.started(Self.job(in: nil), at: .zero)
        for other in ["agent:main:main", "agent:main:cron:other", "agent:main:cron:backup2"] {
            #expect(runs.isScheduled(RunID(other), in: AgentSession(other), begins: true, at: .zero) == false)
        }
        let own = AgentSession("agent:main:cron:backup:run:1")
        #expect(runs.isScheduled(RunID("r"), in: own, begins: true, at: .zero) == true)
    }

    @Test("where two could be meant there is none: two jobs of one session, or a run of others that goes on")
    func doubtful() {
        var runs = SchedulerRuns()
        runs.started(Self.job("one"), at: .zero)
        runs.started(Self.job("two"), at: .zero)
        #expect(runs.isScheduled(RunID("a"), in: Self.session, begins: true, at: .zero) == false)
        #expect(runs.isScheduled(RunID("b"), in: Self.session, begins: true, at: .zero) == false)
        runs.finished(Self.job("one"))
        #expect(runs.isScheduled(RunID("c"), in: Self.session, begins: true, at: .zero) == false)
        runs.finished(Self.job("two"))
        for run in ["a", "b", "c"] { runs.ended(RunID(run), in: Self.session) }

        #expect(runs.isScheduled(RunID("private"), in: Self.session, begins: true, at: .zero) == false)
        runs.started(Self.job("one"), at: .zero)
        #expect(runs.isScheduled(RunID("d"), in: Self.session, begins: true, at: .zero) == false)
        for run in ["private", "d"] { runs.ended(RunID(run), in: Self.session) }
        runs.started(Self.job("one"), at: .zero)
        #expect(runs.isScheduled(RunID("e"), in: Self.session, begins: true, at: .zero) == true)
        // The first job has its run, so the next run belongs to the second job.
        runs.started(Self.job("two"), at: .zero)
        #expect(runs.isScheduled(RunID("f"), in: Self.session, begins: true, at: .zero) == true)
    }

    // MARK: The chat

    @Test("three tries of unknown outcome, with a pause that grows; being told to wait is none")
    func tries() {
        var chat = RunChat()
        #expect(chat.want() == true)
        #expect(chat.want() == false)
        #expect(chat.ask() == 1)
        chat.answered(.wait(.seconds(9)), at: .zero)
        #expect(!chat.mayAsk(at: .zero + .seconds(8)))
        #expect(chat.mayAsk(at: .zero + .seconds(9)))
        #expect(chat.ask() == 1)
        chat.answered(.unknown, at: .zero)
        #expect(!chat.mayAsk(at: .zero + .seconds(1)))
        #expect(chat.mayAsk(at: .zero + .seconds(2)))
        #expect(chat.ask() == 2)
        chat.answered(.unwritten, at: .zero)
        #expect(chat.ask() == 2)
        chat.answered(.unknown, at: .zero)
        #expect(chat.mayAsk(at: .zero + .seconds(8)))
        #expect(chat.ask() == 3)
        chat.answered(.unknown, at: .zero)
        #expect(chat.state == .refused)
        #expect(chat.want() == true)
        #expect(chat.ask() == 1)
        chat.answered(.made(Self.chat), at: .zero)
        #expect(chat.chat == Self.chat)
        chat.deleted(mute: false)
        #expect(chat.want() == true)
    }

    @Test("an intent is taken up by the next process, and what was yesterday's is not")
    func takenUp() {
        let day = RunChatRecord.life
        let record = RunChatRecord(
            .wanted, tries: 2, runs: [.init(run: "old", wall: 0), .init(run: "new", wall: 100)])
        var mirroring = Mirroring(.all)
        #expect(RunChatRecord(record.bytes) == record)
        #expect(mirroring.learn(record, of: Self.session, wall: day + 50) == true)
        #expect(mirroring.chatsToMake(at: .zero) == [Self.session])
        #expect(mirroring.chatIsAsked(for: Self.session)?.tries == 3)
        #expect(mirroring.heard(Self.signal("new", .text(.append("x"))), at: .zero, wall: 0) == .none)
        guard case .begins(let made) = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero) else {
            Issue.record("the chat is there")
            return
        }
        #expect(made.map(\.run.text) == ["new"])
        #expect(made.map(\.isUnseen) == [true])
        for (state, tries) in [(RunChatRecord.State.wanted, 3), (.refused, 1)] {
            var spent = Mirroring(.all)
            let record = RunChatRecord(state, tries: tries, runs: [.init(run: "new", wall: 100)])
            #expect(spent.learn(record, of: Self.session, wall: 200) == true)
            #expect(spent.chatsToMake(at: .zero) == [])
            #expect(spent.heard(Self.signal("next"), at: .zero, wall: 200) == .makeChat(Self.session))
            #expect(spent.chatIsAsked(for: Self.session)?.runs.map(\.run) == ["new", "next"])
        }
        #expect(mirroring.learn(record, of: AgentSession("x"), wall: 3 * day) == false)
        #expect(RunChatRecord(Array("{".utf8)) == nil)
        #expect(RunChatRecord(Array(#"{"version":2,"state":"muted","tries":0,"runs":[]}"#.utf8)) == nil)
    }

    @Test("the record's words are these, for ever")
    func record() {
        let bytes = Array(#"{"version":1,"state":"wanted","tries":2,"runs":[{"run":"r1","wall_ms":5}]}"#.utf8)
        #expect(RunChatRecord(bytes) == RunChatRecord(.wanted, tries: 2, runs: [.init(run: "r1", wall: 5)]))
        for state in [RunChatRecord.State.refused, .muted] {
            let bytes = Array(#"{"version":1,"state":"\#(state.rawValue)","tries":0,"runs":[]}"#.utf8)
            #expect(RunChatRecord(bytes) == RunChatRecord(state))
        }
    }

    @Test("a deleted chat is forgotten once; a later one of the same session is not meant")
    func deleted() {
        var mirroring = Self.asking()
        _ = mirroring.chatAnswered(.made(Self.chat), for: Self.session, at: .zero)
        #expect(mirroring.chatDeleted(Self.chat)?.session == Self.session)
        #expect(mirroring.chatDeleted(Self.chat) == nil)
        #expect(mirroring.agentSession(of: Self.chat) == nil)
        #expect(mirroring.heard(Self.signal("b"), at: .zero, wall: 0) == .makeChat(Self.session))
    }

    @Test(
        "an answer is judged by the relay's code, else by its status",
        arguments: [
            (429, RelayErrorCode.rateLimited, RunChat.Answer.wait(.seconds(7))),
            (503, .temporarilyUnavailable, .wait(.seconds(7))), (503, .other("odd"), .wait(.seconds(7))),
            (408, .other("odd"), .unknown), (425, .other("odd"), .unknown), (500, .internalError, .unknown),
            (502, .upstreamError, .unknown), (400, .invalidRequest, .refused), (401, .invalidToken, .refused),
            (403, .permissionDenied, .refused), (418, .other("teapot"), .refused),
        ])
    func judged(status: Int, code: RelayErrorCode, answer: RunChat.Answer) {
        let refusal = RelayRefusal(status: status, code: code, retryAfter: .seconds(7))
        #expect(RunChat.Answer.judge(.refused(refusal)).0 == answer)
    }
}
