package import AgentKit
import JSONReading
package import Vocabulary

// Parts of a recording that a live link lacks: frames that the bridge sent, and REST answers.
extension OppiDecoder {
    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity) else { return [] }
        if let path = root["_http"]?["path"]?.string { return asked(path) }
        let session = root["sessionId"]?.string.map { AgentSession($0) }
        switch root["type"]?.string {
        case "prompt", "follow_up":
            guard let session else { return [] }
            let run = nextRun(of: session)
            let text = root["message"]?.string ?? ""
            let waits = root["type"]?.holds("follow_up") == true || root["streamingBehavior"] != nil
            sessions[session]?.prompted = Prompted(run: run, text: text, waits: waits)
            if let request = root["requestId"]?.string { remember(request, run) }
            return [.prompt(AgentPrompt(session: session, run: run, text: text))]
        case "stop", "abort":
            if let session { sessions[session]?.stopsForUs = true }
            return [.stopSent(session: session, run: nil)]
        case "extension_ui_response":
            guard let id = root["id"]?.string else { return [] }
            guard let (question, asker) = questions.removeValue(forKey: id) else {
                return [.decisionSent(ApprovalID(id), DialogAnswer.decision(root))]
            }
            return [.answerSent(question.id, asker, DialogAnswer.answer(root, to: question))]
        case "permission_response":
            guard let id = root["id"]?.string else { return [] }
            let allows = root["action"]?.holds("allow") == true
            let isOnce = root["scope"] == nil || root["scope"]?.holds("once") == true
            return [.decisionSent(ApprovalID(id), allows ? (isOnce ? .approve : .approveAlways) : .deny)]
        default: return []
        }
    }

    // MARK: The link

    mutating func lost() -> [Observation] {
        isLost = true
        for id in sessions.keys where sessions[id]?.isRunning == true { sessions[id]?.lacksBeginning = true }
        return [.linkLost]
    }

    mutating func connected() -> [Observation] {
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

    /// The whole history of a session, which tells the outcome of the run that was open
    /// when the link went down (oppi.md#recommended-connector-procedure).
    mutating func trace(_ body: FrameNode?) -> [Observation] {
        guard let trace = OppiTrace(body), !tracesAsked.isEmpty else { return [] }
        let id = tracesAsked.removeFirst()
        guard sessions[id]?.isRunning == true else { return [] }
        let run = run(of: id)
        if trace.isBusy { return [.lookedUp(run, .running(text: nil))] }
        sessions[id]?.isRunning = false
        let text = trace.newestAnswer.text
        return [.lookedUp(run, text.isEmpty ? .unknown : .ended(RunEnd(text: text)))]
    }
}
