import Vocabulary

/// Files that the relay asks for: an answer is megabytes, and on the one socket it goes before the pongs and acknowledgements behind it.
///
/// - At most `limit` are being read or are on their way; other requests wait, bounded and timed as all requests are (`OpenRequests`).
/// - A large answer is on its way until the relay has answered the ping that was sent behind it, or until `patience` is over.
struct FileTurns {
    static let limit = 2
    /// Smaller answers hold up nothing.
    static let large = 64 << 10
    static let patience = Duration.seconds(30)

    private struct Leaving {
        var bytes: Int
        var until: Instant
    }

    private var waiting: [RelayRequest] = []
    private var underWay: Set<String> = []
    private var leaving: [Leaving] = []

    /// Bytes that the socket holds.
    var bytes: Int { leaving.reduce(0) { $0 + $1.bytes } }
    var nextDeadline: Instant? { leaving.first?.until }
    private var hasRoom: Bool { underWay.count + leaving.count < Self.limit }

    mutating func came(_ request: RelayRequest) { waiting.append(request) }

    /// To be answered now.
    mutating func next() -> RelayRequest? {
        guard hasRoom, !waiting.isEmpty else { return nil }
        let next = waiting.removeFirst()
        underWay.insert(next.id)
        return next
    }

    /// True: a ping has to follow it.
    mutating func answered(_ id: String, bytes: Int, at now: Instant) -> Bool {
        waiting.removeAll { $0.id == id }
        guard underWay.remove(id) != nil, bytes >= Self.large else { return false }
        leaving.append(Leaving(bytes: bytes, until: now + Self.patience))
        return true
    }

    /// What was sent before the ping has arrived.
    mutating func ponged() { if !leaving.isEmpty { leaving.removeFirst() } }
    mutating func timePassed(at now: Instant) { leaving.removeAll { $0.until <= now } }
    mutating func socketLost() { self = FileTurns() }
}
