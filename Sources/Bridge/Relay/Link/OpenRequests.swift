import Vocabulary

/// Requests of the relay that have no answer yet, on the one socket.
///
/// - Each is answered once: by `answered`, or by `expire` when its time is over, since a phone is waiting for it.
/// - An id that is in use is not taken again; with the socket all are forgotten.
struct OpenRequests {
    static let limit = 64
    /// The relay's own is not known, but that of a person is (relay.md#relay-to-bridge-rpcs-req_id-frames).
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

    /// The type of its frame; nil: it was answered, or was another socket's.
    mutating func answered(_ id: String) -> String? { open.removeValue(forKey: id)?.type }

    mutating func expire(at now: Instant) -> [(request: RelayRequest, type: String)] {
        let late = open.filter { $0.value.until <= now }.sorted { $0.key < $1.key }
        for (id, _) in late { open[id] = nil }
        return late.map { ($0.value.request, $0.value.type) }
    }

    mutating func socketLost() { open = [:] }
}
