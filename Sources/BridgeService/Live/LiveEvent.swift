package import BridgeCore
package import BridgeModel

/// What a running bridge tells: for the log, for the events on standard output, for `status`. Constant words and codes, never
/// what a user or an agent wrote.
package enum LiveEvent: Sendable {
    case agentConnected(ConnectionName, version: String, scopes: [String]?, isReconnect: Bool)
    case agentLost(ConnectionName, reason: String, retryIn: Duration)
    case relayConnected(ConnectionName, installation: String?, isReconnect: Bool)
    case relayLost(ConnectionName, reason: String, retryIn: Duration)
    /// The relay's greeting and the agent's handshake have both been seen.
    case ready(ConnectionName)
    case turnBegan(ConnectionName, TurnID, SessionID)
    case turnEnded(ConnectionName, TurnID, TurnOutcome)
    case callFailed(ConnectionName, TurnID, PostName, RelayRefusal, RequestID?)
    case deliveryNote(ConnectionName, DeliveryNote, TurnID, PostName)
    case turnNote(ConnectionName, TurnID, TurnNote)
    case unknownFrames(ConnectionName, link: String, UnknownTally)
    case remedy(ConnectionName, String)
    case note(ConnectionName, String)
    case journalFailed(ConnectionName, JournalFailure)
    case journalWorks(ConnectionName)
    /// Nothing more goes this way until a person has done something.
    case stopped(ConnectionName, link: String, message: String, remedy: String, exitCode: Int32)
    case restored(ConnectionName, turns: Int)
}
