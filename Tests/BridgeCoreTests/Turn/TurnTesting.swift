import Vocabulary

@testable import BridgeCore

/// Testing has an `Attachment` of its own.
typealias Attachment = Vocabulary.Attachment

/// Turns in known states, with short words for their events. The window ends at 30 minutes, the bubble at 29.
enum Make {
    static let start = Instant.zero
    static let message = UserMessage(
        id: MessageID("m1"), session: SessionID("ses_1"), interaction: InteractionID("int_1"), text: "hello")
    static let opening = TurnOpening(
        id: TurnID("int_1"), session: SessionID("ses_1"), interaction: InteractionID("int_1"),
        agentSession: AgentSession("chat"), run: RunID("r1"), message: message, receivedAt: start,
        windowEnds: start + .seconds(1_800))

    static func waiting(_ settings: TurnSettings = TurnSettings()) -> Turn {
        var turn = Turn(opening, settings: settings)
        _ = turn.begin(at: start)
        _ = turn.reported(.delivered(.open, message: MessageID("b1")), at: start)
        return turn
    }

    static func running(_ settings: TurnSettings = TurnSettings()) -> Turn {
        var turn = waiting(settings)
        _ = turn.handOver(at: start)
        _ = turn.sendAnswered(.accepted(run: RunID("r1")), at: start)
        return turn
    }

    /// The run has said this.
    static func speaking(_ text: String) -> Turn {
        var turn = running()
        _ = turn.on(.text(.append(text)))
        return turn
    }

    /// The run asked for an approval, inline or detached, with an open card of the tool that asks.
    static func asking(detached: Bool, expiresAt: Instant? = nil, allowed: Set<ApprovalDecision>? = nil) -> Turn {
        var turn = speaking("Let me look.")
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "exec"))))
        _ = turn.on(.approvalRequested(request(expiresAt: expiresAt, allowed: allowed)))
        if detached { _ = turn.on(.paused(PausedCall(call: ToolCallID("c1"), approval: ApprovalID("a1")))) }
        return turn
    }

    /// The first run has ended, and its approval is open.
    static func holding() -> Turn {
        var turn = asking(detached: true)
        _ = turn.on(.finished(RunEnd(text: "Let me look.")))
        return turn
    }

    static func request(expiresAt: Instant? = nil, allowed: Set<ApprovalDecision>? = nil) -> ApprovalRequest {
        ApprovalRequest(
            id: ApprovalID("a1"), subject: .exec, title: "Run a command", command: "ls", expiresAt: expiresAt,
            allowed: allowed)
    }

    static let lookUp = TurnOrder.command(.lookUp(session: AgentSession("chat"), run: RunID("r1")))
    static let abort = TurnOrder.command(.abort(session: AgentSession("chat"), run: RunID("r1")))
    /// No person pressed Stop.
    static let leave = TurnOrder.command(.abort(session: AgentSession("chat"), run: RunID("r1"), reach: .ownRuns))
    static func resolve(_ decision: ApprovalDecision, of request: ApprovalRequest = request()) -> TurnOrder {
        .command(
            .resolve(
                approval: ApprovalID("a1"), subject: .exec, decision: decision,
                shown: decision == .deny ? nil : AskFingerprint(of: request)))
    }
    static func end(
        _ text: String, _ reason: EndOfTurn.FinishReason? = nil, usage: Usage? = nil, form: Int = 1
    ) -> TurnOrder {
        .post(.end(EndOfTurn(text: text, usage: usage, finishReason: reason, form: form)))
    }
    static func whole(_ part: WholeMessage.Part, _ text: String, usage: Usage? = nil) -> Post {
        .message(WholeMessage(part: part, text: text, usage: usage))
    }
    static func taskEnded(_ status: ToolResult.Status, label: String? = nil, task: String = "c1") -> TurnOrder {
        .post(.taskEnded(TaskEnd(task: TaskID(task), name: "exec", status: status, label: label)))
    }
}

extension Turn {
    mutating func on(_ event: RunEvent, run: String = "r1", at seconds: Double = 0) -> [TurnOrder] {
        runEvent(event, of: RunID(run), at: .at(seconds))
    }
}

extension Instant {
    static func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }
}
