import Vocabulary

/// A message that must reach the gateway: its state on the current socket.
enum Errand: Hashable {
    /// Not yet sent on this socket. Can transition to: asked.
    case due
    /// Sent and unanswered. Can transition to: putOff, due (the socket is lost).
    case asked
    /// The gateway did not answer, or requested a pause. Can transition to: asked (the pause ends), due (the socket is lost).
    case putOff(until: Instant)

    /// When to send again.
    var resendAt: Instant? { if case .putOff(let until) = self { until } else { nil } }
}
