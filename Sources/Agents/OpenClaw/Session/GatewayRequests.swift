import AgentKit
import Vocabulary

/// What was asked of the gateway, and what for.
enum GatewayRequest: Hashable {
    case subscribe
    case approvals
    case send(RunID)
    case abort(RunID)
    case resolve(ApprovalID, ApprovalDecision)
    case history([RunID])
    /// What began this heartbeat.
    case prompt(RunID)
    case wait(RunID)
    /// Whether its end was one.
    case lastWord(RunID)
    /// One row of the history in full: the piece it replaces.
    case row(RunID, piece: Int)
    /// The model for the message that is to begin this run.
    case model(RunID, ModelChoice)
    /// Its level; nil: the agent's own.
    case level(RunID, LevelChoice, word: String?)
    case models(QueryID)
    case schedule(QueryID, ScheduleVerb)

    /// Nil: one of several.
    var method: String? {
        switch self {
        case .subscribe, .approvals, .resolve: nil
        default: name
        }
    }

    var name: String {
        switch self {
        case .subscribe: "subscribe"
        case .approvals: "approval.list"
        case .send: "chat.send"
        case .abort: "chat.abort"
        case .resolve: "approval.resolve"
        case .history, .prompt: "chat.history"
        case .wait, .lastWord: "agent.wait"
        case .row: "chat.message.get"
        case .model, .level: "sessions.patch"
        case .models: "models.list"
        case .schedule(_, let verb): verb.method.description
        }
    }
}

/// Requests in flight on the one socket, each with its deadline.
///
/// - A request is pending from `asks` until it is answered, has expired, or the socket is lost: it leaves by exactly one of these.
/// - An id is unique among all sockets of this process, so that a late answer is never taken for the answer to a newer request.
/// - Deadlines are of the reading clock, so that none passes while reading is paused.
struct GatewayRequests {
    private struct Pending {
        var request: GatewayRequest
        var number: Int
        let askedAt: Instant
        var deadline: Instant
    }

    private var pending: [String: Pending] = [:]
    private var socketNumber = 0
    private var requestNumber = 0

    var nextDeadline: Instant? { pending.values.lazy.map(\.deadline).min() }

    func count(of request: GatewayRequest) -> Int { pending.values.count { $0.request == request } }

    /// A new socket is dialled.
    mutating func dialled() {
        socketNumber += 1
        requestNumber = 0
    }

    /// Of the next request.
    var nextNumber: Int { requestNumber + 1 }

    /// Of a request whose answer is awaited elsewhere.
    mutating func nextID() -> String {
        requestNumber += 1
        return "b\(socketNumber)-\(requestNumber)"
    }

    /// The id it is sent under.
    mutating func asks(_ request: GatewayRequest, for limit: Duration, at now: Instant) -> String {
        let id = nextID()
        pending[id] = Pending(request: request, number: requestNumber, askedAt: now, deadline: now + limit)
        return id
    }

    /// Nil: it is not pending.
    func number(of id: String) -> Int? { pending[id]?.number }

    func deadline(of request: GatewayRequest) -> Instant? {
        pending.values.lazy.filter { $0.request == request }.map(\.deadline).min()
    }

    mutating func limit(_ request: GatewayRequest, until deadline: Instant) {
        for (id, known) in pending where known.request == request { pending[id]?.deadline = deadline }
    }

    /// Nil: a second answer, or one that is too late (openclaw.md#frames).
    mutating func answered(_ id: String) -> GatewayRequest? { pending.removeValue(forKey: id)?.request }

    /// Those whose deadline has passed, in the order of their ids. `only`: of this one alone.
    mutating func expire(at now: Instant, only request: GatewayRequest? = nil) -> [GatewayRequest] {
        let late = pending.filter { $0.value.deadline <= now && (request ?? $0.value.request) == $0.value.request }
            .sorted { $0.key < $1.key }
        for (id, _) in late { pending[id] = nil }
        return late.map(\.value.request)
    }

    /// A long frame has left: what was asked behind it could not be answered before.
    mutating func postpone(by pause: Duration, at now: Instant) {
        for (id, known) in pending { pending[id]?.deadline = known.deadline + min(pause, now - known.askedAt) }
    }

    /// Those that nothing repeats on the next socket.
    mutating func socketLost() -> [GatewayRequest] {
        defer { pending.removeAll() }
        return pending.sorted { $0.key < $1.key }.map(\.value.request)
    }
}
