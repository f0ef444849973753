import AgentKit
import JSONReading
import Vocabulary

// The frames of a turn (claude-code.md#frames).
extension ClaudeDecoder {
    private static let silentSubtypes: Set = [
        "compact_boundary", "files_persisted", "hook_progress", "hook_response", "hook_started", "informational",
        "local_command_output", "memory_recall", "model_fallback", "notification", "permission_denied",
        "plugin_install", "session_title_changed", "task_notification", "task_started", "task_updated",
    ]

    mutating func system(_ root: FrameNode, at now: Instant) -> [Observation] {
        let subtype = root["subtype"]?.string ?? ""
        switch subtype {
        case "init": return initialised(root)
        case "status":
            told(mode: root["permissionMode"]?.string)
            let observations = called(for: root["user_message_uuids"])
            if root["status"]?.holds("compacting") == true { return observations + compacting() }
            return observations + (root["status"]?.holds("requesting") == true ? alive(at: now) : [])
        case "session_state_changed":
            saysThatItRuns = root["state"]?.holds("idle") != true
            return saysThatItRuns ? [] : sessionIsIdle()
        case "background_tasks_changed":
            told(tasks: root["tasks"])
            return []
        case "task_progress":
            guard let call = root["tool_use_id"]?.string, let title = root["description"]?.string else { return [] }
            return helperDoes(title, below: call)
        case "api_retry": return retried(root, at: now)
        case "thinking_tokens": return alive(at: now)
        default:
            let isKnown = Self.silentSubtypes.contains(subtype) || subtype.hasPrefix("model_refusal")
            if !isKnown { unknown.count("system", subtype) }
            return []
        }
    }

    // MARK: Signs of life

    /// The run of the turn, until its end was shown.
    private var shown: RunID? { turn.flatMap { $0.isOver ? nil : $0.run } }

    /// A recording has no `signs`: no person waits for them.
    mutating func alive(at now: Instant) -> [Observation] {
        guard let run = shown, signs?.isDue(run, at: now) == true else { return [] }
        return [signal(.alive(.working), of: run)]
    }

    private func compacting() -> [Observation] {
        guard let run = shown, signs != nil else { return [] }
        return [signal(.alive(.compacting), of: run)]
    }

    private mutating func retried(_ root: FrameNode, at now: Instant) -> [Observation] {
        guard let run = shown, let turn else { return [] }
        let status = root["error_status"]?.integer(in: 100...599)
        if let status, status == 401 || status == 403 { return loginRefused(status) }
        // Finished text stays: a retry would discard it.
        guard !turn.words.hasText, !turn.hasTools else { return alive(at: now) }
        let word = root["error"]?.string ?? "unknown"
        let reason = status.map { "\(word) (\($0))" } ?? word
        return text { $0.messageEnded() } + [signal(.retrying(reason: reason), of: run), signal(.started, of: run)]
    }

    // MARK: Text

    private mutating func text(_ change: (inout ClaudeWords) -> [TextChange]) -> [Observation] {
        guard let run = shown, var words = turn?.words else { return [] }
        let changes = change(&words)
        turn?.words = words
        return changes.map { signal(.text($0), of: run) }
    }

    mutating func streamed(_ root: FrameNode, at now: Instant) -> [Observation] {
        guard root["parent_tool_use_id"]?.string == nil, let event = root["event"] else { return [] }
        switch event["type"]?.string {
        case "message_start":
            let id = event["message"]?["id"]?.string ?? root["api_message_id"]?.string ?? ""
            return text { $0.messageBegan(id) }
        case "content_block_delta":
            guard event["delta"]?["type"]?.holds("text_delta") == true else { return alive(at: now) }
            let delta = event["delta"]?["text"]?.string ?? ""
            return text { $0.appended(delta) }
        case "message_stop": return text { $0.messageEnded() }
        case "content_block_start", "content_block_stop", "message_delta", "ping", "error": return []
        case let type:
            unknown.count("stream event", type ?? "?")
            return []
        }
    }

    mutating func assistant(_ root: FrameNode, at now: Instant) -> [Observation] {
        let message = root["message"]
        let blocks = message?["content"]?.elements ?? []
        if let parent = root["parent_tool_use_id"]?.string { return helper(blocks, below: parent) }
        // The process speaks in place of the model.
        if root["is_api_error_message"]?.flag == true || message?["model"]?.holds("<synthetic>") == true {
            if let error = root["error"]?.string { turn?.error = error }
            return []
        }
        guard turn != nil else {
            unknown.count("event", "assistant outside of a turn")
            return []
        }
        let id = message?["id"]?.string
        return blocks.flatMap { block($0, of: id, at: now) }
    }

