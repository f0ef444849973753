import AgentKit
import JSONReading
import Vocabulary

// Tool calls, and the agent's questions to a person.
extension OppiDecoder {
    mutating func tool(_ type: String, _ root: FrameNode, _ id: AgentSession) -> [Observation] {
        let name = root["tool"]?.string ?? "tool"
        let call = root["toolCallId"].map { $0.string.map { ToolCallID($0) } } ?? nameless(type, root, id)
        guard let call else { return [] }
        switch type {
        case "tool_start":
            sessions[id]?.lastWasGood()
            sessions[id]?.hasSpoken = true
            let start = ToolStart(
                call: call, name: name, title: ToolLabel.make(name: name, arguments: root["args"]),
                arguments: root["args"]?.compact, file: ToolFile.of(name, root["args"]))
            guard let start = sessions[id]?.calls.started(start, isStillWritten: isHead) else { return [] }
            return [signal(id, .tool(.started(start)))]
        case "tool_output":
            let replaces = root["mode"]?.holds("replace") == true
            // While a call is written, head mirrors its long arguments as output (oppi.md#tool-calls).
            if replaces, sessions[id]?.calls.isWritten(call) == true { return [] }
            let begun = runs(call, id)
            var output = root["output"]?.string ?? ""
            if root["truncated"]?.flag == true { output = Self.lastPart(of: root["totalBytes"]) + output }
            // Images come as data URIs, which a card cannot show.
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

    /// A notice before the end of a long output. Head sends only that end; the server keeps the whole (oppi.md#tool-calls).
    private static func lastPart(of bytes: FrameNode?) -> String {
        guard let bytes = bytes?.integer(in: .counts) else { return "[The end of a longer output]\n" }
        return "[The end of \(bytes / 1_024) KB of output]\n"
    }

    /// The call of a frame without an id, which is possible in theory: the order identifies it (oppi.md#tool-calls).
    private func nameless(_ type: String, _ root: FrameNode, _ id: AgentSession) -> ToolCallID? {
        let calls = sessions[id]?.calls ?? OppiCalls()
        let tool = root["tool"]?.string
        guard type == "tool_start" else { return calls.oldestNameless(of: tool) }
        guard let tool, let sequence = root["seq"]?.integer(in: .counts) else { return nil }
        // Head repeats `tool_start` while the call is written, and once more when it runs.
        return (isHead ? calls.oldestNameless(of: tool) : nil) ?? OppiCalls.nameless(sequence)
    }

    private mutating func runs(_ call: ToolCallID, _ id: AgentSession) -> [Observation] {
        sessions[id]?.calls.runs(call).map { [signal(id, .tool(.started($0)))] } ?? []
    }

    /// A dialog of a recording; a live link reads its dialogs itself. Only head's dialogs reach an agent
    /// (oppi.md#extension-dialogs). An `ask` has several questions and one answer, and counts as unknown.
    mutating func dialog(_ root: FrameNode, _ id: AgentSession, at now: Instant) -> [Observation] {
        if let request = DialogRequest.read(root, at: now) { return [signal(id, .approvalRequested(request))] }
        guard let question = DialogRequest.question(root, at: now) else {
            unknown.count("dialog", root["method"]?.string ?? "?")
            return []
        }
        if questions.count < 100 { questions[question.id.text] = (question, id) }
        return [signal(id, .asked(question))]
    }

    mutating func permission(_ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant)
        -> [Observation]
    {
        guard let name = root["id"]?.string else { return [] }
        let approval = ApprovalID(name)
        switch type {
        case "permission_expired":
            return [aside(id, .approvalSettled(ApprovalSettlement(id: approval, outcome: .expired)))]
        case "permission_cancelled":
            return [aside(id, .approvalSettled(ApprovalSettlement(id: approval, outcome: .cancelled)))]
        default:
            // The frame comes on every socket, and again after each subscription (oppi.md#permissions).
            guard !permissions.contains(approval) else { return [] }
            if permissions.count >= Self.rememberedLimit { permissions.removeFirst() }
            permissions.append(approval)
            var request = Self.request(approval, root, workspace: live?.workspace)
            let tool = root["tool"]?.string ?? "tool"
            request.call = sessions[id]?.calls.asked(tool: tool, input: root["input"]?.compact)
            request.expiresAt = expiry(root)
            return [aside(id, .approvalRequested(request))]
        }
    }

    /// The request from a frame or from an entry of the list of pending permissions.
    static func request(_ id: ApprovalID, _ root: FrameNode, workspace: String?) -> ApprovalRequest {
        let tool = root["tool"]?.string ?? "tool"
        // The server's own summary hides the commands behind `&&`, the content for a
        // file, and everything beyond 100 characters (oppi.md#permissions).
        let input = root["input"].flatMap { $0.isNull ? nil : AskedInput($0) }
        var facts = input?.facts ?? AskFacts()
        if input == nil, let summary = root["displaySummary"] { facts.lines.append(.init("summary", summary)) }
        if let workspace { facts.lines.append(.init("workspace", workspace)) }
        var request = ApprovalRequest(
            id: id, subject: .permission, title: "Allow \(tool)?", message: root["reason"]?.string ?? "",
            command: input?.command,
            // The server stores no rule for its own policy (oppi.md#permissions).
            allowed: tool.hasPrefix("policy.") ? [.approve, .deny] : nil, facts: facts)
        // No member names the tool's input.
        request.isIncomplete = input == nil
        return request
    }

    /// A signal that names the session alone while no run is known: a
    /// permission may come on another socket than its run's frames.
    private func aside(_ id: AgentSession, _ event: RunEvent) -> Observation {
        guard let live, !isRunning else { return signal(id, event) }
        return .signal(RunSignal(run: nil, session: live.session, event: event))
    }

    /// `timeoutAt` is on the server's clock, and lies a hundred years ahead if there is no limit (oppi.md#permissions).
    private func expiry(_ root: FrameNode) -> Instant? {
        guard root["expires"]?.flag != false, let epoch = live?.serverEpoch,
            let moment = root["timeoutAt"]?.integer(in: .wallMilliseconds)
        else { return nil }
        let expiry = epoch + .milliseconds(Int64(moment))
        return expiry - Instant.zero > .seconds(10 * 365 * 86_400) ? nil : expiry
    }
}
