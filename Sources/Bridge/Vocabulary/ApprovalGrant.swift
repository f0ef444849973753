/// Reach of an `approveAlways`, in the relay's words (relay.md#others): `session`, `domain`, `tool`, `all`, and its value.
package struct DecisionScope: Hashable, Sendable {
    /// Nil if the person set no limit.
    package var name: String?
    package var value: String?

    package static let unscoped = Self()
    package static let session = Self(name: "session")

    package init(name: String? = nil, value: String? = nil) {
        self.name = name
        self.value = value
    }

    /// Whether a permanent grant is within the scope. A name of a later relay counts as narrow.
    package var coversAll: Bool { name == nil || name == "all" }
    package var coversSession: Bool { coversAll || name == "session" }
}

/// Grants that an agent accepts beyond "yes, this once".
package struct GrantAbilities: Hashable, Sendable {
    package var session: Bool
    package var permanent: Bool

    package init(session: Bool = false, permanent: Bool = true) {
        self.session = session
        self.permanent = permanent
    }
}

/// A person's decision as a grant to an agent: the widest one that the agent supports and that is not wider than the decision.
package struct ApprovalGrant: Hashable, Sendable {
    package var decision: ApprovalDecision
    /// Scope of `approveAlways`: unlimited, or `session`.
    package var scope: DecisionScope
    /// Less than the person said, though a yes.
    package var isNarrowed: Bool

    package init(_ decision: ApprovalDecision, scope: DecisionScope = .unscoped, isNarrowed: Bool = false) {
        self.decision = decision
        self.scope = scope
        self.isNarrowed = isNarrowed
    }

    /// `allowed` are the agent's decisions for this approval, or nil for all.
    package static func widest(
        _ decision: ApprovalDecision, _ scope: DecisionScope, abilities: GrantAbilities,
        allowed: Set<ApprovalDecision>? = nil
    ) -> Self {
        func takes(_ decision: ApprovalDecision) -> Bool { allowed?.contains(decision) ?? true }
        switch decision {
        case .deny: return Self(.deny)
        // A yes for this once must not become a permanent one.
        case .approve: return Self(takes(.approve) ? .approve : .deny)
        case .approveAlways:
            if scope.coversAll, abilities.permanent, takes(.approveAlways) { return Self(.approveAlways) }
            guard takes(.approve) else { return Self(.deny) }
            guard scope.coversSession, abilities.session, takes(.approveAlways) else {
                return Self(.approve, isNarrowed: true)
            }
            return Self(.approveAlways, scope: .session, isNarrowed: scope.coversAll)
        }
    }
}
