/// The approvals that the bridge has asked for.
///
/// Invariants: an approval is in `open` while it has no decision, and in `settled` from then on; of the settled ones the
/// newest are kept, up to a limit; an approval is decided once.
struct AskedApprovals: Sendable {
    private var approvals: [String: PhoneApproval] = [:]
    /// Oldest first.
    private var open: [String] = []
    /// In the order in which they were decided.
    private var settled: [String] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Oldest first.
    var pending: [PhoneApproval] { open.compactMap { approvals[$0] } }

    subscript(id: String) -> PhoneApproval? { approvals[id] }

    func overdue(at now: Moment, after milliseconds: Int64) -> [String] {
        open.filter { id in approvals[id].map { now.milliseconds(since: $0.askedAt) > milliseconds } ?? false }
    }

    mutating func ask(_ approval: PhoneApproval) {
        approvals[approval.id] = approval
        open.append(approval.id)
    }

    /// The approval as it was asked; nil: there is none of this id that is open.
    mutating func settle(_ id: String, _ decision: String) -> PhoneApproval? {
        guard let approval = approvals[id], approval.decision == nil else { return nil }
        approvals[id]?.decision = decision
        open.removeAll { $0 == id }
        settled.append(id)
        while settled.count > limit { approvals[settled.removeFirst()] = nil }
        return approval
    }

    mutating func forget(session: String) {
        approvals = approvals.filter { $0.value.session != session }
        open.removeAll { approvals[$0] == nil }
        settled.removeAll { approvals[$0] == nil }
    }
}

// As a part of a relay's state.
extension AskedApprovals {
    func write(to state: inout JSONWriter) {
        state.array("approvals") { list in
            for id in settled + open {
                if let approval = approvals[id] { list.objectElement(approval.write) }
            }
        }
    }

    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("approvals") {
            let approval = try PhoneApproval(reader)
            guard approvals.updateValue(approval, forKey: approval.id) == nil else {
                throw reader.fault("id", "stands twice")
            }
            if approval.decision == nil { open.append(approval.id) } else { settled.append(approval.id) }
        }
    }
}
