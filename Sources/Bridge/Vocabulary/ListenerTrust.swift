/// User whose program may listen on a port of this machine and receive a token in the open: any user can take a port
/// that is free for a moment. Root could intercept the token anyway, and is always trusted.
package enum ListenerTrust: Hashable, Sendable {
    case own
    /// A user by name or number.
    case user(String)
    /// Every listener is trusted; the kernel is not asked.
    case any

    /// False if any listener is trusted: it may be a port of a container, whose files have this machine's names but other contents.
    package var staysHere: Bool { self != .any }
}
