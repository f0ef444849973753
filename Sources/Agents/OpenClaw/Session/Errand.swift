import Vocabulary

/// A message that must reach the gateway: its state on the current socket.
enum Errand: Hashable {
    /// Not yet asked on this socket. Can transition to: asked.
    case due
    /// Its answer is awaited. Can transition to: putOff, due (the socket is lost).
    case asked
    /// The gateway gave no answer, or asked for a pause. Can transition to: asked (the time is over), due (the socket is lost).
    case putOff(until: Instant)

    /// When to ask again.
    var resendAt: Instant? { if case .putOff(let until) = self { until } else { nil } }
}
