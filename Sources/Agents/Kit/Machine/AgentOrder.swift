package import Links
package import Vocabulary

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
    /// The child waits for this chat's person; nil: not any more.
    case asks(ChannelID, WaitingChat?)
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
    /// Words of the far side, if there are any, are behind the first colon.
    case words(String)
    /// Standard error of the agent, quoted or counted as its chats allow.
    case complaint(String)
    /// What a person can do, while the link is there.
    case remedy(String)
    case unknown(UnknownTally)

    /// The words without those of the far side, which may repeat what was said in a sealed chat.
    package static func own(_ words: String) -> String {
        let parts = words.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 1 ? words : "\(parts[0]) (its words are not shown, since chats are sealed)"
    }
}

package struct QueryID: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int) { self.number = number }
}

/// A question of the service that the agent answers beside its runs.
package enum AgentQuery: Hashable, Sendable {
    case models
    /// Of the agent's scheduler (relay.md#relay-to-bridge-rpcs-req_id-frames): `list`, `status`, `add`, `update`, `remove`, `run`, `runs`.
    /// `parameters`: a JSON object, as the phone sent it.
    case schedule(verb: String, parameters: JSONText)
}

package enum AgentReply: Hashable, Sendable {
    case models([AgentModel])
    /// A JSON object in the agent's own terms.
    case document(JSONText)
    /// In words that a person can act on.
    case refused(message: String)
    /// Refused in the agent's own words, which may repeat what people or the agent wrote.
    case refusedInItsWords(String)
}

extension AgentReply {
    /// Of an agent without a scheduler.
    package static func hasNoSchedules(_ agent: String) -> AgentReply {
        .refused(message: "\(agent) has no routines of its own, so there are none to show or to change.")
    }
}

package struct AgentModel: Hashable, Sendable {
    /// By this the phone chooses it.
    package var id: String
    package var name: String
    package var provider: String?
    package var alias: String?
    package var contextWindow: Int?
    package var reasoning: Bool?
    /// `text`, `image`, `document`.
    package var input: [String] = []

    package init(id: String, name: String, provider: String? = nil) {
        self.id = id
        self.name = name
        self.provider = provider
    }
}
