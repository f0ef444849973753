import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("Approvals on an OpenClaw link")
struct OpenClawApprovalsTests {
    private typealias Talk = OpenClawConversation

    private static func live(_ era: GatewayEra) -> OpenClawConversation {
        let talk = Talk(era: era)
        talk.goLiveWithRun()
        return talk
    }

    /// The same with an open question of this name.
    private static func asked(_ era: GatewayEra, _ id: String = "ap-1") -> OpenClawConversation {
        let talk = live(era)
        let isPlugin = id.hasPrefix("plugin:")
        talk.event(
            isPlugin ? "plugin.approval.requested" : "exec.approval.requested",
            request(talk, seconds: 1_800).replacing("ap-1", with: id))
        talk.clear()
        return talk
    }

    /// Answers that no approval is open.
    private static func nothingIsOpen(_ talk: OpenClawConversation) {
        for method in ["exec.approval.list", "plugin.approval.list"] where talk.methods.contains(method) {
            talk.answer(method, "[]")
        }
    }

    private static func request(_ talk: OpenClawConversation, seconds: Int64 = 120) -> String {
        """
        {"id":"ap-1","request":{"command":"ls","host":"gateway","sessionKey":"\(Talk.key)"},\
        "createdAtMs":\(talk.wall),"expiresAtMs":\(talk.wall + seconds * 1_000)}
        """
    }

    private static func decide(
        _ talk: OpenClawConversation, _ id: String = "ap-1", _ decision: ApprovalDecision = .approve
    ) {
        let isPlugin = id.hasPrefix("plugin:")
        talk.command(.resolve(approval: ApprovalID(id), subject: isPlugin ? .plugin : .exec, decision: decision))
    }

