package import Vocabulary

/// The beginning of a turn.
package struct TurnOpening: Sendable, Hashable {
    package var id: TurnID
    package var session: SessionID
    package var interaction: InteractionID?
    package var agentSession: AgentSession
    /// The idempotency key and, where the agent lets us choose, the run's id.
    package var run: RunID
    /// Nil if no phone message began the run.
    package var message: UserMessage?
    package var receivedAt: Instant
    /// The relay's time of the update, or nil if the relay did not give it or an earlier process did not keep it.
    package var made: RelayMoment?
    /// 30 minutes after the update was made or first seen, whichever is earlier.
    package var windowEnds: Instant
    /// Decided when the message comes. `.sealed(nil)`: the key is missing, and the text of `message` is empty until it comes.
    package var sealing: TurnSealing
    /// The sealed field of the message, unchanged. The journal keeps it instead of the text that was read from it.
    package var sealedText: String?
    /// A fixed sentence answers the message, and the agent never sees it.
    package var refusal: MessageRefusal?
    /// The message was made while this state directory was in use, so that its placeholder carries the mark (`Claim`).
    package var isMarked = false

    package init(
        id: TurnID, session: SessionID, interaction: InteractionID?, agentSession: AgentSession, run: RunID,
        message: UserMessage?, receivedAt: Instant, windowEnds: Instant, sealing: TurnSealing = .open,
        sealedText: String? = nil, refusal: MessageRefusal? = nil, made: RelayMoment? = nil
    ) {
        self.id = id
        self.session = session
        self.interaction = interaction
        self.agentSession = agentSession
        self.run = run
        self.message = message
        self.receivedAt = receivedAt
        self.windowEnds = windowEnds
        self.sealing = sealing
        self.sealedText = sealedText
        self.refusal = refusal
        self.made = made
    }

    /// The update is older than this message, delivered late or twice: its Stop was not for this message.
    package func isNewer(than update: RelayMoment?) -> Bool {
        guard let mine = made?.wallMilliseconds, let other = update?.wallMilliseconds else { return false }
        return mine.subtractingReportingOverflow(other).partialValue > RelayMoment.nodeSkewMilliseconds
    }

    /// Compares the moments at which the bridge heard of them: a mirrored run has no time of the relay's, and a Stop may have none.
    func beganAfter(_ moment: Instant) -> Bool {
        receivedAt - moment > .milliseconds(RelayMoment.nodeSkewMilliseconds)
    }

    /// The name is this turn's alone. An interaction may have a second message.
    func isOwnName(_ interaction: InteractionID) -> Bool { id.text == interaction.text }

    /// The name is the turn's interaction, or the one that its message alone would give it.
    func isNamed(_ interaction: InteractionID) -> Bool {
        self.interaction == interaction || id.text == interaction.text
            || message.map { StableHash.text(of: $0.id.text) == interaction.text } ?? false
    }

    /// The message came unsealed into a sealed chat. The relay may have written it, so it answers no question and decides no ask.
    package var cameInTheOpen: Bool {
        sealing.isSealed && sealedText == nil && message != nil && refusal == nil
    }

    /// A run that the scheduler or another client began, and that the bridge only shows. The relay can neither abort it nor answer its
    /// approvals: its client never asked the relay.
    package var isMirrored: Bool { message == nil && refusal == nil }
}

package struct TurnSettings: Sendable, Hashable {
    /// UTF-8 bytes that a bubble holds: below the relay's 64 KB a field (relay.md#size-limits).
    package var bubbleLimit = 60_000
    /// UTF-8 bytes that a sealed bubble holds, before sealing: the relay may count the base64 (relay.md#size-limits).
    package static let sealedBubbleLimit = 48_000
    /// How long a sealed message waits for its key (relay.md#session-key-life-cycle).
    package var keyPatience = Duration.seconds(120)
    /// How long a message waits for its files. The fetcher has limits of its own; this one covers files that it lost, and is longer than
    /// they can take together: 630 s with the longest `limits.file_time`.
    package var fetchPatience = Duration.seconds(660)
    package var files = MessageFiles.all
    /// How long before the window's end the bubble is ended.
    package var windowMargin = Duration.seconds(60)
    /// How long a message waits for an agent that is away.
    package var agentPatience = Duration.seconds(120)
    /// How long a stopped run may still bring partial text.
    package var stopPatience = Duration.seconds(3)
    /// How long the follow-up of a denied approval may take, and the pace of look-ups for that of an allowed one.
    package var followUpPatience = Duration.seconds(60)
    /// How long the follow-up of an allowed approval may take: longer than an agent gives a command (openclaw.md#approvals).
    package var commandPatience = Duration.seconds(1_860)
    /// How long the agent may take to answer a look-up after an empty end.
    package var lookUpPatience = Duration.seconds(5)
    /// The first look-up after a lost link, the pace of the next ones, and the time for all of them.
    package var firstLook = Duration.seconds(1)
    package var lookInterval = Duration.seconds(3)
    package var lookPatience = Duration.seconds(30)
    /// How long the agent may be silent after a failed attempt: longer than the 15 s for which it holds errors back
    /// (openclaw.md#order-of-frames-in-one-run).
    package var retryPatience = Duration.seconds(45)
    /// How long a run that outlived its bubble may still bring a late answer.
    package var runPatience = Duration.seconds(24 * 3600)
    /// Whether a client besides the bridge can answer an ask. A child of the bridge that begins runs of its own has none: an ask that
    /// cannot be shown is denied there.
    package var hasOtherClients = true
    /// Silence of a run before its bubble says how it is (`limits.quiet`), or nil if it never does.
    package var quiet: Duration?
    /// Silence before the chat says once that there is still nothing (`limits.stuck`), or nil if it never does.
    package var stuck: Duration?
    /// The decisions that the agent can take.
    package var abilities = GrantAbilities()
    package var asks = AskSettings()
    /// The agent runs a message once, however many bridges send it (`Claim`).
    package var promptHasKey = true
    /// The agent puts the words of a refusal into the run that asked.
    package var steersWords = false
    /// How long a bubble stays unopened while its sealed message waits for the key (`Claim`), or nil if nothing but the key's patience
    /// ends the wait.
    package var openingPatience: Duration? = .zero
    /// The relay takes the end of a card; learnt from its refusals (relay.md#requestapproval).
    var cardsHaveEnds = true
    /// Nil if cards name no hour.
    package var localTime: LocalTime?

    package init() {}

    func bubbleLimit(_ sealing: TurnSealing) -> Int {
        sealing.isSealed ? min(bubbleLimit, Self.sealedBubbleLimit) : bubbleLimit
    }
}

/// How a turn ended, for logs, counters and tests.
package enum TurnOutcome: String, Sendable, Hashable, CaseIterable {
    case answered, aborted, failed, lost, neverSent, gone
    /// Another bridge answers the message.
    case anothers
}
