package import Links
package import Vocabulary

/// An order of a machine to its host.
package enum AgentOrder: Sendable {
    // Channels. The machine chooses their ids, and may reuse one that was closed or has ended.
    case open(ChannelID, Channel)
    /// `telling`: `finished` answers once the whole frame is handed over, for agents that confirm no prompt.
    case send(ChannelID, [UInt8], telling: WorkID? = nil)
    case close(ChannelID, Closing)
    /// The child has nothing to do, and its session can be loaded again: another child may want its place (`wanted`). The machine
    /// says false before it gives the child more to do.
    case idle(ChannelID, Bool)
    /// The child waits for this chat's person, or nil once it waits no more.
    case asks(ChannelID, WaitingChat?)
    /// No handshake is open, so the host may pause reading while memory is short. A newly opened channel starts with false.
    case mayPause(ChannelID, Bool)

    case work(WorkID, Work)
    /// Rereads the settings, which a person may have mended; `use` gets them if they are readable.
    case readSettings
    /// No output may show this secret.
    case cover(Secret)

    // Events for the core and the service.
    case observed([Observation])
    case replied(QueryID, AgentReply)
    case state(AgentState)
    case note(AgentNote)
    // Events for `doctor`.
    case finding(DoctorFinding)
    /// The last finding was reported.
    case done
}

/// A link is never given up: `waiting` says when the next try is due, and what a person can do.
package enum AgentState: Hashable, Sendable {
    case up(version: String, scopes: [String]?)
    case waiting(reason: String, retryAt: Instant, remedy: LinkRemedy?)
}

/// Text for logs and `status`.
package enum AgentNote: Hashable, Sendable {
    /// Words of the far side, if any, stand behind the first colon.
    case words(String)
    /// Standard error of the agent: quoted, or only counted if chats are sealed.
    case complaint(String)
    /// Advice for a person, while the link is up.
    case remedy(String)
    case unknown(UnknownTally)

    /// The words before the first colon. The far side's may repeat text of a sealed chat.
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
    /// A command for the agent's scheduler (relay.md#relay-to-bridge-rpcs-req_id-frames): `list`, `status`, `add`, `update`,
    /// `remove`, `run`, `runs`. `parameters`: a JSON object, as the phone sent it.
    case schedule(verb: String, parameters: JSONText)
}

package enum AgentReply: Hashable, Sendable {
    case models([AgentModel])
    /// A JSON object in the agent's own terms.
    case document(JSONText)
    /// Refused, in words that a person can act on.
    case refused(message: String)
    /// Refused in the agent's words, which may repeat text of people or the agent.
    case refusedInItsWords(String)
}

extension AgentReply {
    /// Reply for an agent without a scheduler.
    package static func hasNoSchedules(_ agent: String) -> AgentReply {
        .refused(message: "\(agent) has no routines of its own, so there are none to show or to change.")
    }
}

package struct AgentModel: Hashable, Sendable {
    /// Id that the phone chooses by.
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
