package import BridgeModel
package import Links

/// What a machine wants done.
package enum AgentOrder: Sendable {
    // Channels. Their ids are the machine's own; one that was closed or has ended may be opened again.
    case open(ChannelID, Channel)
    /// `telling`: `finished` says when all of it is handed over, for agents that confirm no prompt.
    case send(ChannelID, [UInt8], telling: WorkID? = nil)
    case close(ChannelID, Closing)
    /// The child has nothing to do, and its session can be loaded again: it may be asked for its place (`wanted`). False again before it
    /// gets something to do.
    case idle(ChannelID, Bool)
    /// No handshake is under way: the host may stop reading while memory is short. False when a channel is opened.
    case mayPause(ChannelID, Bool)

    case work(WorkID, Work)
    /// The settings may have been mended by a person: they are reread, and given to `use` where they can be read.
    case readSettings
    /// No output may show it.
    case cover(Secret)

    // To the core and the service.
    case observed([Observation])
    case replied(QueryID, AgentReply)
    case state(AgentState)
    case note(AgentNote)
    // To `doctor`.
    case finding(DoctorFinding)
    /// Nothing more is to be found.
    case done
}

/// A link is never given up: `waiting` says when it is tried again, and what a person can do.
package enum AgentState: Hashable, Sendable {
    case up(version: String, scopes: [String]?)
    case waiting(reason: String, retryAt: Instant, remedy: LinkRemedy?)
}

/// For logs and `status`.
package enum AgentNote: Hashable, Sendable {
    case words(String)
    /// What a person can do, while the link is there.
    case remedy(String)
    case unknown(UnknownTally)
}

package struct QueryID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A question of the service that the agent answers beside its runs.
package enum AgentQuery: Hashable, Sendable {
    case models
}

package enum AgentReply: Hashable, Sendable {
    case models([AgentModel])
    case refused(message: String)
}

package struct AgentModel: Hashable, Sendable {
    package var id: String
    package var name: String

    package init(id: String, name: String) {
        self.id = id
        self.name = name
    }
}
