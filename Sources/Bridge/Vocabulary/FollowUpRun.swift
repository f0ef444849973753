// When an approval has ended the run that asked for it, another run brings what it had promised (openclaw.md#approvals, shape 1). Such a
// run is named by the approval: in the journal, and wherever the core looks for it. A machine whose agent names it otherwise translates.
extension Identifier where Kind == RunKind {
    private static var stem: String { "exec-approval-followup:" }

    /// The name of a follow-up run whose agent gives it none.
    package init(followUpOf approval: ApprovalID) { self.init(Self.stem + approval.text) }

    /// Of some approval.
    package var isFollowUp: Bool { text.utf8.starts(with: Self.stem.utf8) }

    /// Of this one: its name, and anything after a colon.
    package func follows(_ approval: ApprovalID) -> Bool {
        let name = Self.stem + approval.text
        return text == name || text.utf8.starts(with: "\(name):".utf8)
    }
}
