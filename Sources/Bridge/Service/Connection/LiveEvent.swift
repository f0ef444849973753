package import BridgeCore
package import Links
package import Sealing
package import Vocabulary

/// Events of a running bridge, for the log, the events on standard output and `status`: constant words and codes, never text of
/// a user or an agent.
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
    /// Another bridge with this token answers the message of that turn; `messages` is how many it has answered so far.
    case anotherBridge(ConnectionName, TurnID, messages: Int)
    /// The newest of so many cards expired unanswered; the ask stays open at the agent.
    case askUnanswered(ConnectionName, SessionID, cards: Int)
    /// Nothing was heard of the turn's run for `limits.stuck`.
    case stuck(ConnectionName, TurnID)
    case unknownFrames(ConnectionName, link: String, UnknownTally)
    /// Remedy for a person, while nothing is lost. Without a link it concerns the whole connection.
    case remedy(ConnectionName, LinkName?, String)
    /// Something other than the relay answers calls, or nil once the relay answers them again.
    case interference(ConnectionName, ForeignAnswer?)
    case note(ConnectionName, String)
    /// News of the connection's keys, and of the devices that may have them.
    case keys(ConnectionName, KeyRingNews)
    /// News of the files that hold the keys.
    case keyFiles(ConnectionName, KeyWriter.News)
    case journalFailed(ConnectionName, JournalFailure)
    case journalWorks(ConnectionName)
    /// Nothing more goes to the relay until a person gives the connection another token.
    case stopped(ConnectionName, message: String, remedy: String, exitCode: ExitCode)
    /// A stopped connection has another token, and works again if the relay takes it.
    case mended(ConnectionName)
    /// Reading from the agent pauses, since so many bytes wait, or it has resumed.
    case memory(ConnectionName, isFull: Bool, held: Int)
    case restored(ConnectionName, turns: Int)
    case notice(ConnectionName, NoticeNews)
}

package enum LinkName: String, Hashable, Sendable { case relay, agent }
