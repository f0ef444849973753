/// What an agent's bus says about one run, in one vocabulary whatever the bus (DESIGN.md#a-runs-journey, step 5).
package enum RunEvent: Hashable, Sendable {
    /// An attempt of the run began. After `retrying` it is a new attempt: nothing of the failed one may reach the final.
    case started
    case text(TextChange)
    case tool(ToolEvent)
    case approvalRequested(ApprovalRequest)
    case approvalSettled(ApprovalSettlement)
    /// Asked again under the same id: it is still open at the agent.
    case asked(Question)
    case questionSettled(QuestionSettlement)
    /// A tool call returned "waiting for approval": the run will end without its result, and the answer comes in a
    /// follow-up run (openclaw.md#approvals, shape 1).
    case paused(PausedCall)
    /// The attempt failed and the agent may try again under the same run; a final verdict is still to come.
    case retrying(reason: String)
    /// The run works, and has nothing to show of it: a frame of thinking, or a step within the agent. At most one in
    /// `LifeSigns.interval`.
    case alive(RunActivity)
    case finished(RunEnd)
    case failed(RunFailure)
}

/// The work of a run that has nothing to show.
package enum RunActivity: Hashable, Sendable {
    case working
    /// The agent sums up the conversation, until the run's next event.
    case compacting
    /// The agent cannot reach its model and tries again within the same run: no sign of life.
    case retrying
}

/// How the run's text changed.
///
/// A run's text is a list of *segments*, joined by a blank line. Buses that speak of the whole run (`chat` of OpenClaw)
/// have one segment and use `append` and `snapshot`; buses that speak of one message at a time (OpenClaw's `assistant`, Oppi, pi)
/// use `append`, `segment`, `replaced` and `segmentEnded`.
package enum TextChange: Hashable, Sendable {
    /// The newest segment grew by this.
    case append(String)
    /// The text of the whole run is exactly this now; all segments are replaced by one.
    case snapshot(String)
    /// The newest segment is exactly this now. A text that neither extends nor trims the newest segment begins a new
    /// one (openclaw.md#chat, "E1 only").
    case segment(String)
    /// The newest segment is exactly this now, whatever it was.
    case replaced(String)
    /// The newest segment is complete, and this is its canonical text (nil: what was collected); what follows begins a new
    /// one. An empty segment leaves no trace.
    case segmentEnded(String?)
}

package enum ToolEvent: Hashable, Sendable {
    case started(ToolStart)
    case progress(ToolProgress)
    case finished(ToolResult)
}

