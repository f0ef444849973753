package import RelayRules

// The person's answers to approvals, and their expiry.
extension WorldSide {
    /// The relay ends open approvals that `isOver` selects.
    package func endsApprovals(
        reason: String? = nil, after: Duration, where isOver: @escaping (PhoneApproval) -> Bool = { _ in true }
    ) {
        time.after(after) { [self] in
            for approval in relay.pendingApprovals.filter(isOver) {
                relay.endApproval(approval.id, reason: reason, at: moment)
            }
            pump()
        }
    }

    func decideLater() {
        for approval in relay.pendingApprovals where !decided.contains(approval.id) {
            if !approval.title.isEmpty || approval.command != nil { approvalsInTheOpen.insert(approval.id) }
            let usual = decision.map { (tap: $0, scope: decisionScope, after: decisionTime) }
            guard let answer = decide.map({ $0(approval) }) ?? usual else { continue }
            decided.insert(approval.id)
            time.after(answer.after) { [self] in
                _ = relay.userDecides(approval: approval.id, answer.tap, scope: answer.scope, at: moment)
                pump()
            }
        }
    }
}
