package import AgentKit
package import BridgeModel
import JSONReading

/// Frames of an Oppi server, both dialects (oppi.md#dialects), to observations.
///
/// - `message_end` is authoritative; deltas are a preview that may have holes (oppi.md#canonical-text). After a reconnect in mid-message
///   the additions have no place until the next live `message_end` (14.4).
/// - Frames with a `seq` not above the last one seen of their session are repeats (14.4).
/// - `agent_end` after an error or an empty message holds its verdict for 2 s, because a retry may follow (9.5).
package struct OppiDecoder: AgentDecoder {
    private struct Session {
        var lastSequence = 0
        var runs = 0
        var isRunning = false
        var isRetrying = false
        var prompted: RunID?
        var lacksBeginning = false
        var sawText = false
        var lastMessageWasEmpty = false
        var lastError: String?
        var stopping = false
        var tokens: (input: Int, output: Int)?
        var tokensAtStart: (input: Int, output: Int)?
        var held: (event: RunEvent, until: Instant)?
        var calls = OppiCalls()
    }

    private let parser = FrameParser()
    private var sessions: [AgentSession: Session] = [:]
    private var prompts: [String: (AgentSession, RunID)] = [:]
    private var tracesAsked: [AgentSession] = []
    private var isLost = false
    /// The head dialect, recognised by frames that only it sends.
    private var isHead = false
    package private(set) var unknown = UnknownTally()

    private static let typesWithoutSession: Set = [
        "stream_connected", "rpc_result", "command_result", "turn_ack", "error", "git_status",
    ]

    package init() {}

    package var nextDeadline: Instant? { sessions.values.compactMap { $0.held?.until }.min() }

    package mutating func deadlineHit(at now: Instant) -> [Observation] {
        sessions.keys.sorted().flatMap { id -> [Observation] in
            guard let held = sessions[id]?.held, held.until <= now else { return [] }
            return settle(id)
        }
    }

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else {
            unknown.countMalformed()
            return []
        }
        if root["_ws"]?.holds("close") == true { return lost() }
        if let http = root["_http"] { return trace(http["body"]) }
        guard let type = root["type"]?.string else {
            unknown.countMalformed()
            return []
        }
        guard let name = (root["sessionId"] ?? root["session"]?["id"])?.string else {
            if !Self.typesWithoutSession.contains(type) { unknown.count("frame", type) }
            return type == "stream_connected" && isLost ? connected() : response(root, type)
        }
        let id = AgentSession(name)
        if sessions[id] == nil, sessions.count >= 1_000 { return [] }
        if let sequence = root["seq"]?.integer(in: .counts) {
            guard sequence > sessions[id]?.lastSequence ?? 0 else { return [] }
            sessions[id, default: Session()].lastSequence = sequence
        } else if sessions[id] == nil {
            sessions[id] = Session()
        }
        var observations: [Observation] = []
        if sessions[id]?.held != nil, !["state", "retry_start", "git_status"].contains(type) {
            observations += settle(id)
        }
        return observations + event(type, root, id, at: now)
    }

    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity) else { return [] }
        if let path = root["_http"]?["path"]?.string { return asked(path) }
        let session = root["sessionId"]?.string.map { AgentSession($0) }
        switch root["type"]?.string {
        case "prompt":
            guard let session else { return [] }
            sessions[session, default: Session()].runs += 1
            let run = run(of: session)
            sessions[session]?.prompted = run
            if let request = root["requestId"]?.string, prompts.count < 1_000 { prompts[request] = (session, run) }
            return [.prompt(AgentPrompt(session: session, run: run, text: root["message"]?.string ?? ""))]
        case "stop", "abort": return [.stopSent(session: session, run: nil)]
        case "extension_ui_response":
            guard let id = root["id"]?.string else { return [] }
            return [.decisionSent(ApprovalID(id), DialogAnswer.decision(root))]
        case "permission_response":
            guard let id = root["id"]?.string else { return [] }
            let allows = root["action"]?.holds("allow") == true
            let isOnce = root["scope"] == nil || root["scope"]?.holds("once") == true
            return [.decisionSent(ApprovalID(id), allows ? (isOnce ? .approve : .approveAlways) : .deny)]
        default: return []
        }
    }

    // MARK: The link

    private mutating func lost() -> [Observation] {
        isLost = true
        for id in sessions.keys where sessions[id]?.isRunning == true { sessions[id]?.lacksBeginning = true }
        return [.linkLost]
    }

    private mutating func connected() -> [Observation] {
        isLost = false
        return [.linkBack]
    }

    private mutating func asked(_ path: String) -> [Observation] {
        let parts = path.split(separator: "/")
        if let at = parts.firstIndex(of: "sessions"), at + 1 < parts.count, tracesAsked.count < 100 {
            tracesAsked.append(AgentSession(String(parts[at + 1].prefix { $0 != "?" })))
        }
        return []
    }

    /// The whole history of a session: what became of the run that was open when the link went (oppi.md#recommended-connector-procedure).
    private mutating func trace(_ body: FrameNode?) -> [Observation] {
        guard let rows = body?["trace"]?.elements, !tracesAsked.isEmpty else { return [] }
        let id = tracesAsked.removeFirst()
        guard sessions[id]?.isRunning == true else { return [] }
        let question = rows.lastIndex { $0["type"]?.holds("user") == true } ?? rows.startIndex
        let texts = rows[question...].filter { $0["type"]?.holds("assistant") == true }.compactMap {
            $0["text"]?.string
        }
        let text = texts.joined(separator: RunJoint.blankLine)
        let run = run(of: id)
        if body?["session"]?["status"]?.holds("busy") == true { return [.lookedUp(run, .running(text: nil))] }
        sessions[id]?.isRunning = false
        return [.lookedUp(run, text.isEmpty ? .unknown : .ended(RunEnd(text: text)))]
    }

    // MARK: Events

    private func run(of id: AgentSession) -> RunID { RunID("oppi-\(id)-\(sessions[id]?.runs ?? 0)") }

    private func signal(_ id: AgentSession, _ event: RunEvent) -> Observation {
        .signal(RunSignal(run: run(of: id), session: id, event: event))
    }

    private mutating func settle(_ id: AgentSession) -> [Observation] {
        guard let held = sessions[id]?.held else { return [] }
        let observation = signal(id, held.event)
        sessions[id]?.held = nil
        sessions[id]?.isRunning = false
        return [observation]
    }

    private mutating func event(_ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant) -> [Observation]
    {
        switch type {
        case "agent_start": return begun(id)
        case "text_delta":
            guard sessions[id]?.lacksBeginning == false, let delta = root["delta"]?.string, !delta.isEmpty else {
                return []
            }
            sessions[id]?.sawText = true
            return [signal(id, .text(.append(delta)))]
        case "message_end": return messageEnded(root, id)
        case "tool_start", "tool_output", "tool_end": return tool(type, root, id)
        case "agent_end": return ended(id, at: now)
        case "retry_start":
            sessions[id]?.held = nil
            sessions[id]?.isRetrying = true
            return [signal(id, .retrying(reason: root["errorMessage"]?.string ?? ""))]
        case "retry_end":
            guard root["success"]?.flag == false, sessions[id]?.isRetrying == true else { return [] }
            sessions[id]?.isRetrying = false
            sessions[id]?.isRunning = false
            return [signal(id, .failed(RunFailure(message: root["finalError"]?.string ?? "")))]
        case "error":
            return failed(root, id)
        case "stop_requested":
            sessions[id]?.stopping = true
            return []
        case "stop_confirmed":
            sessions[id]?.stopping = false
            guard sessions[id]?.isRunning == true else { return [] }
            sessions[id]?.isRunning = false
            return [signal(id, .finished(RunEnd(reason: .aborted)))]
        case "session_ended":
            sessions[id]?.lastSequence = 0
            guard sessions[id]?.isRunning == true else { return [] }
            sessions[id]?.isRunning = false
            return [signal(id, .failed(RunFailure(kind: .agentGone, message: root["reason"]?.string ?? "")))]
        case "state":
            guard root["session"]?["id"]?.string == id.text, let tokens = root["session"]?["tokens"] else { return [] }
            if let input = tokens["input"]?.integer(in: .counts),
                let output = tokens["output"]?.integer(in: .counts)
            {
                sessions[id]?.tokens = (input, output)
            }
            return []
        case "connected":
            // A smaller number than the last one seen is a new activation: the numbers restart (oppi.md#on-the-socket).
            let last = sessions[id]?.lastSequence ?? 0
            if let current = root["currentSeq"]?.integer(in: .counts), current < last {
                sessions[id]?.lastSequence = current
            }
            return []
        case "permission_request", "permission_expired", "permission_cancelled":
            return permission(type, root, id, at: now)
        case "rpc_result": return response(root, type)
        case "command_result", "queue_state", "queue_item_started":
            isHead = true
            return response(root, type)
        case "extension_ui_request": return dialog(root, id, at: now)
        case "turn_start", "turn_end", "turn_ack", "thinking_delta", "compaction_start", "compaction_end",
            "stop_failed",
            "extension_ui_notification", "git_status", "session_deleted", "stream_connected":
            return []
        default:
            unknown.count("frame", type)
            return []
        }
    }

    private mutating func begun(_ id: AgentSession) -> [Observation] {
        if sessions[id]?.isRetrying != true, sessions[id]?.prompted == nil { sessions[id]?.runs += 1 }
        sessions[id]?.prompted = nil
        sessions[id]?.isRetrying = false
        sessions[id]?.isRunning = true
        sessions[id]?.lacksBeginning = false
        sessions[id]?.lastError = nil
        sessions[id]?.lastMessageWasEmpty = false
        sessions[id]?.calls = OppiCalls()
        sessions[id]?.sawText = false
        let tokens = sessions[id]?.tokens
        sessions[id]?.tokensAtStart = tokens
        return [signal(id, .started)]
    }

    private mutating func messageEnded(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        guard root["role"]?.holds("assistant") == true else { return [] }
        let text = root["content"]?.string ?? ""
        sessions[id]?.lastMessageWasEmpty = text.isEmpty
        // A message before the start of its run: the run began while the link was down.
        if sessions[id]?.isRunning != true { _ = begun(id) }
        // Replayed ends come before the live one of the message that was cut.
        sessions[id]?.lacksBeginning = false
        let calls = sessions[id]?.calls.messageEnded() ?? []
        return [signal(id, .text(.segmentEnded(text)))] + calls.map { signal(id, .tool(.started($0))) }
    }

    private mutating func failed(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        let message = root["error"]?.string ?? ""
        // Without a number it is about a frame of ours, not about the agent (oppi.md#server--client-frames).
        guard root["seq"] != nil else { return [] }
        sessions[id]?.lastError = message
        guard sessions[id]?.isRunning == false, sessions[id]?.prompted != nil else { return [] }
        // Head refuses a prompt so, after it said success: no run follows (oppi.md#errors).
        sessions[id]?.prompted = nil
        return [signal(id, .failed(RunFailure(message: message)))]
    }

    private mutating func ended(_ id: AgentSession, at now: Instant) -> [Observation] {
        guard var session = sessions[id], session.isRunning else { return [] }
        var usage: Usage?
        if let now = session.tokens, let start = session.tokensAtStart, now.output > start.output {
            usage = Usage(inputTokens: max(0, now.input - start.input), outputTokens: now.output - start.output)
        }
        let failed = session.lastError != nil || (session.lastMessageWasEmpty && session.calls.isEmpty)
        // A stopped run is never retried, however little it had said.
        if failed, !session.stopping {
            let event: RunEvent =
                session.lastError.map { .failed(RunFailure(message: $0)) } ?? .finished(RunEnd(usage: usage))
            session.held = (event, now + .seconds(2))
            sessions[id] = session
            return []
        }
        session.isRunning = false
        sessions[id] = session
        return [signal(id, .finished(RunEnd(usage: usage, reason: session.stopping ? .aborted : .stop)))]
    }

    private mutating func tool(_ type: String, _ root: FrameNode, _ id: AgentSession) -> [Observation] {
        let name = root["tool"]?.string ?? "tool"
        guard let call = root["toolCallId"]?.string.map({ ToolCallID($0) }) else { return [] }
        switch type {
        case "tool_start":
            let start = ToolStart(
                call: call, name: name, title: ToolLabel.make(name: name, arguments: root["args"]),
                arguments: root["args"]?.compact)
            guard let start = sessions[id]?.calls.started(start, isStillWritten: isHead) else { return [] }
            return [signal(id, .tool(.started(start)))]
        case "tool_output":
            let replaces = root["mode"]?.holds("replace") == true
            // While a call is written its long arguments are mirrored as output (oppi.md#tool-calls).
            if replaces, sessions[id]?.calls.isWritten(call) == true { return [] }
            let begun = runs(call, id)
            let output = root["output"]?.string ?? ""
            // Images come as data URIs: nothing a card could show.
            guard !output.hasPrefix("data:") else { return begun }
            return begun + [
                signal(id, .tool(.progress(ToolProgress(call: call, output: output, append: !replaces))))
            ]
        default:
            let begun = runs(call, id)
            sessions[id]?.calls.ended(call)
            let failed = root["isError"]?.flag == true
            var result = ToolResult(
                call: call, name: name, status: failed ? .failed : .completed, result: root["details"]?.compact,
                error: failed ? "\(name) failed" : nil)
            result.lacksOutput = true
            return begun + [signal(id, .tool(.finished(result)))]
        }
    }

    private mutating func runs(_ call: ToolCallID, _ id: AgentSession) -> [Observation] {
        sessions[id]?.calls.runs(call).map { [signal(id, .tool(.started($0)))] } ?? []
    }

    /// Only head has dialogs that go anywhere (oppi.md#extension-dialogs); those a card cannot hold are counted.
    private mutating func dialog(_ root: FrameNode, _ id: AgentSession, at now: Instant) -> [Observation] {
        guard let request = DialogRequest.read(root, at: now) else {
            unknown.count("dialog", root["method"]?.string ?? "?")
            return []
        }
        return [signal(id, .approvalRequested(request))]
    }

    private mutating func permission(_ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant)
        -> [Observation]
    {
        guard let name = root["id"]?.string else { return [] }
        let approval = ApprovalID(name)
        switch type {
        case "permission_expired":
            return [signal(id, .approvalSettled(ApprovalSettlement(id: approval, outcome: .expired)))]
        case "permission_cancelled":
            return [signal(id, .approvalSettled(ApprovalSettlement(id: approval, outcome: .cancelled)))]
        default:
            let tool = root["tool"]?.string ?? "tool"
            return [
                signal(
                    id,
                    .approvalRequested(
                        ApprovalRequest(
                            id: approval, subject: .permission, title: "Allow \(tool)?",
                            message: root["reason"]?.string ?? "", command: root["displaySummary"]?.string,
                            call: sessions[id]?.calls.asked(tool: tool, input: root["input"]?.compact))))
            ]
        }
    }

    private mutating func response(_ root: FrameNode, _ type: String) -> [Observation] {
        guard let request = root["requestId"]?.string, let (_, run) = prompts.removeValue(forKey: request) else {
            return []
        }
        guard root["success"]?.flag == true else {
            return [.sendAnswered(asked: run, .refused(message: root["error"]?.string ?? ""))]
        }
        return [.sendAnswered(asked: run, .accepted(run: run))]
    }
}

private enum RunJoint {
    static let blankLine = "\n\n"
}
