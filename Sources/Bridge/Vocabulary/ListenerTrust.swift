/// Whose program may listen on a port of this machine for a token to be sent to it in the open: any user of the machine can take a port
/// that is free for a moment. Root could do all of it anyway, and is always one of them.
package enum ListenerTrust: Hashable, Sendable {
    case own
    /// By name or number.
    case user(String)
    /// Every listener is trusted; the kernel is not asked.
    case any

    /// Any listener may be a port of a container, behind which files have this machine's names and not its contents.
    package var staysHere: Bool { self != .any }
}
