package import Vocabulary

/// Orders of the bridge, in sequence.
package enum BridgeOrder: Sendable, Hashable {
    // Indirect, like other large payloads: an order is passed on several times on its way to the wire.
    /// Send this call, after saving it if it says so.
    indirect case attempt(CallAttempt)
    /// Keep the record before anything that follows leaves the bridge, together with the call that follows, if one does.
    case keep(KeptRecord, Durability)
    indirect case command(AgentCommand)
    /// Answered by `commandKept` once everything ordered before it is kept, or by `commandNotKept`.
    indirect case commandToKeep(CommandNumber, AgentCommand)
    /// An obligation to the agent, kept until `fulfilled`.
    case owe(Obligation, since: Instant)
    case fulfilled(Obligation)
    /// Keep the home of a chat, or forget it if nil.
    case keepHome(SessionID, ChatHome?)
    /// Keep the model before the command that follows leaves, or forget it if nil.
    case keepModel(SessionID, ChosenModel?)
    /// Answered by `fetched`, unless the files are dropped first.
    case fetch(TurnID, [Attachment])
    /// Nothing needs the turn's files any longer, including those that are being fetched.
    case dropFiles(TurnID)
    indirect case filesTouched(SessionID, TurnSealing, [ToolFile])
    indirect case turnOpened(TurnOpening)
    /// Another bridge answers the message of that turn.
    case anotherBridge(TurnID, OtherBridge)
    case turnClosed(TurnID, TurnOutcome)
    /// The run has been silent for `TurnSettings.stuck`, and waits for nothing that is known. Once a turn, also over restarts.
    case stuck(TurnID)
    /// The relay takes nothing more from this connection.
    case connectionStopped(RelayErrorCode)
    case turnNote(TurnID, TurnNote)
    indirect case deliveryNote(DeliveryNote, TurnID, PostName)
    /// From here on the chat's key is in use by this turn; once for each turn and key, for restored turns too.
    case keyTaken(TurnID, SessionID, KeyName)
    /// The turn has ended: once for each `keyTaken`.
    case keyLeft(TurnID, SessionID, KeyName)
}
