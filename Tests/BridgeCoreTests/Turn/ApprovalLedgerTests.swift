import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The approvals of a turn")
struct ApprovalLedgerTests {
    private let id = ApprovalID("a1")
    private var approvals = ApprovalLedger()

    private mutating func ask(_ request: ApprovalRequest = Make.request(), stopping: Bool = false)
        -> ApprovalLedger.Asked
    { approvals.asked(request, stopping: stopping) }

    @Test("asked once, decided once")
    mutating func once() {
        guard case .ask(let card) = ask() else { return #expect(Bool(false), "not asked") }
        #expect(card.action == "shell.exec")
        #expect(ask() == .known)
        #expect(
            approvals.decided(id, .approve, agentAway: false, at: .zero)
                == .forward(.exec, ApprovalGrant(.approve), shown: AskFingerprint(of: Make.request()), detached: false))
        #expect(approvals.decided(id, .deny, agentAway: false, at: .zero) == .ignored)
        #expect(approvals.settled(ApprovalSettlement(id: id, outcome: .decided(.approve))) == .confirmed)
        #expect(approvals.settled(ApprovalSettlement(id: id, outcome: .decided(.approve))) == .ignored)
    }

    @Test("a card is never without words", arguments: ["", " \n"])
    mutating func words(message: String) {
        var request = Make.request()
        request.message = message
        guard case .ask(let card) = ask(request) else { return #expect(Bool(false), "not asked") }
        #expect(card.message == "Run ls?")
        request = ApprovalRequest(id: ApprovalID("a2"), subject: .dialog, title: "", message: message)
        guard case .ask(let bare) = ask(request) else { return #expect(Bool(false), "not asked") }
        #expect(bare.message == "Approval needed")
        #expect(bare.action == "plugin.invoke")
    }

    @Test("what nobody could approve is refused visibly, and what comes after a stop silently")
    mutating func refused() {
        #expect(ask(Make.request(allowed: [.deny])) == .refuseVisibly(.exec))
        #expect(approvals.decided(id, .approve, agentAway: false, at: .zero) == .ignored)
        approvals = ApprovalLedger()
        #expect(ask(stopping: true) == .refuseSilently(.exec))
        #expect(!approvals.isForPerson(id))
    }

    @Test("a card is before a person until it is refused, and what the person decided stays the person's")
    mutating func before() {
        #expect(!approvals.isForPerson(id))
        _ = ask()
        #expect(approvals.isForPerson(id))
        _ = approvals.refuse(id, agentAway: false, at: .zero)
        #expect(!approvals.isForPerson(id))
        approvals = ApprovalLedger()
        _ = ask()
        _ = approvals.decided(id, .deny, agentAway: false, at: .zero)
        #expect(approvals.isForPerson(id))
        _ = approvals.settled(ApprovalSettlement(id: id, outcome: .expired))
        #expect(!approvals.isForPerson(id))
    }

    @Test("a decision made while the agent is away leaves when it is back, once")
    mutating func owed() {
        _ = ask()
        #expect(
            approvals.decided(id, .approve, agentAway: true, at: .zero)
                == .keep(ApprovalGrant(.approve), detached: false))
        #expect(
            approvals.takeOwed()
                == [
                    ApprovalLedger.Decision(
                        approval: id, subject: .exec, decision: .approve, decidedAt: .zero,
                        fingerprint: AskFingerprint(of: Make.request()))
                ])
        #expect(approvals.takeOwed() == [])
    }

