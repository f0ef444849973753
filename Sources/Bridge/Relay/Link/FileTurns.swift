import Vocabulary

/// Files that the relay requests. An answer has megabytes and delays the pongs and acknowledgements behind it on the one socket.
///
/// - At most `limit` are being read or leaving. Other requests wait, bounded and timed like all requests (`OpenRequests`).
/// - A large answer is leaving until the relay has answered the ping behind it, or until `patience` has passed.
struct FileTurns {
    static let limit = 2
    /// Smaller answers delay nothing.
    static let large = 64 << 10
    static let patience = Duration.seconds(30)

    private struct Leaving {
        var bytes: Int
        var until: Instant
    }

    private var waiting: [RelayRequest] = []
    private var underWay: Set<String> = []
    private var leaving: [Leaving] = []

    /// Bytes of answers that are still leaving.
    var bytes: Int { leaving.reduce(0) { $0 + $1.bytes } }
    var nextDeadline: Instant? { leaving.first?.until }
    private var hasRoom: Bool { underWay.count + leaving.count < Self.limit }

    mutating func came(_ request: RelayRequest) { waiting.append(request) }

    /// The next request to answer, or nil if none waits or there is no room.
    mutating func next() -> RelayRequest? {
        guard hasRoom, !waiting.isEmpty else { return nil }
        let next = waiting.removeFirst()
        underWay.insert(next.id)
        return next
    }

    /// Ends a request. True if a ping must follow the answer.
    mutating func answered(_ id: String, bytes: Int, at now: Instant) -> Bool {
        waiting.removeAll { $0.id == id }
        guard underWay.remove(id) != nil, bytes >= Self.large else { return false }
        leaving.append(Leaving(bytes: bytes, until: now + Self.patience))
        return true
    }

    /// The pong proves that the oldest leaving answer has arrived.
    mutating func ponged() { if !leaving.isEmpty { leaving.removeFirst() } }
    mutating func timePassed(at now: Instant) { leaving.removeAll { $0.until <= now } }
    mutating func socketLost() { self = FileTurns() }
}
