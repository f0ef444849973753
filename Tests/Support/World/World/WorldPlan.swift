package import BridgeService
package import RelayRules
import Vocabulary

/// One world, drawn from a seed: messages, scripts of the agents, and troubles.
package struct WorldPlan: Sendable {
    /// Subject of a seed. A world may have several.
    package enum Theme: String, Sendable, Hashable, CaseIterable {
        case kills, agentLink, relayLink, answers, pages, refusals, disk, stops, foreign, tokens, numbers, pairing,
            plenty
        /// The process is down for longer than the relay remembers keys.
        case sleep
        /// Runs of the agent's scheduler, and others in their session.
        case jobs
        /// Each code of the relay, and unknown ones, on each method.
        case codes
        /// A process that is asked to stop, and the next one.
        case shutdowns
        /// Two connections, with every trouble on the first.
        case neighbours

        /// Themes of the seed's first generator. A later theme has a separate generator.
        static let first: [Theme] = [
            .kills, .agentLink, .relayLink, .answers, .pages, .refusals, .disk, .stops, .foreign, .tokens, .numbers,
            .pairing, .plenty, .sleep,
        ]
    }

    package struct Message: Sendable {
        package var at: Duration
        package var side: Int
        package var chat: Int
        package var script: WorldScript
        /// The person's tap on the card, or nil if they ignore it.
        package var decision: Decision?
        package var stopsAfter: Duration?
        /// Stops the message once the agent has its prompt but the loop has not begun, regardless of `stopsAfter`.
        package var stopsAtPrompt = false
        /// The relay's reason for the Stop, or nil if the person pressed it.
        package var stopReason: String?
        /// Level of thought, or nil if the phone names none.
        package var level: String?
        /// Another message under the same interaction, and its delay.
        package var second: WorldScript?
        package var secondAfter = Duration.zero

        package var text: String { "Question \(script.name)?" }
    }

    package struct Decision: Sendable {
        package var tap: String
        package var scope = ApprovalScope()
        /// "Always" within limits.
        var isNarrow: Bool { ![ApprovalScope(), ApprovalScope(kind: "all")].contains(scope) }
        package var after: Duration
    }

    package enum Misfortune: Sendable {
        case kill(down: Duration)
        /// SIGTERM. With `closing` each running turn ends with a line.
        case shutDown(closing: Bool, down: Duration)
        case cutGateway(away: Duration)
        /// Cuts the link after so many further frames.
        case cutGatewayBehind(frames: Int, away: Duration)
        /// The socket is up, but nothing passes.
        case deafGateway(Duration)
        case gatewayRestarts(down: Duration)
        case cutRelay
        case cutRelayBehind(frames: Int)
        case relayAway(Duration)
        case call(Fault)
        case socket(SocketFault)
        /// Loses this share of calls or of their answers.
        case lossyCalls(rate: Double, Duration)
        case fullDisk(Duration)
        case slowDisk(sync: Duration, Duration)
        case deletesChat(Int)
        /// Another client's private run, perhaps in a session with a chat on the phone.
        case foreignRun(name: String, chat: Int?)
        /// The scheduler's run, which the configuration may show.
        case job(name: String)
        /// Another client's run, without a phone message.
        case privateRun(name: String, session: String)
        /// Another job in the same session, whose run never comes.
        case jobStarts(String)
        case jobFinishes(String)
        /// The person deletes or archives the job's chat.
        case leavesJobChat(archives: Bool)
        /// The relay cancels chats of runs of others, for a reason of its own.
        case relayCancels(reason: String)
        /// The token is revoked, and a new one arrives later.
        case revokes(reloadAfter: Duration)
        /// The person pairs again.
        case anotherToken
        /// The agent refuses the bridge until its owner approves it.
        case pairing(Duration)
        /// A trouble of this side's Oppi server.
        case oppi(OppiTrouble)
        /// A trouble of this side's Codex.
        case codex(CodexMisfortune)
        /// Replaces numbers in frames with extreme ones.
        case distortsNumbers(Duration)
    }

    package struct Trouble: Sendable {
        package var at: Duration
        package var side: Int
        package var misfortune: Misfortune
    }

    package var seed: UInt64
    /// Agent of each side. The era counts only for OpenClaw.
    package var agents: [WorldAgentKind] = []
    /// Lead of this machine's clock over each side's relay.
    package var clocksAhead: [Duration] = []
    package var eras: [GatewayEra] = []
    package var mirrors: [Configuration.Mirror] = []
    package var deletedChats: [Configuration.DeletedChats] = []
    package var themes: Set<Theme> = []
    package var messages: [Message] = []
    package var jobs: [WorldJob] = []
    /// Files by the text of their message.
    package var files: [String: [WorldFile]] = [:]
    package var code: WorldCode?
    /// Approvals whose question the relay refuses to show, with the time until the person writes.
    package var refusedQuestions: [String: Duration] = [:]
    /// Nil if nothing is sealed.
    package var sealing: SealingPlan?
    /// The configuration names a recipient of notices.
    package var hasNotices = false
    /// The side without troubles, if there is one.
    package var untouched: Int?
    package var troubles: [Trouble] = []
    /// End of all troubles.
    package var quietAt = Duration.seconds(20)
    /// Bound of bytes in the lanes, if the world has a small one.
    package var heldBytes: Int?

    /// Time until a run counts as silent, or nil for never. `SilenceWorld` judges the line of a stuck run.
    package var quiet: Duration?

    /// Limit of children at once.
    package var agentLimit = 8

    package init(seed: UInt64) { self.seed = seed }
}

extension WorldPlan {
    /// Printed with a failing seed.
    package var summary: String {
        let themes = themes.map(\.rawValue).sorted().joined(separator: ", ")
        let eras = zip(agents, eras).map { $0 == .openClaw ? $1.rawValue : $0.rawValue }.joined(separator: " and ")
        let code = code.map { " \($0.status) \($0.code) to \($0.method)" } ?? ""
        let sealed = sealing == nil ? "" : "; sealed"
        let files = files.isEmpty ? "" : "; files"
        let notices = hasNotices ? "; notices" : ""
        return "\(eras), \(messages.count) messages; \(themes)\(code)\(sealed)\(files)\(notices)"
    }
}
