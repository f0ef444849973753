import RelayRules
import Vocabulary

#if PLANTED_FAULTS
    /// Asks of the agent with their cards and taps, as they passed the edges of one side.
    struct FaultyAsks {
        /// Asks without an end, oldest first.
        private var open: [ApprovalRequest] = []
        private var known: [ApprovalID: ApprovalRequest] = [:]
        private var allowed: Set<ApprovalID> = []
        /// Newest card of an ask, by the name of its first.
        private var cards: [String: RawRequest] = [:]
        /// Last tap on a card of the ask. True for yes.
        private var taps: [String: Bool] = [:]
        var refused: [String: Exchange] = [:]
        /// When the relay received the newest card of an ask.
        var shownAt: [ApprovalID: Instant] = [:]
        /// When the person last wrote.
        var wroteAt: Instant?
        /// Chats with a Stop.
        var stopped: Set<String> = []

        var newest: ApprovalRequest? { open.last }
        var oldest: ApprovalRequest? { open.first }

        mutating func note(_ event: RunEvent) {
            switch event {
            case .approvalRequested(let request):
                known[request.id] = known[request.id] ?? request
                if !open.contains(where: { $0.id == request.id }) { open.append(request) }
            case .approvalSettled(let settlement):
                switch settlement.outcome {
                case .decided, .expired, .unknown, .cancelled: open.removeAll { $0.id == settlement.id }
                case .inDoubt, .gone: break
                }
            default: break
            }
        }

        /// The first ask under this name.
        func first(_ request: ApprovalRequest) -> ApprovalRequest { known[request.id] ?? request }

        static func base(_ card: String) -> String {
            card.firstRange(of: "-ask-").map { String(card[..<$0.lowerBound]) } ?? card
        }

        // MARK: Cards

        mutating func asked(_ request: RawRequest, at now: Instant) {
            guard let card = request.json.member("approval_id") else { return }
            cards[Self.base(card)] = request
            shownAt[ApprovalID(Self.base(card))] = now
        }

        /// The chat's card again under its next name, once for each Stop.
        mutating func cardAfterStop(in session: String, pending: [PhoneApproval]) -> RawRequest? {
            guard stopped.contains(session),
                let card = cards.first(where: { $0.value.json.member("session_id") == session })?.value,
                !pending.contains(where: { $0.session == session })
            else { return nil }
            stopped.remove(session)
            var json = card.json
            json.change("approval_id") { "\(Self.base($0))-ask-9" }
            json.change("idempotency_key") { "\($0)-b" }
            return card.with(json)
        }

        mutating func tapped(_ json: inout CompactJSON, _ fault: PlantedFault) {
            guard let card = json.member("approval_id"), let decision = json.member("decision") else { return }
            taps[Self.base(card)] = decision != "deny"
            guard fault == .oldCardTaken, let newest = cards[Self.base(card)]?.json.member("approval_id") else {
                return
            }
            json.change("approval_id") { _ in newest }
        }

        // MARK: Decisions

        /// Nil if the agent does not hear the command.
        mutating func changed(_ command: AgentCommand, _ fault: PlantedFault?) -> AgentCommand? {
            guard case .resolve(let id, let subject, let decision, let scope, let isUnanswered, _, _) = command
            else { return command }
            if decision != .deny { allowed.insert(id) }
            switch fault {
            case .fingerprintForgotten:
                return .resolve(
                    approval: id, subject: subject, decision: decision, scope: scope, isUnanswered: isUnanswered)
            case .cutAllowed where decision == .deny && taps[id.text] == true:
                return .resolve(approval: id, subject: subject, decision: .approve, shown: fingerprint(id))
            case .allowRepeated where decision == .deny && allowed.contains(id): return nil
            default: return command
            }
        }

        private func fingerprint(_ id: ApprovalID) -> AskFingerprint? { known[id].map { AskFingerprint(of: $0) } }
    }
#endif
