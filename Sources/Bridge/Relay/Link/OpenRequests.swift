import Vocabulary

/// Requests of the relay that have no answer yet, on the one socket.
///
/// - Each is answered once: by `answered`, or by `expire` after its time, since a phone waits for it.
/// - An id in use is not accepted again. The loss of the socket forgets all.
struct OpenRequests {
    static let limit = 64
    /// A person's patience; the relay's is not known (relay.md#relay-to-bridge-rpcs-req_id-frames).
    static let patience = Duration.seconds(14)

    private struct Open {
        var request: RelayRequest
        var type: String
        var until: Instant
    }

    private var open: [String: Open] = [:]

    var nextDeadline: Instant? { open.values.lazy.map(\.until).min() }
    var hasRoom: Bool { open.count < Self.limit }
    func knows(_ id: String) -> Bool { open[id] != nil }

    mutating func came(_ request: RelayRequest, type: String, at now: Instant) {
        open[request.id] = Open(request: request, type: type, until: now + Self.patience)
    }

    /// Type of the request's frame, or nil if it was answered already or came on another socket.
    mutating func answered(_ id: String) -> String? { open.removeValue(forKey: id)?.type }

    mutating func expire(at now: Instant) -> [(request: RelayRequest, type: String)] {
        let late = open.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
        for (id, _) in late { open[id] = nil }
        return late.map { ($0.value.request, $0.value.type) }
    }

    mutating func socketLost() { open = [:] }
}
