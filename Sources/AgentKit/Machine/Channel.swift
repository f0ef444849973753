package import BridgeModel

package struct ChannelID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A way to the agent that carries frames both ways.
package enum Channel: Hashable, Sendable {
    case socket(SocketPlan)
    /// Frames are its lines; the host adds the LF.
    case child(ChildPlan)
}

package struct SocketPlan: Hashable, Sendable {
    package var url: String
    package var headers: [HTTPHeader] = []
    package var trust = Trust.system
    /// WebSocket over a Unix socket, which must belong to this user.
    package var unixPath: String?
    /// A longer message ends the connection.
    package var messageLimit = 64 << 20

    package init(url: String) { self.url = url }
}

/// Whose certificate is believed.
package enum Trust: Hashable, Sendable {
    case system
    /// The certificates in a file.
    case authority(file: String)
    /// The one with this SHA-256 of its DER, whatever signed it; compared before any byte of ours is sent.
    case leaf([UInt8])
    /// Without a certificate: whose program may listen on this machine. The other cases take this user's there.
    case listener(ListenerTrust)

    package init(_ listener: ListenerTrust) { self = listener == .own ? .system : .listener(listener) }

    package var listener: ListenerTrust { if case .listener(let trust) = self { trust } else { .own } }
}

package enum Closing: Hashable, Sendable {
    case socket(code: Int, reason: String)
    /// No more is written to the child, which may still write: the channel stays open.
    case input
    /// By the steps of its life, or at once.
    case child(atOnce: Bool)
}

package enum ChannelEvent: Hashable, Sendable {
    /// The socket is open.
    case opened
    /// The child runs; the journal has its name, so that a later process finds it.
    case spawned(ProcessName)
    /// So many children run, and none of them can end: the child is started when one does. `behind`: where all of them wait for a
    /// person, their chats. Said again when those change.
    case waits(running: Int, behind: [WaitingChat] = [])
    /// Another child waits for the place of this idle one, which is to end, or says that it is not idle any more.
    case wanted
    /// A line over its limit was left out.
    case skipped(bytes: Int)
    /// A ping or a pong: the far side lives, and says nothing else.
    case heard
    /// While reading is paused silence proves nothing.
    case readingPaused, readingResumed

    // One of these comes last.
    case refused(status: Int, body: [UInt8])
    /// It did not open, or broke without a word. `isUntrusted`: the far side's certificate is not believed. `isAbsent`: no process of
    /// ours listens at the address; where that is not said, one may, which is slow or out of reach.
    case failed(message: String, isUntrusted: Bool = false, isAbsent: Bool = false)
    case closed(code: Int, reason: String)
    /// `lastWords`: the end of its standard error.
    case exited(ProcessEnd, lastWords: String)
}
