import AgentKit
import Vocabulary

/// The works of one machine: how many are under way, which of them wait, and until when each may take.
///
/// - Each that was added is answered once: by `finished`, by `expired`, or refused at once.
/// - At most 16 are under way, and 64 wait. Expired works give their places to others, and may hold their threads without end: while there
///   are 64 of those no work is added.
struct WorkTable {
    /// A work that begins now. Its ticket names this one start: an id may be used again.
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

    /// How a work came back.
    enum Finish {
        case inTime(WorkID)
        /// The machine counts it as failed. `undoing`: the work that takes back what it holds.
        case late(undoing: Work?)
    }

    private var waiting: [(id: WorkID, work: Work)] = []
    private var underWay: [Int: UnderWay] = [:]
    /// Expired works that have not come back, by their tickets.
    private var late: [Int: Work?] = [:]
    private var lastTicket = 0

    /// Something is being written that should be there before the process ends.
    var isWriting: Bool { underWay.values.contains(where: \.isKept) || waiting.contains { $0.work.isKept } }

    var nextDeadline: Instant? { underWay.isEmpty ? nil : underWay.values.map(\.until).min() }

    var mayStart: Bool { !waiting.isEmpty && underWay.count < Self.underWayLimit }

    /// Adds a work. The result is false if the limit of waiting works or of expired ones is reached.
    mutating func add(_ id: WorkID, _ work: Work) -> Bool {
        guard waiting.count < Self.waitingLimit, late.count < Self.lateLimit else { return false }
        waiting.append((id, work))
        return true
    }

    /// What may begin, in order.
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

    /// Nil: it was answered before.
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
    /// Beyond what it allows itself it gets a little, so that its own answer is the usual one.
    fileprivate var limit: Duration {
        let slack = Duration.seconds(5)
        return switch self {
        case .http(let request, _): request.timeout + slack
        case .run(_, _, _, let deadline): deadline + slack
        // Three times: to the second look after SIGKILL.
        case .end(_, let grace): grace + grace + slack
        case .read, .complaints, .write, .lock, .unlock, .find, .look, .keep, .secret, .keepSecret: .seconds(30)
        }
    }

    /// Releases a lock that no machine knows of, and that would be held until the process ends.
    fileprivate var undoing: Work? { if case .lock(let path) = self { .unlock(path: path) } else { nil } }

    fileprivate var isKept: Bool {
        switch self {
        case .write, .keep, .keepSecret: true
        case .http, .run, .read, .complaints, .lock, .unlock, .find, .look, .end, .secret: false
        }
    }
}