    @Test(
        "a decision goes by the method that the gateway offers",
        arguments: [
            (GatewayEra.e1, "ap-1", "exec.approval.resolve", #"{"id":"ap-1","decision":"allow-once"}"#),
            (.e3, "ap-1", "exec.approval.resolve", #"{"id":"ap-1","decision":"allow-once"}"#),
            (.e3, "plugin:1", "plugin.approval.resolve", #"{"id":"plugin:1","decision":"allow-once"}"#),
            (.e4, "ap-1", "approval.resolve", #"{"id":"ap-1","kind":"exec","decision":"allow-once"}"#),
            (.e4, "plugin:1", "approval.resolve", #"{"id":"plugin:1","kind":"plugin","decision":"allow-once"}"#),
        ])
    func methods(_ era: GatewayEra, _ id: String, _ method: String, _ params: String) {
        let talk = Self.asked(era, id)
        Self.decide(talk, id)
        #expect(talk.sent.last?.method == method)
        #expect(talk.sent.last?.params == params)
        talk.answer(method, #"{"ok":true,"applied":true}"#)
        #expect(talk.observations == [.settled(id, .decided(.approve))])
    }

    @Test(
        "each refusal of a decision is told apart",
        arguments: [
            (#"{"code":"INVALID_REQUEST","message":"unknown or expired approval id"}"#, false),
            (#"{"code":"APPROVAL_NOT_FOUND","message":"gone"}"#, false),
            (#"{"code":"INVALID_REQUEST","message":"x","details":{"reason":"APPROVAL_EXPIRED"}}"#, true),
        ])
    func refusals(_ error: String, _ isExpired: Bool) {
        let talk = Self.asked(.e3)
        Self.decide(talk)
        talk.answer("exec.approval.resolve", nil, error: error)
        #expect(talk.observations == [.settled("ap-1", isExpired ? .expired : .unknown)])
    }

    @Test(
        "where somebody was first, their decision is told",
        arguments: [
            (#""status":"denied","decision":"deny""#, ApprovalSettlement.Outcome.decided(.deny)),
            (#""status":"allowed""#, .decided(.approve)), (#""status":"expired""#, .expired),
            (#""status":"cancelled","reason":"run-aborted""#, .cancelled),
        ])
    func recorded(_ approval: String, _ outcome: ApprovalSettlement.Outcome) {
        let talk = Self.asked(.e4)
        Self.decide(talk)
        talk.answer("approval.resolve", #"{"applied":false,"approval":{"id":"ap-1",\#(approval)}}"#)
        #expect(talk.observations == [.settled("ap-1", outcome)])
    }

    @Test("the broadcast and the answer are told, and a decision is sent once")
    func broadcast() {
        let talk = Self.asked(.e3)
        Self.decide(talk)
        talk.event("exec.approval.resolved", #"{"id":"ap-1","decision":"allow-once","resolvedBy":"Test bridge"}"#)
        talk.answer("exec.approval.resolve", #"{"ok":true}"#)
        #expect(talk.observations.count == 1)
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        #expect(!talk.methods.contains("exec.approval.resolve"))
    }

    @Test("a decision made while away is sent once when the link is back")
    func away() {
        let talk = Self.live(.e3)
        talk.event("exec.approval.requested", Self.request(talk))
        talk.close(1006)
        Self.decide(talk, "ap-1", .deny)
        talk.pass(10)
        talk.goLive()
        #expect(talk.methods.filter { $0 == "exec.approval.resolve" }.count == 1)
        #expect(talk.sent.last { $0.method == "exec.approval.resolve" }?.params.contains("deny") == true)
    }

    @Test("a decision whose question expired meanwhile is told so, and not sent")
    func expired() {
        let talk = Self.live(.e3)
        talk.event("exec.approval.requested", Self.request(talk, seconds: 60))
        talk.close(1006)
        Self.decide(talk)
        talk.clear()
        talk.pass(61)
        #expect(talk.observations == [.settled("ap-1", .expired)])
        talk.goLive()
        #expect(!talk.methods.contains("exec.approval.resolve"))
    }

    @Test("what is asked only now waits, though its number says that it has expired", arguments: [-1, 0])
    func expiredWhenAsked(_ seconds: Int64) {
        let talk = Self.live(.e3)
        talk.event("exec.approval.requested", Self.request(talk, seconds: seconds))
        guard case .signal(let signal)? = talk.observations.last,
            case .approvalRequested(let request) = signal.event
        else {
            Issue.record("no request")
            return
        }
        #expect(request.expiresAt == nil)
        Self.decide(talk)
        #expect(talk.methods.contains("exec.approval.resolve"))
    }

    @Test("what waits is asked for after a loss, and what expired by the gateway's clock is left out")
    func list() {
        let talk = Self.live(.e3)
        talk.close(1006)
        talk.pass(1)
        talk.goLive()
        talk.clear()
        let id = talk.allSent.last { $0.method == "exec.approval.list" }?.id ?? ""
        let over = Self.request(talk, seconds: -1).replacing("ap-1", with: "ap-0")
        talk.answer(id: id, "[\(over),\(Self.request(talk, seconds: 90))]")
        guard case .signal(let signal)? = talk.observations.first,
            case .approvalRequested(let request) = signal.event
        else {
            Issue.record("no request")
            return
        }
        #expect(talk.observations.count == 1)
        #expect(request.id == ApprovalID("ap-1"))
        #expect(request.expiresAt == talk.now + .seconds(90))
    }

    @Test("the run that follows a detached approval is followed, too")
    func followUpRun() {
        let talk = Self.live(.e2)
        talk.chat("final", "May I?")
        talk.event(
            "agent",
            """
            {"runId":"exec-approval-followup:ap-1","seq":1,"stream":"lifecycle","sessionKey":"\(Talk.key)",\
            "data":{"phase":"start"}}
            """)
        talk.clear()
        for _ in 0..<2 {
            talk.pass(29)
            talk.event("tick", "{}")
        }
        talk.pass(3)
        #expect(talk.methods == ["chat.history"])
    }

    @Test(
        "a decision that arrived before its answer was lost counts, where the process is the same",
        arguments: [true, false])
    func repeated(_ restarted: Bool) {
        let talk = Self.asked(.e2)
        Self.decide(talk)
        talk.close(1006)
        talk.pass(2)
        if restarted { talk.gatewayBegan = talk.now }
        talk.goLive()
        Self.nothingIsOpen(talk)
        // The gateway restarted without listing the approval, so the bridge must not decide it.
        #expect(talk.methods.contains("exec.approval.resolve") == !restarted)
        if restarted {
            #expect(talk.observations.contains(.settled("ap-1", .gone)))
            return
        }
        talk.clear()
        talk.answer(
            "exec.approval.resolve", nil,
            error: #"{"code":"INVALID_REQUEST","message":"unknown or expired approval id"}"#)
        #expect(talk.observations == [.settled("ap-1", .decided(.approve))])
    }

    @Test("an approval is told under the core's own name of its session", arguments: ["Phone-1", "AGENT:main:phone-1"])
    func sessionName(_ name: String) {
        let talk = Talk(era: .e3)
        talk.goLive()
        talk.command(.lookUp(session: AgentSession(name), run: RunID("r")))
        talk.clear()
        talk.event("exec.approval.requested", Self.request(talk))
        guard case .signal(let signal)? = talk.observations.first else {
            Issue.record("no request")
            return
        }
        #expect(signal.session == AgentSession(name))
    }

    @Test(
        "early gateways end the run that asks: its approval is told as one that pauses a call",
        arguments: [GatewayEra.e1, .e2, .e3])
    func detached(_ era: GatewayEra) {
        let talk = Self.live(era)
        talk.event(
            "agent",
            """
            {"runId":"r1","seq":4,"stream":"tool","sessionKey":"\(Talk.key)",\
            "data":{"phase":"start","name":"exec","toolCallId":"c1","args":{"command":"ls"}}}
            """)
        talk.clear()
        talk.event("exec.approval.requested", Self.request(talk))
        guard era != .e3 else {
            #expect(talk.observations.count == 1)
            return
        }
        let paused = RunEvent.paused(PausedCall(call: ToolCallID("c1"), approval: ApprovalID("ap-1")))
        #expect(talk.observations.first == .said("r1", paused))
    }

    @Test(
        "a decision that is not answered is asked again until its approval has expired",
        arguments: [GatewayEra.e2, .e4])
    func deafToDecisions(_ era: GatewayEra) {
        let talk = Self.live(era)
        talk.event("exec.approval.requested", Self.request(talk, seconds: 1_000))
        talk.clear()
        Self.decide(talk)
        for _ in 0..<90 {
            talk.pass(10)
            talk.event("tick", "{}")
        }
        #expect((10...20).contains(talk.sent.count { $0.method.hasSuffix("approval.resolve") }))
        #expect(!talk.observations.contains { $0.settles })
        for _ in 0..<20 {
            talk.pass(10)
            talk.event("tick", "{}")
        }
        #expect(talk.observations.filter { $0.settles } == [.settled("ap-1", .expired)])
    }

    @Test("a stop's refusal takes the place of a yes without an answer, on the next link too")
    func replaced() {
        let talk = Self.asked(.e3)
        Self.decide(talk)
        Self.decide(talk, "ap-1", .deny)
        Self.decide(talk, "ap-1", .deny)
        #expect(talk.sent.map(\.params.decision) == ["allow-once", "deny"])
        talk.close(1006)
        talk.pass(2)
        talk.clear()
        talk.goLive()
        let again = talk.allSent.filter { $0.method == "exec.approval.resolve" }.map(\.params.decision)
        #expect(again == ["allow-once", "deny", "deny"])
    }

    @Test("the answer to a yes that was replaced is not the refusal's")
    func lateAnswer() {
        let talk = Self.asked(.e3)
        Self.decide(talk)
        let first = talk.sent.last?.id ?? ""
        Self.decide(talk, "ap-1", .deny)
        talk.answer(id: first, #"{"ok":true}"#)
        #expect(talk.observations == [])
        talk.answer("exec.approval.resolve", #"{"ok":true}"#)
        #expect(talk.observations == [.settled("ap-1", .decided(.deny))])
    }

    @Test(
        "an always with a limit is granted once, whatever the limit is called",
        arguments: [
            (nil, "allow-always"), ("all", "allow-always"), ("session", "allow-once"), ("tool", "allow-once"),
            ("domain", "allow-once"), ("planet", "allow-once"), ("", "allow-once"),
        ] as [(String?, String)])
    func scoped(_ scope: String?, _ word: String) {
        let talk = Self.asked(.e4)
        talk.command(
            .resolve(
                approval: ApprovalID("ap-1"), subject: .exec, decision: .approveAlways,
                scope: DecisionScope(name: scope)))
        #expect(talk.sent.last?.params.decision == word)
    }

    @Test("a decision of an earlier process has its own age", arguments: [nil, 400] as [Double?])
    func adoptedLate(_ expires: Double?) {
        let talk = Talk(era: .e3)
        talk.session.adopt(
            .approve, of: ApprovalID("ap-1"), subject: .exec, sentAtMilliseconds: talk.wall - 5_000,
            expiresAt: expires.map { talk.now + .milliseconds(Int64($0)) }, fingerprint: AskFingerprint("f"),
            at: talk.now, wallMilliseconds: talk.wall)
        talk.pass(1)
        talk.goLive()
        Self.nothingIsOpen(talk)
        #expect(talk.allSent.contains { $0.method == "exec.approval.resolve" } == (expires == nil))
    }

    @Test("a decision of an earlier process is sent again, and \"unknown\" means that it had arrived")
    func adopted() {
        let talk = Talk(era: .e2)
        talk.session.adopt(
            .deny, of: ApprovalID("ap-1"), subject: .exec, sentAtMilliseconds: talk.wall - 5_000, at: talk.now,
            wallMilliseconds: talk.wall)
        talk.goLive()
        talk.answer(
            "exec.approval.resolve", nil,
            error: #"{"code":"INVALID_REQUEST","message":"unknown or expired approval id"}"#)
        #expect(talk.observations.last == .settled("ap-1", .decided(.deny)))
    }
}

extension String {
    /// The decision in a request's parameters.
    fileprivate var decision: String {
        ["allow-once", "allow-always", "deny"].first { contains("\"decision\":\"\($0)\"") } ?? "?"
    }
}

extension Observation {
    fileprivate var settles: Bool {
        if case .signal(let signal) = self, case .approvalSettled = signal.event { true } else { false }
    }
}
