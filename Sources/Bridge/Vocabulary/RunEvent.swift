/// The agent's reports about one run, in one vocabulary across all buses (DESIGN.md#a-runs-journey, step 5).
package enum RunEvent: Hashable, Sendable {
    /// An attempt of the run began. After `retrying` it is a new attempt: no text of the failed one may reach the final.
    case started
    case text(TextChange)
    case tool(ToolEvent)
    case approvalRequested(ApprovalRequest)
    case approvalSettled(ApprovalSettlement)
    /// The agent asks. The same id again means that the question is still open at the agent.
    case asked(Question)
    case questionSettled(QuestionSettlement)
    /// A tool call returned "waiting for approval": the run will end without its result, and the answer comes in a
    /// follow-up run (openclaw.md#approvals, shape 1).
    case paused(PausedCall)
    /// The attempt failed and the agent may try again under the same run; a final verdict is still to come.
    case retrying(reason: String)
    /// The run works without anything to show: a frame of thinking, or a step within the agent. At most one in `LifeSigns.interval`.
    case alive(RunActivity)
    case finished(RunEnd)
    case failed(RunFailure)
}

/// The work of a run that has nothing to show.
package enum RunActivity: Hashable, Sendable {
    case working
    /// The agent sums up the conversation, until the run's next event.
    case compacting
    /// The agent cannot reach its model and tries again within the same run. No sign of life.
    case retrying
}

/// How the run's text changed.
///
/// A run's text is a list of *segments*, joined by a blank line. A bus that speaks of the whole run (`chat` of
/// OpenClaw) has one segment and uses `append` and `snapshot`. A bus that speaks of one message at a time (OpenClaw's
/// `assistant`, Oppi, pi) uses `append`, `segment`, `replaced` and `segmentEnded`.
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
    /// The newest segment is complete, and this is its canonical text, or nil if the collected text
    /// stands. Text behind it begins a new segment. An empty segment leaves no trace.
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
    /// File that the call is about to touch. The file counts as touched if the call ends well.
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
    /// Output so far, cut by the decoder to the size of a card. With `append` it extends the earlier output, otherwise it replaces it.
    package var output: String?
    package var append: Bool
    package var percent: Int?
    /// Files touched so far.
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
    /// The bus sends the output before the end and never in it: the streamed output belongs to the result (oppi.md#tool-calls).
    package var lacksOutput = false
    /// Touched files that only the end names.
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
    /// Kind of the request. The relay's `action` and the agent's method for the answer depend on it.
    package enum Subject: String, Hashable, Sendable { case exec, plugin, permission, dialog }

    package enum Severity: String, Hashable, Sendable { case low, medium, high, critical }

    package var id: ApprovalID
    package var subject: Subject
    package var title: String
    /// Empty for some agents. The card then shows other fields: the relay refused an empty message (relay.md#requestapproval).
    package var message: String
    /// The whole command as it will run, or the whole compact input of the tool. Never a summary.
    package var command: String?
    package var host: String?
    package var slug: String?
    package var call: ToolCallID?
    package var severity: Severity
    /// End of the agent's patience, on the bridge's own clock, or nil if it never ends or is unknown.
    package var expiresAt: Instant?
    /// Decisions that the agent takes, or nil if it takes all of them.
    package var allowed: Set<ApprovalDecision>?
    /// Facts beside the command that decide whether a yes is safe.
    package var facts: AskFacts
    /// The agent's bus names only a part of a yes's consequences: a person can only deny.
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

/// An approval's fate at the agent.
package struct ApprovalSettlement: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// Decided, by this bridge or by another client of the agent.
        case decided(ApprovalDecision)
        /// The agent stopped waiting.
        case expired
        /// The agent does not know the approval, or no longer.
        case unknown
        /// The question was withdrawn, for example because its session ended.
        case cancelled
        /// This bridge sent its decision and cannot find out whether the agent got it: no confirmation came, and the question is gone.
        case inDoubt
        /// The decision is in doubt, and the process that asked is gone: no confirmation can follow.
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
        /// Cancelled by the user or the system; the text is the part until then.
        case aborted
    }

    /// Extent of `text`.
    package enum Scope: Hashable, Sendable {
        /// The whole run.
        case run
        /// The newest segment only (OpenClaw E1).
        case segment
    }

    /// Canonical text, or nil if the bus gives none. Nil never blanks a bubble: the input may have been queued into another
    /// run, the reply may be silent, or only the history may have the text (openclaw.md#chat, end).
    package var text: String?
    package var scope: Scope
    package var usage: Usage?
    package var reason: Reason
    /// The agent cut the text (marker strings, caps); it must not replace a longer one.
    package var truncated: Bool
    /// The text comes from the history, goes beyond the run and holds its follow-up's answer as well.
    package var includesFollowUp: Bool
    /// Time within which another run may continue as a follow-up (openclaw.md#approvals).
    package var nextWithin: Duration?
    /// Rows of `text`, from a history alone; `joined` puts them together along the streamed text.
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
        /// A Stop does not reach the run: it continues, unseen.
        case unstoppable
        /// The run has not begun; the agent takes it up with a later message.
        case queued
    }

    package var kind: Kind
    /// The agent's own words. The turn makes a sentence of them that a person can act on.
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
    /// Range of a plausible cost in dollars. Any other number is no price.
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
    /// Sum of two parts of one turn. The model is the later one's.
    package static func + (earlier: Usage, later: Usage) -> Usage {
        let costs = [earlier.estimatedCostUSD, later.estimatedCostUSD].compactMap(\.self)
        return Usage(
            inputTokens: sum(earlier.inputTokens, later.inputTokens),
            outputTokens: sum(earlier.outputTokens, later.outputTokens),
            estimatedCostUSD: costs.isEmpty ? nil : costs.reduce(0, +), model: later.model ?? earlier.model,
            provider: later.provider ?? earlier.provider)
    }

    /// Far sides may report counts close to the largest integer, and repeatedly: the sum saturates.
    private static func sum(_ one: Int, _ other: Int) -> Int {
        let (sum, overflows) = one.addingReportingOverflow(other)
        return overflows ? limit : min(sum, limit)
    }

    /// Largest count that JavaScript represents exactly.
    private static let limit = 1 << 53
}

/// A run event with the address its bus gave it.
package struct RunSignal: Hashable, Sendable {
    /// Nil if the bus names only the session, as OpenClaw does for approvals.
    package var run: RunID?
    package var session: AgentSession?
    package var event: RunEvent

    package init(run: RunID?, session: AgentSession?, event: RunEvent) {
        self.run = run
        self.session = session
        self.event = event
    }
}