/// The channels that report a tool call, richest first (openclaw.md#agent). Oppi and pi have `call` alone.
package enum ToolChannel: Int, Hashable, Sendable, Comparable {
    /// `stream:"tool"`: arguments and results.
    case call = 0
    /// `item` of kind command or patch: the human title, exit status, output.
    case command = 1
    /// `item` of kind tool: only that the call exists.
    case item = 2

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

package struct ToolStart: Hashable, Sendable {
    package var call: ToolCallID
    package var channel: ToolChannel
    /// The tool's name, as the agent knows it.
    package var name: String
    /// A title made by the agent for people, if there is one.
    package var title: String?
    /// The arguments as compact JSON.
    package var arguments: JSONText?
    /// What it is about to touch: it has when the call ends well.
    package var file: ToolFile?

    package init(
        call: ToolCallID, channel: ToolChannel = .call, name: String, title: String? = nil, arguments: JSONText? = nil,
        file: ToolFile? = nil
    ) {
        self.call = call
        self.channel = channel
        self.name = name
        self.title = title
        self.arguments = arguments
        self.file = file
    }
}

package struct ToolProgress: Hashable, Sendable {
    package var call: ToolCallID
    package var channel: ToolChannel
    package var title: String?
    /// Output so far, cut by the decoder to what a card can show; `append`: it extends the earlier output, else it replaces it.
    package var output: String?
    package var append: Bool
    package var percent: Int?
    /// What it has touched by now.
    package var files: [ToolFile] = []

    package init(
        call: ToolCallID, channel: ToolChannel = .call, title: String? = nil, output: String? = nil,
        append: Bool = false, percent: Int? = nil
    ) {
        self.call = call
        self.channel = channel
        self.title = title
        self.output = output
        self.append = append
        self.percent = percent
    }
}

package struct ToolResult: Hashable, Sendable {
    package enum Status: String, Hashable, Sendable { case completed, failed, cancelled }

    package var call: ToolCallID
    package var channel: ToolChannel
    package var name: String?
    package var status: Status
    package var title: String?
    /// The result as compact JSON; a text result is a JSON string.
    package var result: JSONText?
    package var error: String?
    /// The bus sends the output before the end and never in it: what was sent belongs to the result (oppi.md#tool-calls).
    package var lacksOutput = false
    /// What only the end says that it has touched.
    package var files: [ToolFile] = []

    package init(
        call: ToolCallID, channel: ToolChannel = .call, name: String? = nil, status: Status, title: String? = nil,
        result: JSONText? = nil, error: String? = nil
    ) {
        self.call = call
        self.channel = channel
        self.name = name
        self.status = status
        self.title = title
        self.result = result
        self.error = error
    }
}

/// A tool call that returned "waiting for approval" instead of a result.
package struct PausedCall: Hashable, Sendable {
    package var call: ToolCallID?
    package var approval: ApprovalID

    package init(call: ToolCallID?, approval: ApprovalID) {
        self.call = call
        self.approval = approval
    }
}

package struct ApprovalRequest: Hashable, Sendable {
    /// What is asked for; it chooses the relay's `action` and the agent's method to answer by.
    package enum Subject: String, Hashable, Sendable { case exec, plugin, permission, dialog }

    package enum Severity: String, Hashable, Sendable { case low, medium, high, critical }

    package var id: ApprovalID
    package var subject: Subject
    package var title: String
    /// May be empty; the card then says what it can (relay.md#requestapproval: an empty message was refused by the relay).
    package var message: String
    /// The whole command as it will run, or the whole compact input of the tool. Never a summary.
    package var command: String?
    package var host: String?
    package var slug: String?
    package var call: ToolCallID?
    package var severity: Severity
    /// When the agent stops waiting, on the bridge's own clock; nil: never, or unknown.
    package var expiresAt: Instant?
    /// The decisions the agent would take; nil: all.
    package var allowed: Set<ApprovalDecision>?
    /// What decides beside the command whether a yes is safe.
    package var facts: AskFacts
    /// The agent's bus does not say all that a yes would do: a person can only deny it.
    package var isIncomplete = false

    package init(
        id: ApprovalID, subject: Subject, title: String, message: String = "", command: String? = nil,
        host: String? = nil, slug: String? = nil, call: ToolCallID? = nil, severity: Severity = .medium,
        expiresAt: Instant? = nil, allowed: Set<ApprovalDecision>? = nil, facts: AskFacts = AskFacts()
    ) {
        self.id = id
        self.subject = subject
        self.title = title
        self.message = message
        self.command = command
        self.host = host
        self.slug = slug
        self.call = call
        self.severity = severity
        self.expiresAt = expiresAt
        self.allowed = allowed
        self.facts = facts
    }
}

package enum ApprovalDecision: String, Hashable, Sendable {
    case approve
    case approveAlways = "approve_always"
    case deny
}

/// What became of an approval at the agent.
package struct ApprovalSettlement: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// Decided, by this bridge or by another client of the agent.
        case decided(ApprovalDecision)
        /// The agent stopped waiting.
        case expired
        /// The agent does not know it (any more).
        case unknown
        /// The question was withdrawn, for example because its session ended.
        case cancelled
        /// This bridge's decision was sent, and it cannot be found out whether the agent got it: nothing confirms it, and the question
        /// is gone.
        case inDoubt
        /// As in doubt, and with the process that had asked: nothing more comes of it.
        case gone

        /// Somebody said yes.
        package var allows: Bool { if case .decided(let decision) = self { decision != .deny } else { false } }
    }

    package var id: ApprovalID
    package var outcome: Outcome
    /// Who decided, in the agent's words, if it says so.
    package var by: String?

    package init(id: ApprovalID, outcome: Outcome, by: String? = nil) {
        self.id = id
        self.outcome = outcome
        self.by = by
    }
}