    @Test("a stop denies what is open and what the agent was not told")
    mutating func denied() {
        _ = ask()
        _ = approvals.decided(id, .approve, agentAway: true, at: .zero)
        _ = ask(ApprovalRequest(id: ApprovalID("a2"), subject: .plugin, title: "b"))
        #expect(
            approvals.denyOpen(at: .at(9))
                == [
                    ApprovalLedger.Decision(approval: id, subject: .exec, decision: .deny, decidedAt: .at(9)),
                    ApprovalLedger.Decision(
                        approval: ApprovalID("a2"), subject: .plugin, decision: .deny, decidedAt: .at(9)),
                ])
        #expect(approvals.denyOpen(at: .at(9)) == [])
        #expect(approvals.takeOwed() == [])
    }

    @Test("a stop denies what was approved and not confirmed, and leaves alone what was")
    mutating func deniedInFlight() {
        _ = ask()
        _ = ask(ApprovalRequest(id: ApprovalID("a2"), subject: .exec, title: "b"))
        _ = approvals.decided(id, .approve, agentAway: false, at: .zero)
        _ = approvals.decided(ApprovalID("a2"), .approve, agentAway: false, at: .zero)
        _ = approvals.settled(ApprovalSettlement(id: ApprovalID("a2"), outcome: .decided(.approve)))
        #expect(approvals.stands(.approve, of: id, shown: AskFingerprint(of: Make.request())))
        #expect(approvals.denyOpen(at: .at(9)).map(\.approval) == [id])
        #expect(approvals.forwarded.map(\.decision) == [.deny])
        #expect(!approvals.stands(.approve, of: id, shown: AskFingerprint(of: Make.request())))
    }

    @Test("a decision knows its own age, and when the agent stops waiting for it")
    mutating func age() {
        _ = ask(Make.request(expiresAt: .at(4_000)))
        _ = approvals.decided(id, .approve, agentAway: false, at: .at(2_500))
        #expect(approvals.forwarded.map(\.decidedAt) == [.at(2_500)])
        #expect(approvals.forwarded.map(\.expiresAt) == [.at(4_000)])
    }

    @Test("the earliest expiry of those that are open counts")
    mutating func expiry() {
        _ = ask(Make.request(expiresAt: .at(120)))
        _ = ask(ApprovalRequest(id: ApprovalID("a2"), subject: .plugin, title: "b", expiresAt: .at(60)))
        #expect(approvals.nextExpiry == .at(60))
        #expect(approvals.due(at: .at(59)).isEmpty)
        #expect(approvals.due(at: .at(60)).map(\.id) == [ApprovalID("a2")])
        _ = approvals.decided(ApprovalID("a2"), .deny, agentAway: false, at: .zero)
        #expect(approvals.nextExpiry == .at(120))
        approvals.close()
        #expect(approvals.nextExpiry == nil)
    }

    @Test(
        "a follow-up is known by its whole id",
        arguments: [
            ("exec-approval-followup:a1", true), ("exec-approval-followup:a1:nonce:7", true),
            ("exec-approval-followup:a12", false), ("r1", false),
        ])
    mutating func followUps(run: String, expected: Bool) {
        #expect(!approvals.expects(RunID(run)))
        _ = ask()
        #expect(approvals.expects(RunID(run)) == expected)
    }

    @Test("a follow-up is awaited from a person's decision until it begins")
    mutating func awaited() {
        approvals.markDetached(id)
        #expect(approvals.awaitsFollowUp)
        _ = ask()
        #expect(!approvals.awaitsFollowUp)
        #expect(approvals.hasDetachedOpen)
        _ = approvals.decided(id, .deny, agentAway: false, at: .zero)
        #expect(!approvals.hasDetachedOpen)
        #expect(approvals.awaitsFollowUp)
        approvals.followUpBegan(RunID("exec-approval-followup:a1:nonce:7"))
        #expect(!approvals.awaitsFollowUp)
    }

    @Test("too many are refused")
    mutating func limit() {
        for number in 0..<ApprovalLedger.limit {
            _ = ask(ApprovalRequest(id: ApprovalID("n\(number)"), subject: .exec, title: "x"))
        }
        #expect(ask() == .refuseVisibly(.exec))
    }

    @Test("a decision that is sent again is not told as unknown where what comes of it has begun")
    mutating func repeated() {
        _ = ask()
        approvals.markDetached(id)
        approvals.followUpBegan(RunID("exec-approval-followup:a1"))
        _ = approvals.decided(id, .approve, agentAway: false, at: .zero)
        #expect(approvals.settled(ApprovalSettlement(id: id, outcome: .unknown)) == .confirmed)
    }
}
