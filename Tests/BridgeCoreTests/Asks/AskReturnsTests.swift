import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Which card of an ask comes next, and when")
struct AskReturnsTests {
    private let id = ApprovalID("a1")
    private let second = ApprovalID("a1-ask-2")

    private func posted(_ orders: [TurnOrder]) -> [ApprovalCard] {
        orders.compactMap { if case .post(.approval(let card)) = $0 { card } else { nil } }
    }

    private func text(_ orders: [TurnOrder]) -> String {
        orders.map { if case .post(.text(let text)) = $0 { text } else { "" } }.joined()
    }

    /// An ask that the agent opens at 0 s, the phone shows at 1 s, and the relay closes at 300 s.
    private func unanswered(expiresAt: Instant? = nil, reason: String = "expired") -> Turn {
        var turn = Make.asking(detached: false, expiresAt: expiresAt)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(1))
        _ = turn.decided(id, .deny, reason: reason, at: .at(300))
        return turn
    }

    @Test("Cards that a person brought back do not count among those that come by themselves")
    func broughtBack() {
        var turn = unanswered()
        for number in 2...4 {
            let now = Double(number) * 1_000
            _ = turn.askAgain(id, at: .at(now - 800))
            #expect(turn.approvals.approvals[id]?.cards.life.number == number)
            let card = ApprovalID("a1-ask-\(number)")
            _ = turn.reported(.delivered(.approval(card), message: nil), at: .at(now - 800))
            // The first two come when due by themselves, the third one earlier.
            _ = turn.decided(card, .deny, reason: "expired", at: .at(now - 700))
            let minutes: Double = number == 2 ? 15 : 60
            #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(now - 700 + minutes * 60), "\(number)")
        }
    }

    @Test("A card that a person brought back early leaves the next return at five minutes")
    func broughtBackEarly() {
        var turn = unanswered()
        _ = turn.askAgain(id, at: .at(310))
        _ = turn.decided(second, .deny, reason: "expired", at: .at(400))
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(700))
        #expect(turn.openAsks.map(\.cards) == [2])
    }

    @Test("Another ask under the id returns as a first one does, and is denied where the relay shows none of its cards")
    func anotherFromTheBeginning() {
        var turn = Make.asking(detached: false)
        var other = Make.request()
        other.command = "rm x"
        _ = turn.on(.approvalRequested(other), at: 1)
        #expect(turn.openAsks.map(\.cards) == [0], "the relay took none yet")
        var shown = turn
        _ = shown.reported(.delivered(.approval(second), message: nil), at: .at(2))
        _ = shown.decided(second, .deny, reason: "expired", at: .at(100))
        #expect(shown.approvals.approvals[id]?.cards.life.dueAt == .at(400))
        #expect(shown.returnable(isAskedFor: false, at: .at(101)).count == 1, "none came back yet")
        _ = turn.reported(.refused(.approval(second), PostRefusal(.invalidRequest)), at: .at(2))
        _ = turn.reported(.refused(.approval(second), PostRefusal(.invalidRequest)), at: .at(3))
        let orders = turn.reported(.refused(.approval(second), PostRefusal(.invalidRequest)), at: .at(4))
        #expect(orders.contains(Make.resolve(.deny)))
    }

    @Test("A return that the hour's limit puts off is none that an ask had not: nothing is added")
    func postponed() {
        var turn = unanswered()
        _ = turn.askLater(id, at: .at(4_000))
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(4_000))
        for now in [4_000.0, 6_000, 11_000] {
            let card = posted(turn.askAgain(id, at: .at(now))).first?.approval ?? id
            _ = turn.decided(card, .deny, reason: "expired", at: .at(now + 100))
        }
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == nil)
        _ = turn.askLater(id, at: .at(20_000))
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == nil)
    }

    @Test("A yes of the relay's own is none, says so, and leaves the ask waiting")
    func allowedByRelay() {
        var turn = Make.asking(detached: false)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(1))
        let orders = turn.decided(id, .approve, reason: "auto_approved", at: .at(300))
        #expect(orders.contains(.note(.askUnanswered)))
        #expect(text(orders).contains(Sentences.allowedByRelay(reason: "auto_approved")))
        #expect(!orders.contains { if case .command = $0 { true } else { false } })
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(600))
        #expect(posted(turn.askAgain(id, at: .at(301))).map(\.approval) == [second])

        var settings = TurnSettings()
        settings.asks.whenUnanswered = .deny
        turn = Make.running(settings)
        _ = turn.on(.approvalRequested(Make.request()))
        let denied = AgentCommand.resolve(approval: id, subject: .exec, decision: .deny, isUnanswered: true)
        #expect(
            turn.decided(id, .approve, reason: "auto", at: .at(1)) == [.note(.decisionNotForwarded), .command(denied)])
    }

    @Test("A card that the relay never had spends none of the returns, however long the relay is away")
    func relayAway() {
        var turn = unanswered()
        for hour in 1...9 {
            let card = posted(turn.askAgain(id, at: .at(Double(hour) * 3_600))).first?.approval ?? id
            #expect(card == ApprovalID("a1-ask-\(hour + 1)"))
            #expect(turn.reported(.deadLetter(.approval(card)), at: .at(Double(hour) * 3_600 + 1_800)) == [])
            #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(Double(hour) * 3_600 + 2_100))
        }
        #expect(turn.openAsks.map(\.cards) == [1])
        #expect(turn.openAsks.map(\.ended) == [1])
    }

    @Test("A card that was taken in its least form alone comes back in it")
    func leastComesBack() {
        var turn = Make.asking(detached: false)
        func refuse(_ card: ApprovalID, at now: Double) -> ApprovalCard? {
            for _ in 0..<2 {
                let orders = turn.reported(.refused(.approval(card), PostRefusal(.invalidRequest)), at: .at(now))
                if case .replace(.approval(let next), _)? = orders.first, next.command == nil { return next }
            }
            return nil
        }
        #expect(refuse(id, at: 1) != nil)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(2))
        _ = turn.decided(id, .deny, reason: "expired", at: .at(300))
        #expect(posted(turn.askAgain(id, at: .at(600))).first?.command == "ls")
        #expect(refuse(second, at: 601)?.approval == second)
    }

    @Test("A run is not given up while it asks a person")
    func abandoned() {
        var settings = TurnSettings()
        settings.asks.patience = .seconds(24 * 3_600)
        var turn = Make.running(settings)
        _ = turn.deadlineHit(at: .at(1_740))
        _ = turn.on(.approvalRequested(Make.request()), at: 7_200)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(7_201))
        for hour in 3...25 { _ = turn.deadlineHit(at: .at(Double(hour) * 3_600)) }
        #expect(turn.outcome == nil && turn.approvals.isOpen(id))
        let orders = turn.deadlineHit(at: .at(26 * 3_600 + 1))
        let denial = AgentCommand.resolve(approval: id, subject: .exec, decision: .deny, isUnanswered: true)
        #expect(orders.contains(.command(denial)))
        #expect(turn.nextDeadline.map { $0 <= .at(27 * 3_600 + 1) } == true)
    }

    @Test("A card whose key is gone is no denial where one was on the phone")
    func keyGone() {
        var turn = unanswered()
        _ = turn.askAgain(id, at: .at(600))
        var refusal = PostRefusal(.other("key_gone"))
        refusal.lacksKey = true
        let orders = turn.reported(.refused(.approval(second), refusal), at: .at(601))
        #expect(!orders.contains { if case .command = $0 { true } else { false } }, "\(orders)")
        #expect(turn.approvals.isOpen(id))
    }

    @Test("A relay that has something else under every name is asked under a few, then the ask is told and denied")
    func conflicts() {
        var turn = Make.asking(detached: false)
        var (card, names) = (id, [id])
        for _ in 0..<10 {
            let orders = turn.reported(.refused(.approval(card), PostRefusal(.idempotencyConflict)), at: .at(1))
            guard case .replace(.approval(let next), _)? = orders.first else {
                #expect(orders.contains(Make.resolve(.deny)))
                break
            }
            (card, names) = (next.approval, names + [next.approval])
        }
        #expect(names.count == 6)
        #expect(turn.bubble.closingLines.first?.contains("ls") == true)
    }

    @Test("Conflicts use up no return, and an ask that was on the phone waits")
    func conflictsLater() {
        var turn = unanswered()
        var card = posted(turn.askAgain(id, at: .at(301))).first?.approval ?? id
        var last: [TurnOrder] = []
        for _ in 0..<10 {
            last = turn.reported(.refused(.approval(card), PostRefusal(.idempotencyConflict)), at: .at(302))
            guard case .replace(.approval(let next), _)? = last.first else { break }
            card = next.approval
        }
        #expect(last == [.skip])
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(602))
        #expect(turn.approvals.isOpen(id))
    }
}