    private mutating func block(_ block: FrameNode, of message: String?, at now: Instant) -> [Observation] {
        switch block["type"]?.string ?? "" {
        case "text":
            let said = block["text"]?.string ?? ""
            return text { $0.completed(said, of: message) }
        case "tool_use", "server_tool_use": return toolBegan(block)
        case "thinking", "redacted_thinking": return text { $0.interrupted() } + alive(at: now)
        case let type where type.hasSuffix("_tool_result"): return toolEnded(block, root: nil)
        case let type:
            unknown.count("block", type)
            return []
        }
    }

    // MARK: The process's own words to the model

    private static let continuations = ["Your response above was cut off", "Output token limit hit"]

    mutating func user(_ root: FrameNode) -> [Observation] {
        guard root["parent_tool_use_id"]?.string == nil else { return [] }
        if let refused = root["refused_message_id"]?.string { return text { $0.drop(refused) } }
        let content = root["message"]?["content"]
        let results = (content?.elements ?? []).filter { $0["type"]?.holds("tool_result") == true }
        guard results.isEmpty else { return results.flatMap { toolEnded($0, root: root) } }
        if root["isSynthetic"]?.flag == true, let said = content?.contentText,
            Self.continuations.contains(where: said.hasPrefix)
        {
            turn?.words.continues()
        }
        return []
    }

    // MARK: Tools

    private mutating func toolBegan(_ block: FrameNode) -> [Observation] {
        guard let id = block["id"]?.string, let run = shown else { return [] }
        let start = ClaudeTools.start(block, as: id)
        turn?.hasTools = true
        if ["CronCreate", "ScheduleWakeup", "Monitor"].contains(start.name) { mayHaveScheduled() }
        turn?.calls.began(id, ClaudeCalls.Call(name: start.name, title: start.title ?? start.name))
        return text { $0.interrupted() } + [signal(.tool(.started(start)), of: run)]
    }

    /// `root`: the frame, which says more about the decision.
    private mutating func toolEnded(_ block: FrameNode, root: FrameNode?) -> [Observation] {
        guard let id = block["tool_use_id"]?.string else { return [] }
        let meta = root?["tool_result_meta"]?.elements.first { $0["id"]?.equals(id) == true }
        let isAllowed = meta?["permission_decision"]?["decision"]?.holds("accept") == true
        let asked = asks.ended(call: id, isAllowed: isAllowed).flatMap { settled($0) }
        // Result of a call from an earlier turn, whose card is closed.
        guard let run = shown, let call = turn?.calls.ended(id) else { return asked }
        let result = ClaudeTools.result(block, of: id, name: call.name, meta: meta)
        return asked + [signal(.tool(.finished(result)), of: run)]
    }

    mutating func toolProgress(_ root: FrameNode) -> [Observation] {
        // The parent is the call itself.
        guard let id = root["parent_tool_use_id"]?.string, let run = shown, let call = turn?.calls[id] else {
            return []
        }
        let seconds = root["elapsed_time_seconds"]?.number(in: 0...1e7).map { ", \(Int($0)) s" } ?? ""
        return [signal(.tool(.progress(ClaudeTools.progress(call.title + seconds, of: id))), of: run)]
    }

    /// A helper's words are not the turn's; its tools show its work.
    private mutating func helper(_ blocks: [FrameNode], below parent: String) -> [Observation] {
        var observations: [Observation] = []
        for block in blocks where block["type"]?.holds("tool_use") == true {
            if let id = block["id"]?.string { turn?.calls.began(id, below: parent) }
            let title = ToolLabel.make(name: block["name"]?.string ?? "tool", arguments: block["input"])
            observations += helperDoes(title, below: parent)
        }
        return observations
    }

    private func helperDoes(_ title: String, below parent: String) -> [Observation] {
        guard let run = shown, let (id, call) = turn?.calls.card(above: parent) else { return [] }
        let progress = ClaudeTools.progress("\(call.name): \(title)", of: id)
        return [signal(.tool(.progress(progress)), of: run)]
    }
}
