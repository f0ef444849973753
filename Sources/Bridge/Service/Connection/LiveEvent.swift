package import BridgeCore
package import Links
package import Sealing
package import Vocabulary

/// Events of a running bridge: for the log, for the events on standard output, for `status`. Constant words and codes, never
/// what a user or an agent wrote.
package enum LiveEvent: Sendable {
    case agentConnected(ConnectionName, version: String, scopes: [String]?, isReconnect: Bool)
    case agentLost(ConnectionName, reason: String, retryIn: Duration, remedy: LinkRemedy?)
    case relayConnected(ConnectionName, installation: String?, isReconnect: Bool)
    case relayLost(ConnectionName, reason: String, retryIn: Duration, remedy: LinkRemedy?)
    /// The relay's greeting and the agent's handshake have both been seen.
    case ready(ConnectionName)
    case turnBegan(ConnectionName, TurnID, SessionID)
    case turnEnded(ConnectionName, TurnID, TurnOutcome)
    case callFailed(ConnectionName, TurnID, PostName, RelayRefusal, RequestID?)
    case deliveryNote(ConnectionName, DeliveryNote, TurnID, PostName)
    case turnNote(ConnectionName, TurnID, TurnNote)
    /// Another bridge with this token answers the message of that turn, as it has so many.
    case anotherBridge(ConnectionName, TurnID, messages: Int)
    /// The newest of so many cards expired unanswered; the ask stays open at the agent.
    case askUnanswered(ConnectionName, SessionID, cards: Int)
    /// Nothing was heard of the turn's run for `limits.stuck`.
    case stuck(ConnectionName, TurnID)
    case unknownFrames(ConnectionName, link: String, UnknownTally)
    /// What a person can do, while nothing is lost. No link: it concerns the whole connection.
    case remedy(ConnectionName, LinkName?, String)
    /// Calls are answered by something that is not the relay; nil: the relay answers them again.
    case interference(ConnectionName, ForeignAnswer?)
    case note(ConnectionName, String)
    /// Of the keys of its sealed chats, and the devices that may have them.
    case keys(ConnectionName, KeyRingNews)
    /// Of the files that they are in.
    case keyFiles(ConnectionName, KeyWriter.News)
    case journalFailed(ConnectionName, JournalFailure)
    case journalWorks(ConnectionName)
    /// Nothing more goes to the relay until a person has given the connection another token.
    case stopped(ConnectionName, message: String, remedy: String, exitCode: ExitCode)
    /// A stopped connection has another token, and works again if the relay takes it.
    case mended(ConnectionName)
    /// So many bytes wait that nothing more is read from the agent; or that has passed.
    case memory(ConnectionName, isFull: Bool, held: Int)
    case restored(ConnectionName, turns: Int)
    case notice(ConnectionName, NoticeNews)
}

package enum LinkName: String, Hashable, Sendable { case relay, agent }
