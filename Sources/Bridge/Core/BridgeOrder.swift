package import Vocabulary

/// What the bridge wants done, in order.
package enum BridgeOrder: Sendable, Hashable {
    // Indirect, as is what else is large: an order is passed on several times on its way to the wire.
    /// Send this call, after saving it where it says so.
    indirect case attempt(CallAttempt)
    /// To be kept before anything that follows leaves the bridge; together with the call that follows, where one does.
    case keep(KeptRecord, Durability)
    indirect case command(AgentCommand)
    /// Answered by `commandKept` once all that was ordered before it is kept, or by `commandNotKept`.
    indirect case commandToKeep(CommandNumber, AgentCommand)
    /// An obligation to the agent, to be kept until `fulfilled`.
    case owe(Obligation, since: Instant)
    case fulfilled(Obligation)
    /// What a chat has of its own, to be kept; nil: to be forgotten.
    case keepHome(SessionID, ChatHome?)
    /// Kept before the command that follows leaves; nil: to be forgotten.
    case keepModel(SessionID, ChosenModel?)
    /// Answered by `fetched`, unless the files are dropped before.
    case fetch(TurnID, [Attachment])
    /// Nothing needs the turn's files any more, those that are being fetched included.
    case dropFiles(TurnID)
    indirect case filesTouched(SessionID, TurnSealing, [ToolFile])
    indirect case turnOpened(TurnOpening)
    /// Another bridge answers the message of that turn.
    case anotherBridge(TurnID, OtherBridge)
    case turnClosed(TurnID, TurnOutcome)
    /// Nothing has been heard of its run for `TurnSettings.stuck`, and nothing is known that it waits for. Once a turn, also over
    /// restarts.
    case stuck(TurnID)
    /// The relay will have nothing more from this connection.
    case connectionStopped(RelayErrorCode)
    case turnNote(TurnID, TurnNote)
    indirect case deliveryNote(DeliveryNote, TurnID, PostName)
    /// From here on the chat's key is in use by this turn; once for each turn and key, for restored turns too.
    case keyTaken(TurnID, SessionID, KeyName)
    /// The turn has ended: once for each `keyTaken`.
    case keyLeft(TurnID, SessionID, KeyName)
}
