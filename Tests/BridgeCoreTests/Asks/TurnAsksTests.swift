import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Asks that nobody answers, and asks that are other asks")
struct TurnAsksTests {
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

    @Test("An ask that shows nothing of what a yes runs is denied, whatever the person taps")
    func incomplete() {
        for subject in [ApprovalRequest.Subject.exec, .permission] {
            var request = Make.request()
            (request.subject, request.command, request.isIncomplete) = (subject, nil, true)
            var turn = Make.running()
            let cards = posted(turn.on(.approvalRequested(request)))
            #expect(cards.first?.title.hasPrefix(CardText.onlyDeniedUnsaid) == true)
            let orders = turn.decided(id, .approve, reason: nil, at: .at(1))
            let decisions = orders.compactMap { order -> ApprovalDecision? in
                if case .command(.resolve(_, _, let decision, _, _, _, _)) = order { decision } else { nil }
            }
            #expect(decisions == [.deny])
        }
    }

    // MARK: Unanswered

    @Test(
        "No answer is not a no: the ask stays open, and the bubble says so once",
        arguments: ["expired", "approval_expired", "Timeout", "card timeout"])
    func heldOpen(word: String) {
        var turn = Make.asking(detached: false)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(1))
        let orders = turn.decided(id, .deny, reason: word, at: .at(300))
        #expect(orders.first == .note(.askUnanswered))
        #expect(text(orders).contains(Sentences.nobodyAnswered))
        #expect(!orders.contains { if case .command = $0 { true } else { false } })
        #expect(turn.decided(id, .deny, reason: word, at: .at(301)) == [.note(.decisionNotForwarded)])
        #expect(turn.openAsks.map(\.isOnPhone) == [false])
        #expect(turn.bubble.closingLines == [])
    }

    @Test("With `deny` it is a denial, as a person's")
    func deniedByConfiguration() {
        var settings = TurnSettings()
        settings.asks.whenUnanswered = .deny
        var turn = Make.running(settings)
        _ = turn.on(.approvalRequested(Make.request()))
        #expect(turn.decided(id, .deny, reason: "expired", at: .at(1)) == [Make.resolve(.deny)])
    }

    @Test("The card comes back under a new name, and only its tap decides")
    func comesBack() {
        var turn = unanswered()
        let again = posted(turn.askAgain(id, at: .at(310)))
        #expect(again.map(\.approval) == [second])
        #expect(again.first?.command == "ls")
        #expect(turn.askAgain(id, at: .at(311)) == [], "it has a card")
        #expect(turn.decided(id, .approve, reason: nil, at: .at(312)) == [.note(.oldCardTapped)])
        #expect(turn.decided(id, .deny, reason: "expired", at: .at(312)) == [.note(.oldCardTapped)])
        #expect(turn.decided(second, .approve, reason: nil, at: .at(313)) == [Make.resolve(.approve)])
    }

    @Test("It comes back by itself 5, 15 and 60 minutes after the end of the card before, then no more")
    func byItself() {
        var turn = unanswered()
        var now = 300.0
        for minutes in [5.0, 15, 60] {
            let due = now + minutes * 60
            let orders1 = turn.deadlineHit(at: .at(due - 1))
            #expect(orders1.contains(.wantsCard(id)) == false)
            let orders2 = turn.deadlineHit(at: .at(due))
            #expect(orders2.contains(.wantsCard(id)))
            let card = posted(turn.askAgain(id, at: .at(due))).first
            now = due + 300
            let over = turn.decided(card?.approval ?? id, .deny, reason: "expired", at: .at(now))
            #expect(over.contains(.note(.askUnanswered)))
        }
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == nil)
    }

    @Test("A relay that never says that a card is over is not waited for")
    func silentRelay() {
        var turn = Make.asking(detached: false)
        _ = turn.reported(.delivered(.approval(id), message: nil), at: .at(1))
        let over = turn.deadlineHit(at: .at(1 + 1_860))
        #expect(over.contains(.note(.askUnanswered)))
        // The relay's late word finds nothing, and a late tap is the person's.
        #expect(turn.decided(id, .deny, reason: "expired", at: .at(1_900)) == [.note(.decisionNotForwarded)])
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1_901)) == [Make.resolve(.approve)])
    }

    @Test("Not in the last 30 seconds of the agent's own clock")
    func lastSeconds() {
        var turn = unanswered(expiresAt: .at(620))
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == nil, "at 600 it would live for 20 seconds")
        #expect(turn.returnable(isAskedFor: true, at: .at(589)).count == 1)
        #expect(turn.returnable(isAskedFor: true, at: .at(591)).isEmpty)
        _ = turn.deadlineHit(at: .at(620))
        #expect(turn.bubble.closingLines == [Sentences.approvalExpired])
    }

    @Test("The relay's limit is tried once more when the bucket has filled, then it is as unanswered")
    func limited() {
        var turn = unanswered(reason: "approval_limit")
        #expect(turn.approvals.approvals[id]?.cards.life.refilledAt == .at(305))
        #expect(posted(turn.askAgain(id, at: .at(305))).count == 1)
        _ = turn.decided(second, .deny, reason: "approval_limit", at: .at(306))
        #expect(turn.approvals.approvals[id]?.cards.life.refilledAt == nil)
        #expect(turn.approvals.approvals[id]?.cards.life.dueAt == .at(306 + 5 * 60), "none came by itself yet")
    }

    @Test("A sign of life within five minutes of one that brought it back brings nothing")
    func pause() {
        var turn = unanswered()
        #expect(turn.returnable(isAskedFor: false, at: .at(301)).count == 1)
        _ = turn.askAgain(id, at: .at(301))
        _ = turn.decided(second, .deny, reason: "expired", at: .at(400))
        #expect(turn.returnable(isAskedFor: false, at: .at(600)).isEmpty)
        #expect(turn.returnable(isAskedFor: true, at: .at(600)).count == 1)
        #expect(turn.returnable(isAskedFor: false, at: .at(601)).count == 1)
    }

    @Test("After a Stop nothing comes back")
    func stopped() {
        var turn = unanswered()
        let orders3 = turn.stopRequested(at: .at(310))
        #expect(orders3.contains(Make.resolve(.deny)))
        #expect(turn.askAgain(id, at: .at(311)) == [])
        #expect(turn.returnable(isAskedFor: true, at: .at(311)).isEmpty)
        #expect(turn.openAsks == [])
    }

    @Test("Nobody for as long as an ask is held: the agent is told that nobody answered")
    func givesUp() {
        var turn = unanswered()
        let orders = turn.deadlineHit(at: .at(12 * 3_600))
        let denial = AgentCommand.resolve(approval: id, subject: .exec, decision: .deny, isUnanswered: true)
        #expect(orders.contains(.command(denial)))
        let ends = orders.compactMap { if case .post(.end(let end)) = $0 { end.text } else { nil } }
        #expect(ends.first?.contains(Sentences.unansweredForGood) == true)
    }

    @Test("A card that could not be delivered comes again, and is no answer")
    func lost() {
        var turn = Make.asking(detached: false)
        #expect(turn.reported(.deadLetter(.approval(id)), at: .at(900)) == [])
        #expect(turn.openAsks.map(\.ended) == [0])
        #expect(posted(turn.askAgain(id, at: .at(901))).map(\.approval) == [second])
    }

    @Test("A relay that refuses the end of a card is asked without it, once learnt")
    func withoutEnd() {
        var turn = Make.asking(detached: false)
        let again = turn.reported(.refused(.approval(id), PostRefusal(.invalidRequest)), at: .at(1))
        guard case .replace(.approval(let card), _)? = again.first else { return #expect(Bool(false), "\(again)") }
        #expect(card.endsAfter == nil)
        #expect(card.command == "ls", "nothing else is left out")
        #expect(turn.reported(.delivered(.approval(id), message: nil), at: .at(2)) == [.endsAreRefused])
    }

    @Test("A card lives as long as the agent waits, and says until when")
    func until() {
        var settings = TurnSettings()
        settings.localTime = LocalTime(wallSeconds: 14 * 3600, secondsEast: 0, zone: "UTC", at: .zero)
        var turn = Make.running(settings)
        let card = posted(turn.on(.approvalRequested(Make.request(expiresAt: .at(300))))).first
        #expect(card?.endsAfter == .seconds(300))
        #expect(card?.message.contains("until 14:05 UTC") == true)
    }

    // MARK: Another ask

    @Test("Another command under a known id is another ask, and no decision of the first reaches it")
    func replaced() {
        var turn = Make.asking(detached: false)
        var other = Make.request()
        other.command = "rm -rf /"
        let cards = posted(turn.on(.approvalRequested(other), at: 1))
        #expect(cards.map(\.approval) == [second])
        #expect(cards.first?.command == "rm -rf /")
        #expect(turn.decided(id, .approve, reason: nil, at: .at(2)) == [.note(.oldCardTapped)])
        #expect(turn.bubble.closingLines == [Sentences.askReplaced])
        #expect(turn.decided(second, .deny, reason: nil, at: .at(3)) == [Make.resolve(.deny)])
    }

    @Test("A decision that waits for its record does not leave for another ask")
    func replacedBeforeItLeft() {
        var turn = Make.asking(detached: false)
        let shown = AskFingerprint(of: Make.request())
        let yes = AgentCommand.resolve(approval: id, subject: .exec, decision: .approve, shown: shown)
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1)) == [.command(yes)])
        #expect(turn.maySend(yes))
        var other = Make.request()
        other.facts.folder = "/elsewhere"
        _ = turn.on(.approvalRequested(other), at: 2)
        #expect(!turn.maySend(yes))
        _ = turn.decided(second, .approve, reason: nil, at: .at(3))
        #expect(!turn.maySend(yes), "the yes to the other one names that")
    }

    @Test("A name that an agent gives cannot be that of another ask's card")
    func forgedName() {
        var turn = unanswered()
        _ = turn.askAgain(id, at: .at(310))
        var forged = Make.request()
        forged.id = second
        forged.command = "rm -rf /"
        #expect(posted(turn.on(.approvalRequested(forged), at: 311)).map(\.approval) == [ApprovalID("a1-ask-2-ask-2")])
        #expect(
            turn.decided(second, .approve, reason: nil, at: .at(312)) == [Make.resolve(.approve)],
            "it is the card of a1")
    }

    @Test("A record that does not say what was shown takes no yes, and is asked anew")
    func unbound() {
        var turn = Make.asking(detached: false)
        turn.approvals.approvals[id]?.cards.fingerprint = nil
        #expect(turn.decided(id, .approve, reason: nil, at: .at(1)) == [.note(.decisionNotForwarded)])
        #expect(turn.bubble.closingLines == [Sentences.askedAnew])
        #expect(posted(turn.on(.approvalRequested(Make.request()), at: 2)).map(\.approval) == [second])
        #expect(turn.decided(second, .approve, reason: nil, at: .at(3)) == [Make.resolve(.approve)])
    }

    @Test("A yes in such a record that has not left is dropped with a line")
    func unboundDecision() {
        var turn = Make.asking(detached: false)
        _ = turn.agentLost(at: .at(1))
        _ = turn.decided(id, .approve, reason: nil, at: .at(2))
        turn.approvals.approvals[id]?.cards.fingerprint = nil
        let back = turn.agentBack(at: .at(3))
        #expect(!back.contains(Make.resolve(.approve)))
        #expect(turn.bubble.closingLines == [Sentences.decisionDropped])
        #expect(turn.approvals.isOpen(id))
    }

    // MARK: Cuts

    private func long(_ bytes: Int, _ id: String = "a1") -> ApprovalRequest {
        var request = Make.request()
        request.id = ApprovalID(id)
        request.command = String(repeating: "echo 'x' # y\n", count: bytes / 13 + 1)
        return request
    }

    @Test("What the relay takes goes on one card, whole", arguments: [16_001, 47_900])
    func oneCard(bytes: Int) {
        var turn = Make.running()
        let request = long(bytes)
        let card = posted(turn.on(.approvalRequested(request))).first
        #expect(card?.command == request.command)
        #expect(card?.message == "Run this command?")
        #expect(card?.severity == .medium)
    }

    @Test("What is longer goes out in parts before its card, which waits until the relay has all of them")
    func inParts() throws {
        var turn = Make.running()
        let request = long(100_000)
        #expect(turn.on(.approvalRequested(request)) == [.tellsInParts])
        let messages = turn.tellInParts(at: .at(1)).compactMap { order -> WholeMessage? in
            if case .post(.message(let said)) = order { said } else { nil }
        }
        #expect(messages.count == 1)
        let orders4 = turn.decided(id, .approve, reason: nil, at: .at(2))
        #expect(orders4.contains(Make.resolve(.approve)) == false)
        let card = try #require(
            posted(turn.reported(.delivered(.message(messages[0].part), message: nil), at: .at(3))).first)
        #expect(card.severity == .critical)
        #expect(card.title == "In 2 parts, read the message above first: Run a command")
        let told = messages.map { $0.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)[1] }
        #expect((card.command ?? "") + told.joined() == request.command)
        #expect(turn.decided(id, .approve, reason: nil, at: .at(4)) == [Make.resolve(.approve, of: request)])
    }

    @Test("A part that the relay will not have makes it an ask that can only be denied")
    func partRefused() throws {
        var turn = Make.running()
        _ = turn.on(.approvalRequested(long(100_000)))
        guard case .post(.message(let part))? = turn.tellInParts(at: .at(1)).first else {
            return #expect(Bool(false), "no part")
        }
        let orders = turn.reported(.refused(.message(part.part), PostRefusal(.contentBlocked)), at: .at(2))
        let card = try #require(posted(orders).first)
        #expect(card.title.hasPrefix("Can only be denied"))
        #expect(turn.decided(id, .approve, reason: nil, at: .at(3)) == [Make.resolve(.deny)])
        #expect(turn.bubble.closingLines == [Sentences.tooLongToAllow])
    }

    @Test("What is longer still can only be denied, and says so")
    func tooLong() {
        var turn = Make.running()
        let card = posted(turn.on(.approvalRequested(long(114_000)))).first
        #expect(card?.title == "Can only be denied, since it is too long to show: Run a command")
        #expect(turn.decided(id, .approveAlways, reason: nil, at: .at(1)) == [Make.resolve(.deny)])
        #expect(turn.bubble.closingLines == [Sentences.tooLongToAllow])
    }

    @Test("256 KB of parts in a turn, then asks can only be denied")
    func partsOfATurn() {
        var turn = Make.running()
        var denied = 0
        for number in 0..<8 {
            let orders = turn.on(.approvalRequested(long(100_000, "a\(number)")))
            denied += posted(orders).count { $0.title.hasPrefix("Can only be denied") }
        }
        #expect(turn.approvals.partBytes <= 262_144)
        #expect(denied == 3)
    }

    @Test("Parts that are sent again count too, then the ask can only be denied")
    func partsAgain() {
        var turn = Make.running()
        _ = turn.on(.approvalRequested(long(100_000)))
        var titles: [String] = []
        for number in 1...8 {
            var cards: [ApprovalCard] = []
            for order in turn.tellInParts(at: .at(Double(number) * 1_000)) {
                if case .post(.approval(let card)) = order { cards.append(card) }
                guard case .post(.message(let part)) = order else { continue }
                cards += posted(
                    turn.reported(.delivered(.message(part.part), message: nil), at: .at(Double(number) * 1_000)))
            }
            titles += cards.map(\.title)
            let name = cards.first?.approval ?? id
            _ = turn.reported(.delivered(.approval(name), message: nil), at: .at(Double(number) * 1_000 + 1))
            _ = turn.decided(name, .deny, reason: "expired", at: .at(Double(number) * 1_000 + 2))
            _ = turn.askAgain(id, at: .at(Double(number) * 1_000 + 900))
        }
        #expect(turn.approvals.partBytes <= ApprovalLedger.partLimit)
        #expect(titles.count == 8 && titles.prefix(3).allSatisfy { $0.hasPrefix("In 2 parts") })
        #expect(titles.last?.hasPrefix("Can only be denied") == true)
    }

    @Test("A long ask of which the agent does not say all keeps that in its title")
    func unsaidInParts() {
        var turn = Make.running()
        var request = long(100_000)
        request.isIncomplete = true
        _ = turn.on(.approvalRequested(request))
        #expect(turn.approvals.approvals[id]?.cards.card.title.hasPrefix(CardText.onlyDeniedUnsaid) == true)
    }

    @Test("The least card of a refusal keeps the command, or can only be denied")
    func least() {
        var request = Make.request()
        request.command = "rm x"
        request.message = "confirm x-ray import"
        var turn = Make.running()
        _ = turn.on(.approvalRequested(request))
        guard
            case .replace(.approval(let card), _)? = turn.reported(
                .refused(.approval(id), PostRefusal(.payloadTooLarge)), at: .at(1)
            ).first
        else { return #expect(Bool(false), "not asked again") }
        #expect(card.message == "confirm x-ray import\nrm x")
        turn = Make.running()
        _ = turn.on(.approvalRequested(long(20_000)))
        guard
            case .replace(.approval(let cut), _)? = turn.reported(
                .refused(.approval(id), PostRefusal(.payloadTooLarge)), at: .at(1)
            ).first
        else { return #expect(Bool(false), "not asked again") }
        #expect(cut.title.hasPrefix("Can only be denied"))
        #expect(turn.decided(id, .approve, reason: nil, at: .at(2)) == [Make.resolve(.deny)])
    }
}
