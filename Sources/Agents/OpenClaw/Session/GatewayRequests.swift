import AgentKit
import Vocabulary

/// A request to the gateway, and its purpose.
enum GatewayRequest: Hashable {
    case subscribe
    case approvals
    case send(RunID)
    case abort(RunID)
    case resolve(ApprovalID, ApprovalDecision)
    case history([RunID])
    /// The history with the prompt of this heartbeat.
    case prompt(RunID)
    case wait(RunID)
    /// `agent.wait`, to confirm that the run's end is final.
    case lastWord(RunID)
    /// One row of the history in full, with the piece that it replaces.
    case row(RunID, piece: Int)
    /// The model for the message that will begin this run.
    case model(RunID, ModelChoice)
    /// The level for that message; `word` is nil for the agent's own.
    case level(RunID, LevelChoice, word: String?)
    case models(QueryID)
    case schedule(QueryID, ScheduleVerb)

    /// The method's name, or nil for a request that several methods serve.
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
/// - A request is pending from `asks` until it is answered, it expires, or the socket is lost, whichever is first.
/// - An id is unique among all sockets of this process, so a late answer cannot match a newer request.
/// - Deadlines are of the reading clock, so none passes while reading is paused.
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

    /// A new socket is being dialled.
    mutating func dialled() {
        socketNumber += 1
        requestNumber = 0
    }

    /// Number of the next request.
    var nextNumber: Int { requestNumber + 1 }

    /// The id of a request whose answer is awaited elsewhere.
    mutating func nextID() -> String {
        requestNumber += 1
        return "b\(socketNumber)-\(requestNumber)"
    }

    /// Registers the request and returns its id.
    mutating func asks(_ request: GatewayRequest, for limit: Duration, at now: Instant) -> String {
        let id = nextID()
        pending[id] = Pending(request: request, number: requestNumber, askedAt: now, deadline: now + limit)
        return id
    }

    /// Number of a pending request, or nil if the id is not pending.
    func number(of id: String) -> Int? { pending[id]?.number }

    func deadline(of request: GatewayRequest) -> Instant? {
        pending.values.lazy.filter { $0.request == request }.map(\.deadline).min()
    }

    mutating func limit(_ request: GatewayRequest, until deadline: Instant) {
        for (id, known) in pending where known.request == request { pending[id]?.deadline = deadline }
    }

    /// The request, or nil if the answer is a second or a late one (openclaw.md#frames).
    mutating func answered(_ id: String) -> GatewayRequest? { pending.removeValue(forKey: id)?.request }

    /// Removes and returns the expired requests, sorted by id. `only`: of this one alone.
    mutating func expire(at now: Instant, only request: GatewayRequest? = nil) -> [GatewayRequest] {
        let late = pending.filter { $0.value.deadline <= now && (request ?? $0.value.request) == $0.value.request }
            .sorted { $0.key < $1.key }
        for (id, _) in late { pending[id] = nil }
        return late.map(\.value.request)
    }

    /// A long frame has left: requests behind it could not be answered before.
    mutating func postpone(by pause: Duration, at now: Instant) {
        for (id, known) in pending { pending[id]?.deadline = known.deadline + min(pause, now - known.askedAt) }
    }

    /// Requests that were pending. The caller refuses those that nothing repeats on the next socket.
    mutating func socketLost() -> [GatewayRequest] {
        defer { pending.removeAll() }
        return pending.sorted { $0.key < $1.key }.map(\.value.request)
    }
}
