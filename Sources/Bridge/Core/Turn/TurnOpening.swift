package import Vocabulary

/// What a turn begins with.
package struct TurnOpening: Sendable, Hashable {
    package var id: TurnID
    package var session: SessionID
    package var interaction: InteractionID?
    package var agentSession: AgentSession
    /// The idempotency key and, where the agent lets us choose, the run's id.
    package var run: RunID
    /// Nil: a run that no phone message began.
    package var message: UserMessage?
    package var receivedAt: Instant
    /// When the relay made the update; nil: it did not say, or a process before this one did not keep it.
    package var made: RelayMoment?
    /// 30 minutes after the update was made or first seen, whichever is earlier.
    package var windowEnds: Instant
    /// Decided when the message comes. `.sealed(nil)`: its key has not come, and the text of `message` is empty until it has.
    package var sealing: TurnSealing
    /// The field of a message that came sealed, as it came. The journal keeps it in place of the text that was read from it.
    package var sealedText: String?
    /// The message is answered by a fixed sentence, and the agent never sees it.
    package var refusal: MessageRefusal?
    /// The message was made while this state directory was in use, so that its placeholder says whose it is (`Claim`).
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

    /// That update is an older one, delivered late or a second time: its Stop was not for this message.
    package func isNewer(than update: RelayMoment?) -> Bool {
        guard let mine = made?.wallMilliseconds, let other = update?.wallMilliseconds else { return false }
        return mine.subtractingReportingOverflow(other).partialValue > RelayMoment.nodeSkewMilliseconds
    }

    /// A mirrored run has no time of the relay's, and a Stop may have none: then the moments at which they were heard count.
    func beganAfter(_ moment: Instant) -> Bool {
        receivedAt - moment > .milliseconds(RelayMoment.nodeSkewMilliseconds)
    }

    /// The name is this turn's alone; its interaction may have a second message.
    func isOwnName(_ interaction: InteractionID) -> Bool { id.text == interaction.text }

    /// By its interaction, or by the name that its message alone would give it.
    func isNamed(_ interaction: InteractionID) -> Bool {
        self.interaction == interaction || id.text == interaction.text
            || message.map { StableHash.text(of: $0.id.text) == interaction.text } ?? false
    }

    /// The message is in the open in a sealed chat. Its writer may be the relay, so it answers no question and decides no ask.
    package var cameInTheOpen: Bool {
        sealing.isSealed && sealedText == nil && message != nil && refusal == nil
    }

    /// A run that the scheduler or another client began, and that the bridge only shows. Nothing that the relay says may abort
    /// it or answer its approvals: its client never asked the relay.
    package var isMirrored: Bool { message == nil && refusal == nil }
}

package struct TurnSettings: Sendable, Hashable {
    /// UTF-8 bytes a bubble holds: under the relay's 64 KB a field (relay.md#size-limits).
    package var bubbleLimit = 60_000
    /// Likewise of a sealed one, before it is sealed: the relay may count the base64 (relay.md#size-limits).
    package static let sealedBubbleLimit = 48_000
    /// How long a sealed message waits for its key (relay.md#session-key-life-cycle).
    package var keyPatience = Duration.seconds(120)
    /// How long a message waits for its files. The fetcher has limits of its own; this one is for files that it lost,
    /// and longer than they can take together: 630 s with the longest `limits.file_time`.
    package var fetchPatience = Duration.seconds(660)
    package var files = MessageFiles.all
    /// How long before the window's end the bubble is ended.
    package var windowMargin = Duration.seconds(60)
    /// How long a message waits for an agent that is away.
    package var agentPatience = Duration.seconds(120)
    /// How long partial text is awaited after a stop.
    package var stopPatience = Duration.seconds(3)
    /// How long the follow-up of a denied approval is awaited, and the pace at which the history is asked for that of an allowed one.
    package var followUpPatience = Duration.seconds(60)
    /// How long that of an allowed one is: longer than an agent gives a command (openclaw.md#approvals).
    package var commandPatience = Duration.seconds(1_860)
    /// How long the agent may take to answer a look-up that an empty end asks for.
    package var lookUpPatience = Duration.seconds(5)
    /// The first look after a lost link, the pace of the next ones, and how long in all.
    package var firstLook = Duration.seconds(1)
    package var lookInterval = Duration.seconds(3)
    package var lookPatience = Duration.seconds(30)
    /// A failed attempt after which the agent says nothing: longer than the 15 s it holds errors back (openclaw.md#order-of-frames-in-one-run).
    package var retryPatience = Duration.seconds(45)
    /// How long a run that outlived its bubble may still bring a late answer.
    package var runPatience = Duration.seconds(24 * 3600)
    /// How long nothing is heard of a run before its bubble says how it is (`limits.quiet`); nil: never.
    package var quiet: Duration?
    /// How long before the chat says once that there is still nothing (`limits.stuck`); nil: never.
    package var stuck: Duration?
    /// The decisions that the agent can take.
    package var abilities = GrantAbilities()
    package var asks = AskSettings()
    /// The agent runs a message once, however many bridges send it (`Claim`).
    package var promptHasKey = true
    /// The agent puts what a person says instead of a yes into the run that asked.
    package var steersWords = false
    /// How long a message that cannot be read yet waits for its key before its bubble is opened (`Claim`); nil: as long as for anything.
    package var openingPatience: Duration? = .zero
    /// The relay takes the end of a card; learnt from its refusals (relay.md#requestapproval).
    var cardsHaveEnds = true
    /// Nil: cards name no hour.
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