package struct RunEnd: Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        case stop, length, contentFilter, toolCall
        /// Cancelled by the user or the system; the text is what there was.
        case aborted
    }

    /// What `text` covers.
    package enum Scope: Hashable, Sendable {
        /// The whole run.
        case run
        /// The newest segment only (OpenClaw E1).
        case segment
    }

    /// The canonical text, where the bus gives one. Nil never blanks a bubble: the input may have been queued into another
    /// run, the reply may be silent, or the text is in the history only (openclaw.md#chat, end).
    package var text: String?
    package var scope: Scope
    package var usage: Usage?
    package var reason: Reason
    /// The agent cut the text (marker strings, caps), so that it must not replace a longer one.
    package var truncated: Bool
    /// From the history only: the text goes beyond the run and holds its follow-up's answer as well.
    package var includesFollowUp: Bool
    /// A follow-up may be continued by another run within this time (openclaw.md#approvals).
    package var nextWithin: Duration?
    /// From the history only: the parts of `text`, to be joined by what was streamed (`joined`).
    package internal(set) var rows: [Row] = []

    package init(
        text: String? = nil, scope: Scope = .run, usage: Usage? = nil, reason: Reason = .stop, truncated: Bool = false,
        includesFollowUp: Bool = false
    ) {
        self.text = text
        self.scope = scope
        self.usage = usage
        self.reason = reason
        self.truncated = truncated
        self.includesFollowUp = includesFollowUp
    }
}

package struct RunFailure: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case refusal, timeout, rateLimit, contextLength, agentGone, other
        /// The model's provider refuses the agent's login: the same message fails again until somebody renews it.
        case noLogin
        /// A Stop does not reach it: it goes on, unseen.
        case unstoppable
        /// It has not begun, and the agent takes it up with a later message.
        case queued
    }

    package var kind: Kind
    /// The agent's own words; the turn makes a sentence of it that a person can act on.
    package var message: String
    package var text: String?
    package var usage: Usage?

    package init(kind: Kind = .other, message: String, text: String? = nil, usage: Usage? = nil) {
        self.kind = kind
        self.message = message
        self.text = text
        self.usage = usage
    }
}

/// Tokens and cost of a run, as the relay wants them (relay.md#sendmessage-whole-reply-or-the-placeholder-of-a-streamed-one).
package struct Usage: Hashable, Sendable {
    /// What a run may be said to have cost, in dollars. Anything else is no price.
    package static let costs: ClosedRange<Double> = 0...1e9

    package var inputTokens: Int
    package var outputTokens: Int
    package var estimatedCostUSD: Double?
    package var model: String?
    package var provider: String?

    package init(
        inputTokens: Int, outputTokens: Int, estimatedCostUSD: Double? = nil, model: String? = nil,
        provider: String? = nil
    ) {
        self.inputTokens = inputTokens
        self.outputTokens = outputTokens
        self.estimatedCostUSD = estimatedCostUSD
        self.model = model
        self.provider = provider
    }
}

extension Usage {
    /// Two parts of one turn: the model is that of the later one.
    package static func + (earlier: Usage, later: Usage) -> Usage {
        let costs = [earlier.estimatedCostUSD, later.estimatedCostUSD].compactMap(\.self)
        return Usage(
            inputTokens: sum(earlier.inputTokens, later.inputTokens),
            outputTokens: sum(earlier.outputTokens, later.outputTokens),
            estimatedCostUSD: costs.isEmpty ? nil : costs.reduce(0, +), model: later.model ?? earlier.model,
            provider: later.provider ?? earlier.provider)
    }

    /// What a far side says may be at the end of what a number can be, and come again and again.
    private static func sum(_ one: Int, _ other: Int) -> Int {
        let (sum, overflows) = one.addingReportingOverflow(other)
        return overflows ? limit : min(sum, limit)
    }

    /// What JavaScript counts exactly.
    private static let limit = 1 << 53
}

/// A run event with the address its bus gave it.
package struct RunSignal: Hashable, Sendable {
    /// Missing where the bus names only the session, as OpenClaw does for approvals.
    package var run: RunID?
    package var session: AgentSession?
    package var event: RunEvent

    package init(run: RunID?, session: AgentSession?, event: RunEvent) {
        self.run = run
        self.session = session
        self.event = event
    }
}
