import AgentKit
import Vocabulary

/// The works of one machine: how many are under way, which of them wait, and until when each may take.
///
/// - Each that was added leaves once: by `finished`, by `expired`, or refused at once.
/// - At most 16 are under way, and 64 wait.
struct WorkTable {
    /// A work that begins now. Its ticket names this one start: an id may be used again.
    struct Start {
        var ticket: Int
        var work: Work
    }

    static let underWayLimit = 16
    static let waitingLimit = 64

    private struct UnderWay {
        var id: WorkID
        var until: Instant
        var isKept: Bool
    }

    private var waiting: [(id: WorkID, work: Work)] = []
    private var underWay: [Int: UnderWay] = [:]
    private var lastTicket = 0

    /// Something is being written that should be there before the process ends.
    var isWriting: Bool { underWay.values.contains(where: \.isKept) || waiting.contains { $0.work.isKept } }

    var nextDeadline: Instant? { underWay.isEmpty ? nil : underWay.values.map(\.until).min() }

    var mayStart: Bool { !waiting.isEmpty && underWay.count < Self.underWayLimit }

    /// False: too many wait.
    mutating func add(_ id: WorkID, _ work: Work) -> Bool {
        guard waiting.count < Self.waitingLimit else { return false }
        waiting.append((id, work))
        return true
    }

    /// What may begin, in order.
    mutating func starts(at now: Instant) -> [Start] {
        var starts: [Start] = []
        while underWay.count < Self.underWayLimit, !waiting.isEmpty {
            let (id, work) = waiting.removeFirst()
            lastTicket += 1
            underWay[lastTicket] = UnderWay(id: id, until: now + work.limit, isKept: work.isKept)
            starts.append(Start(ticket: lastTicket, work: work))
        }
        return starts
    }

    /// Nil: it was answered before.
    mutating func finished(_ ticket: Int) -> WorkID? { underWay.removeValue(forKey: ticket)?.id }

    mutating func expired(at now: Instant) -> [WorkID] {
        let late = underWay.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
        for (ticket, _) in late { underWay[ticket] = nil }
        return late.map(\.value.id)
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

    fileprivate var isKept: Bool {
        switch self {
        case .write, .keep, .keepSecret: true
        case .http, .run, .read, .complaints, .lock, .unlock, .find, .look, .end, .secret: false
        }
    }
}
