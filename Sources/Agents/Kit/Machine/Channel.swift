package import Vocabulary

package struct ChannelID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A two-way path of frames to the agent.
package enum Channel: Hashable, Sendable {
    case socket(SocketPlan)
    /// A child whose lines are the frames; the host adds the LF.
    case child(ChildPlan)
}

package struct SocketPlan: Hashable, Sendable {
    package var url: String
    package var headers: [HTTPHeader] = []
    package var trust = Trust()
    /// Path of a WebSocket over a Unix socket, which must belong to this user.
    package var unixPath: String?
    /// Longest message; a longer one ends the connection.
    package var messageLimit = 64 << 20

    package init(url: String) { self.url = url }
}

/// Trust in the far side that gets a token: by its certificate under TLS, or by its user for a plain connection on this machine.
package struct Trust: Hashable, Sendable {
    package enum Certificates: Hashable, Sendable {
        case system
        /// The certificates in a file.
        case authority(file: String)
        /// The certificate with this SHA-256 of its DER, whoever signed it; compared before the first byte is sent.
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
    /// Closes the child's input. The child may still write: the channel stays open.
    case input
    /// Ends the child by the steps of its life, or at once.
    case child(atOnce: Bool)
}

/// Cause of a failed channel, as far as the machine acts on it.
package enum ChannelFault: Hashable, Sendable {
    /// A process may listen, slow or out of reach.
    case unknown
    /// The far side's certificate is not trusted.
    case untrusted
    /// No process of this user listens at the address.
    case absent
    /// Another user's program may listen at the address; nothing was sent.
    case foreignListener
}

package enum ChannelEvent: Hashable, Sendable {
    /// The socket is open.
    case opened
    /// The child runs; the journal has its name for a later process.
    case spawned(ProcessName)
    /// `running` children hold all places, and none of them can end: the child starts once one does. `behind` lists their chats if
    /// all of them wait for a person. The event repeats when those change.
    case waits(running: Int, behind: [WaitingChat] = [])
    /// Another child waits for the place of this idle one, which ends, or says that it is busy again.
    case wanted
    /// A line above its limit was dropped.
    case skipped(bytes: Int)
    /// A ping or a pong: a sign of life without content.
    case heard

    // One of these comes last.
    case refused(status: Int, body: [UInt8])
    /// The channel did not open, or broke without a word.
    case failed(message: String, ChannelFault = .unknown)
    case closed(code: Int, reason: String)
    /// `lastWords`: the end of the child's standard error.
    case exited(ProcessEnd, lastWords: String)
}
