import AgentKit
import JSONReading
package import Vocabulary

// Decisions on their way to the gateway (openclaw.md#approvals, openclaw.md#others).
extension OpenClawSession {
    mutating func resolve(
        _ approval: ApprovalID, _ subject: ApprovalRequest.Subject, _ decision: ApprovalDecision,
        _ scope: DecisionScope, shown: AskFingerprint?, at now: Instant
    ) {
        let decision = Self.grantable(decision, scope)
        // The same decision is in flight; its answer is still to come.
        if let known = approvals[approval], known.errand == .asked, known.decision == decision { return }
        // A later decision about the same question (a stop denies) replaces the earlier one, also on the next link.
        guard approvals.hasRoom(for: approval) else { return settle(approval, .unknown) }
        let expiresAt = approvals.expiresAt(approval, at: now)
        guard
            approvals.keep(
                .init(
                    decision, on: subject, expiresAt: expiresAt, fingerprint: decision == .deny ? nil : shown),
                about: approval)
        else {
            // The decision is for another question of this name, which the core hears about from its own frame.
            if shown == nil { settle(approval, .unknown) }
            return
        }
        if isLive { sendDecision(approval, at: now) }
    }

    mutating func sendDecision(_ approval: ApprovalID, at now: Instant) {
        guard let kept = approvals[approval], let gateway else { return }
        if kept.expiresAt <= now { return settle(approval, .expired) }
        if gateway.grants("operator.approvals") == false {
            orders.append(
                .note(.missingScopes(["operator.approvals"], remedy: scopeRemedy(["operator.approvals"]))))
            return settle(approval, .unknown)
        }
        if approvals.waitsForList(approval), gateway.offers("exec.approval.list") {
            return awaitList(approval, at: now)
        }
        approvals.asked(approval, at: now)
        let isPlugin = kept.subject == .plugin || approval.text.hasPrefix("plugin:")
        var params = JSONObjectWriter()
        params.string("id", approval.text)
        // The newer method knows earlier decisions and reports them. It alone gets `kind`, since the schemas are closed.
        if gateway.offers("approval.resolve") {
            params.string("kind", isPlugin ? "plugin" : "exec")
            params.string("decision", Self.word(kept.decision))
            return ask(.resolve(approval, kept.decision), "approval.resolve", params.finish(), at: now)
        }
        params.string("decision", Self.word(kept.decision))
        ask(
            .resolve(approval, kept.decision), isPlugin ? "plugin.approval.resolve" : "exec.approval.resolve",
            params.finish(),
            at: now)
    }

    /// Waits for the list of open questions. A gateway without lists never shows an
    /// open question again: there the name alone identifies it.
    private mutating func awaitList(_ approval: ApprovalID, at now: Instant) {
        if requests.count(of: .approvals) == 0 {
            approvals.lacksList = false
            listApprovals(at: now)
        }
        approvals.putOff(approval, until: now + GatewayApprovals.listPause)
    }

    /// Settles questions that died with their process, and sends the decisions that waited for the lists.
    mutating func listsCame(at now: Instant) {
        guard requests.count(of: .approvals) == 0, !approvals.lacksList else { return }
        withdrawDead()
        for approval in approvals.listsCame() { sendDecision(approval, at: now) }
    }

    /// An answer to a decision that was replaced meanwhile is dropped.
    mutating func resolveAnswered(
        _ approval: ApprovalID, _ decision: ApprovalDecision, _ payload: FrameNode?, _ error: Refusal?, at now: Instant
    ) {
        guard let kept = approvals.awaited(approval, as: decision) else { return }
        if let error {
            if error.isRetryable, error.code == "UNAVAILABLE" {
                let pause = kept.tries < Self.triesLimit + 2 ? Duration.seconds(2) : Self.deafPause
                return approvals.putOff(approval, until: now + (error.retryAfter ?? pause))
            }
            let outcome = Self.outcome(of: error, isLate: kept.expiresAt <= now)
            // Gateways that do not recognise a repeated decision call it unknown:
            // the first try had arrived (openclaw.md#others).
            if outcome == .unknown, kept.tries > 1, wasAskedOfThisProcess(kept) {
                return settle(approval, .decided(kept.decision))
            }
            return settle(approval, outcome == .unknown && wasAskedOfAnother(kept) ? .gone : outcome)
        }
        if payload?["applied"]?.flag == false {
            return settle(approval, Self.outcome(recorded: payload?["approval"]))
        }
        // A slow socket may miss the broadcast of this settlement; the core accepts it twice.
        settle(approval, .decided(kept.decision))
    }

    /// Whether the current process got the decision before; open questions die with their process.
    private func wasAskedOfThisProcess(_ kept: GatewayApprovals.Decision) -> Bool {
        guard let askedAt = kept.askedAt, let began = gateway?.startedBefore else { return false }
        return began <= askedAt
    }

    private func wasAskedOfAnother(_ kept: GatewayApprovals.Decision) -> Bool {
        guard let askedAt = kept.askedAt, let began = gateway?.startedAfter else { return false }
        return began > askedAt
    }

    /// A gateway that does not answer is asked again until it does, or until the approval expires.
    mutating func resolveUnanswered(_ approval: ApprovalID, _ decision: ApprovalDecision, at now: Instant) {
        guard let kept = approvals.awaited(approval, as: decision) else { return }
        if kept.tries < Self.triesLimit { return sendDecision(approval, at: now) }
        approvals.putOff(approval, until: now + Self.deafPause)
    }

    /// Settles questions that died with the process that raised them
    /// (openclaw.md#approvals). A sent decision may have reached that process.
    mutating func withdrawDead() {
        guard requests.count(of: .approvals) == 0 else { return }
        for approval in approvals.takeDead() {
            settle(approval, approvals[approval]?.askedAt == nil ? .cancelled : .gone)
        }
    }

    mutating func settle(_ approval: ApprovalID, _ outcome: ApprovalSettlement.Outcome) {
        forget(approval)
        observed([
            .signal(
                RunSignal(
                    run: nil, session: nil, event: .approvalSettled(ApprovalSettlement(id: approval, outcome: outcome)))
            )
        ])
    }

    /// Grants that `allow-once` and `allow-always` express; the gateway has none for a session, a domain or a tool.
    package static let abilities = GrantAbilities(session: false, permanent: true)

    static func grantable(_ decision: ApprovalDecision, _ scope: DecisionScope) -> ApprovalDecision {
        ApprovalGrant.widest(decision, scope, abilities: abilities).decision
    }

    static func word(_ decision: ApprovalDecision) -> String {
        switch decision {
        case .approve: "allow-once"
        case .approveAlways: "allow-always"
        case .deny: "deny"
        }
    }

    /// Old gateways answer "unknown or expired" to both cases; our own clock then decides.
    private static func outcome(of error: Refusal, isLate: Bool) -> ApprovalSettlement.Outcome {
        let why = [error.detail, error.reason].compactMap { $0?.lowercased() }.joined(separator: " ")
        return isLate || why.contains("expired") ? .expired : .unknown
    }

    /// The outcome of the decision that came first.
    private static func outcome(recorded approval: FrameNode?) -> ApprovalSettlement.Outcome {
        if let decision = OpenClawDecoder.decision(approval?["decision"]) { return .decided(decision) }
        return switch approval?["status"]?.string {
        case "allowed": .decided(.approve)
        case "denied": approval?["reason"]?.holds("timeout") == true ? .expired : .decided(.deny)
        case "expired": .expired
        case "cancelled": .cancelled
        default: .unknown
        }
    }
}
