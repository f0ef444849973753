// After an approval has ended the run that asked for it, another run brings the promised result (openclaw.md#approvals, shape 1). The
// journal and the core name such a run after the approval. A machine whose agent uses another name translates it.
extension Identifier where Kind == RunKind {
    private static var stem: String { "exec-approval-followup:" }

    /// The name of a follow-up run whose agent gives it none.
    package init(followUpOf approval: ApprovalID) { self.init(Self.stem + approval.text) }

    /// Whether the run follows any approval.
    package var isFollowUp: Bool { text.utf8.starts(with: Self.stem.utf8) }

    /// Whether the run follows this approval: its name, and anything after a colon.
    package func follows(_ approval: ApprovalID) -> Bool {
        let name = Self.stem + approval.text
        return text == name || text.utf8.starts(with: "\(name):".utf8)
    }
}
