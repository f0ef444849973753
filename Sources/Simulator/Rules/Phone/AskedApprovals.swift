/// The approvals that the bridge has requested.
///
/// Invariants: an approval is in `open` without a decision, and in `settled` with one; of the settled
/// ones the newest are kept, up to a limit; an approval is decided once.
struct AskedApprovals: Sendable {
    private var approvals: [String: PhoneApproval] = [:]
    /// Oldest first.
    private var open: [String] = []
    /// Ordered by decision.
    private var settled: [String] = []
    /// Times of the last hour's requests while an hourly limit counts them; oldest first.
    private var counted: [Moment] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    /// Oldest first.
    var pending: [PhoneApproval] { open.compactMap { approvals[$0] } }

    subscript(id: String) -> PhoneApproval? { approvals[id] }

    /// Approvals whose life has ended, with the reason.
    func overdue(at now: Moment) -> [(id: String, reason: String)] {
        pending.filter { now.milliseconds(since: $0.askedAt) >= $0.lifetimeMilliseconds }.map {
            ($0.id, $0.expiryReason)
        }
    }

    /// False if the last hour reached the limit already.
    mutating func count(at now: Moment, hourlyLimit: Int?) -> Bool {
        guard let hourlyLimit else { return true }
        counted.removeAll { now.milliseconds(since: $0) >= 3_600_000 }
        guard counted.count < hourlyLimit else { return false }
        counted.append(now)
        return true
    }

    mutating func ask(_ approval: PhoneApproval) {
        approvals[approval.id] = approval
        open.append(approval.id)
    }

    /// The approval before the decision, or nil if no open approval has this id.
    mutating func settle(_ id: String, _ decision: String, reason: String?) -> PhoneApproval? {
        guard let approval = approvals[id], approval.decision == nil else { return nil }
        approvals[id]?.decision = decision
        approvals[id]?.reason = reason
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

// A part of a relay's state.
extension AskedApprovals {
    func write(to state: inout JSONWriter) {
        state.array("approvals") { list in
            for id in settled + open {
                if let approval = approvals[id] { list.objectElement(approval.write) }
            }
        }
        guard !counted.isEmpty else { return }
        state.array("approvals_counted") { list in
            for moment in counted { list.objectElement { $0.moment("at", moment) } }
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
        guard state.has("approvals_counted") else { return }
        for reader in try state.list("approvals_counted") { counted.append(try reader.moment("at")) }
    }
}
