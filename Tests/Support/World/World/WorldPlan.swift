package import BridgeService
package import RelayRules
import Vocabulary

/// What happens in one world, all of it drawn from a seed: what is written, what the agents do with it, and what goes wrong.
package struct WorldPlan: Sendable {
    /// What a seed is about. Several of them meet in one world.
    package enum Theme: String, Sendable, Hashable, CaseIterable {
        case kills, agentLink, relayLink, answers, pages, refusals, disk, stops, foreign, tokens, numbers, pairing,
            plenty
        /// No process runs for longer than the relay remembers keys.
        case sleep
        /// Runs of the agent's scheduler, and others in their session.
        case jobs
        /// Each code of the relay's, and codes that it does not have, on each method.
        case codes
        /// A process that is asked to stop, and the next one.
        case shutdowns
        /// Two connections, and all misfortune is on the first.
        case neighbours

        /// Those that the seed's first generator chooses among. A later one has a generator of its own.
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
        /// What the person taps when asked, and after how long; nil: nothing.
        package var decision: Decision?
        package var stopsAfter: Duration?
        /// Instead, it is stopped as soon as the agent has its prompt, and its loop has not begun.
        package var stopsAtPrompt = false
        /// The relay's reason for that Stop; nil: the person pressed it.
        package var stopReason: String?
        /// How long the agent is to think; nil: the phone says nothing.
        package var level: String?
        /// Another message under its interaction, and how long after it.
        package var second: WorldScript?
        package var secondAfter = Duration.zero

        package var text: String { "Question \(script.name)?" }
    }

    package struct Decision: Sendable {
        package var tap: String
        package var scope = ApprovalScope()
        /// "Always", and not everywhere.
        var isNarrow: Bool { ![ApprovalScope(), ApprovalScope(kind: "all")].contains(scope) }
        package var after: Duration
    }

    package enum Misfortune: Sendable {
        case kill(down: Duration)
        /// SIGTERM; `closing`: what runs ends with a line.
        case shutDown(closing: Bool, down: Duration)
        case cutGateway(away: Duration)
        /// The link is cut when so many more frames have passed.
        case cutGatewayBehind(frames: Int, away: Duration)
        /// The socket is up, and nothing passes.
        case deafGateway(Duration)
        case gatewayRestarts(down: Duration)
        case cutRelay
        case cutRelayBehind(frames: Int)
        case relayAway(Duration)
        case call(Fault)
        case socket(SocketFault)
        /// So often calls or their answers are lost on the way.
        case lossyCalls(rate: Double, Duration)
        case fullDisk(Duration)
        case slowDisk(sync: Duration, Duration)
        case deletesChat(Int)
        /// Another client's private run, in a session that also has a chat on the phone.
        case foreignRun(name: String, chat: Int?)
        /// The scheduler's run, which is shown where the configuration says so.
        case job(name: String)
        /// Another client's run, without a phone message.
        case privateRun(name: String, session: String)
        /// Of another job, in the same session; no run of it comes.
        case jobStarts(String)
        case jobFinishes(String)
        /// The person deletes or archives the chat in which the job answers.
        case leavesJobChat(archives: Bool)
        /// The relay cancels the chats of runs of others, for a reason of its own.
        case relayCancels(reason: String)
        /// The token is revoked; a new one is there after a while.
        case revokes(reloadAfter: Duration)
        /// The person pairs again.
        case anotherToken
        /// The agent refuses the bridge until its owner has approved it.
        case pairing(Duration)
        /// At the Oppi server of this side.
        case oppi(OppiTrouble)
        /// At the Codex of this side.
        case codex(CodexMisfortune)
        /// Numbers in frames are replaced by those at the ends of what a number can be.
        case distortsNumbers(Duration)
    }

    package struct Trouble: Sendable {
        package var at: Duration
        package var side: Int
        package var misfortune: Misfortune
    }

    package var seed: UInt64
    /// Of each side. Its era counts where that is OpenClaw.
    package var agents: [WorldAgentKind] = []
    /// How far this machine's clock is ahead of each side's relay.
    package var clocksAhead: [Duration] = []
    package var eras: [GatewayEra] = []
    package var mirrors: [Configuration.Mirror] = []
    package var deletedChats: [Configuration.DeletedChats] = []
    package var themes: Set<Theme> = []
    package var messages: [Message] = []
    package var jobs: [WorldJob] = []
    /// By the text of their message.
    package var files: [String: [WorldFile]] = [:]
    package var code: WorldCode?
    /// Questions that the relay refuses to show, by their approvals, and how long after them the person writes.
    package var refusedQuestions: [String: Duration] = [:]
    /// Nil: nothing is sealed.
    package var sealing: SealingPlan?
    /// A recipient of notices is configured.
    package var hasNotices = false
    /// The side that no misfortune meets, where there is one.
    package var untouched: Int?
    package var troubles: [Trouble] = []
    /// From then on nothing goes wrong any more.
    package var quietAt = Duration.seconds(20)
    /// What payloads of cards may hold in memory, where that is to be little.
    package var heldBytes: Int?

    /// After how long a run counts as silent, where that is short; nil: never. The line of a stuck one is that of `SilenceWorld`.
    package var quiet: Duration?

    /// Children that may run at once.
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
