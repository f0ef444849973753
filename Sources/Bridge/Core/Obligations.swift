package import Vocabulary

/// A command that a Stop owes to the agent, kept until the agent has answered: also after the turn has closed, after a lost link, and in
/// the next process.
package enum Obligation: Hashable, Sendable {
    case abort(session: AgentSession, run: RunID, reach: StopReach = .everyRun)
    /// A yes may be on its way to this approval, or be given later; it is refused.
    case deny(ApprovalID, ApprovalRequest.Subject)

    package var command: AgentCommand {
        switch self {
        case .abort(let session, let run, let reach): .abort(session: session, run: run, reach: reach)
        case .deny(let approval, let subject): .resolve(approval: approval, subject: subject, decision: .deny)
        }
    }

    /// Unique among the obligations of a connection; the journal keeps it under this name.
    package var name: String {
        switch self {
        case .abort(_, let run, _): Self.name(ofAbort: run)
        case .deny(let approval, _): Self.name(ofDenial: approval)
        }
    }

    static func name(ofAbort run: RunID) -> String { "abort:\(run)" }
    static func name(ofDenial approval: ApprovalID) -> String { "deny:\(approval)" }
}

/// The obligations of one connection.
///
/// Invariants: each is kept from before its command is ordered until the agent has answered, or for 24 hours. One of an earlier process is
/// ordered once before it may expire, since a wall clock that was set makes it any age. There are at most `limit`; one beyond that is
/// ordered once, as before, and not repeated.
struct Obligations: Sendable {
    static let life = Duration.seconds(24 * 3_600)
    static let limit = 1_000

    private struct Kept {
        var obligation: Obligation
        var since: Instant
        /// Ordered in this process.
        var isOrdered: Bool
        var isLate = false
    }

    private var kept: [String: Kept] = [:]
    /// Names that the journal does not have: the write failed, or was not tried yet.
    private var unwritten: Set<String> = []
    private(set) var nextExpiry: Instant?

    var isEmpty: Bool { kept.isEmpty }
    var all: [Obligation] { kept.keys.sorted().compactMap { kept[$0]?.obligation } }
    var hasUnwritten: Bool { !unwritten.isEmpty }

    /// `isWritten`: the journal has it, with the moment it began.
    mutating func add(_ obligation: Obligation, since: Instant, isWritten: Bool = false) {
        let name = obligation.name
        if let known = kept[name] { return widen(name, known.obligation, to: obligation) }
        guard kept.count < Self.limit else { return }
        kept[name] = Kept(obligation: obligation, since: since, isOrdered: !isWritten)
        if !isWritten { unwritten.insert(name) }
        reckonExpiry()
    }

    /// A person's Stop follows one that the relay had a reason of its own for.
    private mutating func widen(_ name: String, _ known: Obligation, to new: Obligation) {
        guard case .abort(_, _, .ownRuns) = known, case .abort(_, _, .everyRun) = new else { return }
        kept[name]?.obligation = new
        unwritten.insert(name)
    }

    func owes(_ name: String) -> Bool { kept[name] != nil }

    func owesAbort(in session: AgentSession) -> Bool {
        kept.values.contains { if case .abort(session, _, _) = $0.obligation { true } else { false } }
    }

    mutating func wasNotWritten(_ obligation: Obligation) {
        if kept[obligation.name] != nil { unwritten.insert(obligation.name) }
    }

    mutating func takeUnwritten() -> [(obligation: Obligation, since: Instant)] {
        defer { unwritten = [] }
        return unwritten.sorted().compactMap { kept[$0] }.map { ($0.obligation, $0.since) }
    }

    /// The agent has answered. Nil if nothing of that name was owed.
    mutating func fulfil(_ name: String) -> Obligation? {
        guard let known = kept.removeValue(forKey: name) else { return nil }
        unwritten.remove(name)
        reckonExpiry()
        return known.obligation
    }

    mutating func takeExpired(at now: Instant) -> [Obligation] {
        guard let nextExpiry, nextExpiry <= now else { return [] }
        defer { reckonExpiry() }
        let late = kept.keys.sorted().filter { kept[$0].map { $0.since + Self.life <= now } ?? false }
        for name in late where kept[name]?.isOrdered == false { kept[name]?.isLate = true }
        return late.filter { kept[$0]?.isOrdered == true }.compactMap { fulfil($0) }
    }

    /// The agent is present, and hears each.
    mutating func areOrdered() {
        for name in kept.keys {
            kept[name]?.isOrdered = true
            kept[name]?.isLate = false
        }
        reckonExpiry()
    }

    private mutating func reckonExpiry() {
        nextExpiry = kept.values.lazy.filter { !$0.isLate }.map { $0.since + Self.life }.min()
    }
}
