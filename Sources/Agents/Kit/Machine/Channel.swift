package import Vocabulary

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
    package var trust = Trust()
    /// WebSocket over a Unix socket, which must belong to this user.
    package var unixPath: String?
    /// A longer message ends the connection.
    package var messageLimit = 64 << 20

    package init(url: String) { self.url = url }
}

/// The far side that gets a token: under TLS by its certificate, without TLS on this machine by its user.
package struct Trust: Hashable, Sendable {
    package enum Certificates: Hashable, Sendable {
        case system
        /// The certificates in a file.
        case authority(file: String)
        /// The one with this SHA-256 of its DER, whatever signed it; compared before any byte of ours is sent.
        case leaf([UInt8])
    }

    package var certificates: Certificates
    package var listener: ListenerTrust

    package init(_ certificates: Certificates = .system, listener: ListenerTrust = .own) {
        self.certificates = certificates
        self.listener = listener
    }
}

package enum Closing: Hashable, Sendable {
    case socket(code: Int, reason: String)
    /// No more is written to the child, which may still write: the channel stays open.
    case input
    /// By the steps of its life, or at once.
    case child(atOnce: Bool)
}

/// Why a channel failed, where the machine acts on it.
package enum ChannelFault: Hashable, Sendable {
    /// A process may listen, which is slow or out of reach.
    case unknown
    /// The far side's certificate is not believed.
    case untrusted
    /// No process of ours listens at the address.
    case absent
    /// Another user's program may listen at the address; nothing was sent.
    case foreignListener
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

    // One of these comes last.
    case refused(status: Int, body: [UInt8])
    /// It did not open, or broke without a word.
    case failed(message: String, ChannelFault = .unknown)
    case closed(code: Int, reason: String)
    /// `lastWords`: the end of its standard error.
    case exited(ProcessEnd, lastWords: String)
}
