import Vocabulary

/// Limits and policies of one connection's core.
package struct BridgeSettings: Sendable, Hashable {
    package var turn = TurnSettings()
    package var delivery = DeliverySettings()
    /// How long a message may be answered under its interaction (relay.md#sessionmessage-the-user-wrote).
    package var window = Duration.seconds(30 * 60)
    /// From this many bytes on, ended text and finished calls of a turn have a row of their own (`KeptParts`).
    package var partBytes = KeptParts.size
    /// Policy for a message that comes while its agent session is running.
    package var whenBusy = WhenBusy.wait
    /// How long a Stop is remembered for a message that has not come yet.
    package var stopMemory = Duration.seconds(30 * 60)
    /// Most runs that the agent has at once; more messages wait their turn in the journal, in the order they came.
    package var runLimit = 200
    /// Most turns that are open at once, including those that wait for their run; above it no message is taken.
    package var turnLimit = 2_000
    /// Most open turns of runs that no message began; above it such runs are not shown.
    package var mirroredLimit = 500
    package var words = OwnWordSettings()
    /// The agent's model can be chosen.
    package var choosesModels = false
    /// Untried cards are withdrawn when their ask ends. A replay keeps them: a recording's answer may follow at once.
    package var withdrawsCards = true
    /// `StateMark.bits`, or nil if placeholders do not say whose they are.
    package var mark: UInt32?

    package init() {}
}
