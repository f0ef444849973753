import AgentKit
import Vocabulary

/// Works of one machine: those under way, those that wait, and the deadline of each.
///
/// - Each added work is answered once: by `finished`, by `expired`, or by a refusal.
/// - At most 16 are under way, and 64 wait. An expired work gives its place to another and may hold its thread without limit: while
///   64 are expired, no work is added.
struct WorkTable {
    /// A work that begins now. The ticket names this start, because an id may be reused.
    struct Start {
        var ticket: Int
        var work: Work
    }

    static let underWayLimit = 16
    static let waitingLimit = 64
    static let lateLimit = 64

    private struct UnderWay {
        var id: WorkID
        var until: Instant
        var isKept: Bool
        var undoing: Work?
    }

    /// Outcome of a finished work.
    enum Finish {
        case inTime(WorkID)
        /// The machine counts the work as failed. `undoing`: the work that releases what it holds.
        case late(undoing: Work?)
    }

    private var waiting: [(id: WorkID, work: Work)] = []
    private var underWay: [Int: UnderWay] = [:]
    /// Expired works that have not come back, by ticket.
    private var late: [Int: Work?] = [:]
    private var lastTicket = 0

    /// A work is writing that should end before the process does.
    var isWriting: Bool { underWay.values.contains(where: \.isKept) || waiting.contains { $0.work.isKept } }

    var nextDeadline: Instant? { underWay.isEmpty ? nil : underWay.values.map(\.until).min() }

    var mayStart: Bool { !waiting.isEmpty && underWay.count < Self.underWayLimit }

    /// False if the limit of waiting works or of expired ones is reached.
    mutating func add(_ id: WorkID, _ work: Work) -> Bool {
        guard waiting.count < Self.waitingLimit, late.count < Self.lateLimit else { return false }
        waiting.append((id, work))
        return true
    }

    /// Works that may begin, in order.
    mutating func starts(at now: Instant) -> [Start] {
        var starts: [Start] = []
        while underWay.count < Self.underWayLimit, !waiting.isEmpty {
            let (id, work) = waiting.removeFirst()
            lastTicket += 1
            underWay[lastTicket] = UnderWay(
                id: id, until: now + work.limit, isKept: work.isKept, undoing: work.undoing)
            starts.append(Start(ticket: lastTicket, work: work))
        }
        return starts
    }

    /// Nil if the work was answered before.
    mutating func finished(_ ticket: Int) -> Finish? {
        if let known = underWay.removeValue(forKey: ticket) { return .inTime(known.id) }
        return late.removeValue(forKey: ticket).map { .late(undoing: $0) }
    }

    mutating func expired(at now: Instant) -> [WorkID] {
        let expired = underWay.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
        for (ticket, known) in expired {
            underWay[ticket] = nil
            late[ticket] = .some(known.undoing)
        }
        return expired.map(\.value.id)
    }
}

extension Work {
    /// Deadline with some slack beyond the work's own limit: usually its own answer comes first.
    fileprivate var limit: Duration {
        let slack = Duration.seconds(5)
        return switch self {
        case .http(let request, _): request.timeout + slack
        case .run(_, _, _, let deadline): deadline + slack
        // The grace counts after SIGTERM and again after SIGKILL.
        case .end(_, let grace): grace + grace + slack
        case .read, .complaints, .write, .lock, .unlock, .find, .look, .keep, .secret, .keepSecret: .seconds(30)
        }
    }

    /// Releases a lock whose machine has given it up; it would stay held until the process ends.
    fileprivate var undoing: Work? { if case .lock(let path) = self { .unlock(path: path) } else { nil } }

    fileprivate var isKept: Bool {
        switch self {
        case .write, .keep, .keepSecret: true
        case .http, .run, .read, .complaints, .lock, .unlock, .find, .look, .end, .secret: false
        }
    }
}
