package import AgentKit
import JSONReading
package import Vocabulary

/// Maps lines of `pi --mode rpc` to observations, for both protocol lines (pi.md#versions, pi.md#later-lines-l-what-changes).
///
/// pi names no runs. On a live link the machine names the one that its prompt begins (`willBegin`); all others are counted. States
/// of the run:
/// - `idle`: Can transition to `running` (`agent_start`), `opening` (`agent_start` before the answer to our prompt).
/// - `opening`: a loop has begun that may be an extension's; its first message says which. Can transition to `running`.
/// - `running`: Can transition to `settling` (`agent_end`), `idle` (the process ended).
/// - `settling`: the loop has ended, and the next event says whether the run has (pi.md#end). Can transition to `retrying`, `idle`
///   (nothing followed, or an event of another loop did; unknown kinds decide nothing).
/// - `retrying`: Can transition to `running` (`agent_start`), `idle` (no retry came: the loop's end is the run's).
package struct PiDecoder: AgentDecoder {
    private enum State: Equatable {
        case idle, opening, running
        /// End of the loop that pi tries again.
        case retrying(RunEvent)
        case settling(RunEvent, until: Instant)
    }

    private let session: AgentSession
    private let runPrefix: String
    private let parser = FrameParser()
    private var state = State.idle
    private var runs = 0
    private(set) var run: RunID
    /// Our prompt whose run has not begun.
    private var prompted: PiPrompted?
    private var prompts: [String: RunID] = [:]
    /// Words said into the run, which has not taken them yet.
    private var steering: PiPrompted?
    private var asksMessages: Set<String> = []
    private var lastStop = ""
    private var lastError: String?
    /// Texts of the run's messages that did not fail: they stay in its answer after a retry.
    private var said = ""
    /// Longest text of a run.
    private static let saidLimit = 4_000_000
    /// The newest message of the assistant has its final text: later deltas belong to nothing.
    private var messageIsOver = false
    // Recordings alone use these fields.
    private var lostRun = false
    private var isLost = false
    /// Open dialogs: questions with their question, cards with nil.
    private var dialogs: [String: Question?] = [:]
    /// Longest doubt about the end of a loop, by the version that the process has shown (pi.md#later-lines-l-what-changes).
    private var patience = PiPatience.early
    /// The announced retry is not due earlier.
    private var retryDue: Instant?
    /// Nothing is written into a compaction.
    private(set) var isCompacting = false
    var signs: LifeSigns?
    package private(set) var unknown = UnknownTally()

    package init() { self.init(AgentSession("pi"), runPrefix: "pi-run-") }

    /// `runPrefix` begins the names of runs without a prompt of ours.
    init(_ session: AgentSession, runPrefix: String) {
        self.session = session
        self.runPrefix = runPrefix
        run = RunID("\(runPrefix)0")
    }

    /// No run is open, no prompt of ours is about to begin one, and no compaction runs.
    var isIdle: Bool { hasNoRun && !isCompacting }
    private var hasNoRun: Bool { state == .idle && prompted == nil }
    /// The open run, also an extension's.
    var going: RunID? {
        switch state {
        case .running, .retrying: run
        case .idle, .opening, .settling: nil
        }
    }
    /// Run of a new dialog, or nil between runs: an extension that starts may open a dialog of the session.
    var dialogRun: RunID? { hasNoRun ? nil : run }
    /// A loop may still run, according to the events.
    var mayRun: Bool {
        switch state {
        case .running, .opening, .retrying: true
        case .idle, .settling: prompted != nil
        }
    }
    /// The run is being retried, and the retry is due.
    func isRetryDue(at now: Instant) -> Bool { isRetrying && retryDue.map { $0 <= now } ?? true }
    var isRetrying: Bool { if case .retrying = state { true } else { false } }

    /// Expects the run of our prompt, which leaves under this request id.
    mutating func willBegin(_ run: RunID, _ text: String, request id: String) {
        self.run = run
        prompted = PiPrompted(run: run, text: text)
        prompts[id] = run
    }

    /// Expects words that steer the run, or nothing if `run` is nil.
    mutating func steers(_ run: RunID?, _ text: String) { steering = run.map { PiPrompted(run: $0, text: text) } }

    /// Closes a loop whose end the events did not bring.
    mutating func abandonRun() {
        (state, prompted, prompts, isCompacting) = (.idle, nil, [:], false)
    }

    /// The process is idle: what was to follow does not come.
    mutating func giveUp() -> [Observation] {
        defer { abandonRun() }
        switch state {
        case .retrying(let event), .settling(let event, _): return end(event)
        case .running: return end(.finished(RunEnd()))
        case .idle, .opening: return []
        }
    }

    private mutating func countRun() {
        runs += 1
        run = RunID("\(runPrefix)\(runs)")
    }

    package var nextDeadline: Instant? {
        if case .settling(_, let until) = state { until } else { nil }
    }

    /// The computer slept: the event that decides a loop's end may be on its way.
    mutating func slept(at now: Instant) {
        if case .settling(let event, _) = state { state = .settling(event, until: now + patience.duration) }
    }

    package mutating func deadlineHit(at now: Instant) -> [Observation] {
        guard case .settling(let event, let until) = state, until <= now else { return [] }
        return end(event)
    }

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = PiLine.parse(frame, capacity: capacity, with: parser) else {
            unknown.countMalformed()
            return []
        }
        return received(root, at: now)
    }

    mutating func received(_ root: FrameNode, at now: Instant) -> [Observation] {
        if root["_proc"]?.holds("exit") == true { return exited() }
        guard let type = root["type"]?.string else {
            unknown.countMalformed()
            return []
        }
        var observations = settleBefore(type, root) + opened(type, root)
        observations += event(type, root, at: now)
        return observations
    }

    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity) else { return [] }
        if root["_proc"]?.holds("spawn") == true {
            defer { isLost = false }
            return isLost ? [.linkBack] : []
        }
        let id = root["id"]?.string
        switch root["type"]?.string {
        case "prompt", "steer", "follow_up":
            if state != .idle { return [] }
            countRun()
            prompted = PiPrompted(run: run, text: root["message"]?.string ?? "")
            if let id, prompts.count < 1_000 { prompts[id] = run }
            return [.prompt(AgentPrompt(session: session, run: run, text: root["message"]?.string ?? ""))]
        case "abort": return [.stopSent(session: session, run: nil)]
        case "get_messages":
            if let id, asksMessages.count < 100 { asksMessages.insert(id) }
            return []
        case "extension_ui_response":
            guard let id, let dialog = dialogs.removeValue(forKey: id) else { return [] }
            guard let question = dialog else { return [.decisionSent(ApprovalID(id), DialogAnswer.decision(root))] }
            return [.answerSent(question.id, session, DialogAnswer.answer(root, to: question))]
        default: return []
        }
    }

    // MARK: The end of a loop

    /// The event behind `agent_end` decides what that was.
    private mutating func settleBefore(_ type: String, _ root: FrameNode) -> [Observation] {
        guard case .settling(let event, _) = state else { return [] }
        switch type {
        case "auto_retry_start":
            state = .retrying(event)
            return [signal(.retrying(reason: root["errorMessage"]?.string ?? ""))]
        case "auto_compaction_start", "compaction_start":
            guard root["reason"]?.holds("overflow") == true else { return patience == .early ? end(event) : [] }
            state = .retrying(event)
            return [signal(.retrying(reason: "the context overflowed"))]
        case "agent_settled", "agent_start": return end(event)
        default: return patience.ends(at: type) ? end(event) : []
        }
    }

    private mutating func end(_ event: RunEvent) -> [Observation] {
        let observation = signal(event)
        state = .idle
        return [observation]
    }

    func signal(_ event: RunEvent) -> Observation {
        .signal(RunSignal(run: run, session: session, event: event))
    }

    // MARK: Events

    private mutating func event(_ type: String, _ root: FrameNode, at now: Instant) -> [Observation] {
        switch type {
        case "agent_start": return loopBegan()
        case "message_start":
            if let steering, state == .running, steering.isSaid(by: root["message"]) {
                self.steering = nil
                return [.sendAnswered(asked: steering.run, .accepted(run: run))]
            }
            if let prompted, state == .running, prompted.isSaid(by: root["message"]) {
                // The prompt was queued behind an extension's run, within its loop.
                return [signal(.finished(RunEnd()))] + begun(prompted.run)
            }
            if root["message"]?["role"]?.holds("assistant") == true { messageIsOver = false }
            return []
        case "message_update": return preview(root["assistantMessageEvent"]) ?? alive(at: now)
        case "message_end": return messageEnded(root["message"])
        case "tool_execution_start": return tool(root) { .started(PiTools.start(root, as: $0)) }
        case "tool_execution_update": return tool(root) { .progress(PiTools.progress(root, of: $0)) }
        case "tool_execution_end": return tool(root) { .finished(PiTools.result(root, of: $0)) }
        case "agent_end": return loopEnded(root, at: now)
        case "agent_settled":
            patience = .settles
            // The promised retry did not come.
            guard case .retrying(let event) = state else { return [] }
            return end(event)
        case "auto_retry_start": return retryAnnounced(root, at: now)
        case "auto_retry_end":
            guard root["success"]?.flag == false, isRetrying else { return [] }
            return end(.failed(RunFailure(message: root["finalError"]?.string ?? lastError ?? "")))
        case "auto_compaction_start", "compaction_start":
            isCompacting = true
            return mayRun && signs != nil ? [signal(.alive(.compacting))] : []
        case "auto_compaction_end", "compaction_end":
            isCompacting = false
            guard case .retrying(let event) = state, root["willRetry"]?.flag != true else { return [] }
            // A whole answer stays one; a loop without a message has none.
            if case .finished = event, !lastStop.isEmpty { return end(event) }
            return end(.failed(RunFailure(kind: .contextLength, message: root["errorMessage"]?.string ?? "")))
        case "extension_ui_request": return dialog(root, at: now)
        case "response": return response(root)
        case "turn_start", "turn_end", "bash_execution_update": return alive(at: now)
        case "queue_update", "extension_error": return []
        default:
            unknown.count("event", type)
            return []
        }
    }

    private mutating func retryAnnounced(_ root: FrameNode, at now: Instant) -> [Observation] {
        let delay = root["delayMs"]?.integer(in: 0...Int(Int32.max)) ?? 0
        retryDue = now + .milliseconds(Int64(delay))
        // The end of the attempt was lost in noise.
        guard state == .running else { return [] }
        state = .retrying(.failed(RunFailure(message: lastError ?? "")))
        return [signal(.retrying(reason: root["errorMessage"]?.string ?? ""))]
    }

    private mutating func loopBegan() -> [Observation] {
        if isRetrying { return begun(run) }
        guard let prompted, !prompted.isCertain else { return begun(prompted?.run) }
        state = .opening
        return []
    }

    /// First message of a loop that began before pi had answered our prompt.
    private mutating func opened(_ type: String, _ root: FrameNode) -> [Observation] {
        guard state == .opening else { return [] }
        switch type {
        case "agent_start", "turn_start", "response", "extension_ui_request", "queue_update", "auto_compaction_start",
            "auto_compaction_end", "compaction_start", "compaction_end":
            return []
        case "message_start", "message_end":
            let message = root["message"]
            guard message?["role"]?.holds("assistant") != true, let prompted else { return begun(prompted?.run) }
            return begun(prompted.isSaid(by: message) ? prompted.run : nil)
        default: return begun(prompted?.run)
        }
    }

    /// `known`: the retried run or that of our prompt, or nil for another.
    private mutating func begun(_ known: RunID?) -> [Observation] {
        switch state {
        case .retrying: break
        case .idle, .opening, .settling, .running:
            said = ""
            if let known { run = known } else { countRun() }
            // A refusal may revoke the prompt's answer until its run begins, not later (pi.md#responses-stdout).
            prompts = prompts.filter { $0.value != run }
        }
        if prompted?.run == run { prompted = nil }
        lastStop = ""
        lastError = nil
        messageIsOver = false
        retryDue = nil
        state = .running
        return [signal(.started)] + (said.isEmpty ? [] : [signal(.text(.segmentEnded(said)))])
    }

    /// The text of a delta, or nil for any other event. Only one protocol line has snapshots (pi.md#later-lines-l-what-changes).
    private func preview(_ event: FrameNode?) -> [Observation]? {
        guard !messageIsOver, event?["type"]?.holds("text_delta") == true, let delta = event?["delta"]?.string,
            !delta.isEmpty
        else {
            return nil
        }
        return [signal(.text(.append(delta)))]
    }

    private mutating func messageEnded(_ message: FrameNode?) -> [Observation] {
        guard let message, message["role"]?.holds("assistant") == true else { return [] }
        messageIsOver = true
        note(message)
        return [signal(.text(.segmentEnded(message["content"]?.contentText ?? "")))]
    }

    private mutating func note(_ message: FrameNode) {
        lastStop = message["stopReason"]?.string ?? ""
        lastError = message["errorMessage"]?.string
        let text = message["content"]?.contentText ?? ""
        guard !["error", "aborted"].contains(lastStop), !text.isEmpty,
            said.utf8.count + text.utf8.count < Self.saidLimit
        else { return }
        said += said.isEmpty ? text : "\n\n" + text
    }

    private func tool(_ root: FrameNode, _ make: (ToolCallID) -> ToolEvent) -> [Observation] {
        guard let id = root["toolCallId"]?.string else { return [] }
        return [signal(.tool(make(ToolCallID(id))))]
    }

    private mutating func loopEnded(_ root: FrameNode, at now: Instant) -> [Observation] {
        let answers = (root["messages"]?.elements ?? []).filter { $0["role"]?.holds("assistant") == true }
        // A loop that died by an exception has its one message here alone, without a `message_end` (pi.md#final-text-and-usage).
        if lastStop.isEmpty, let last = answers.last { note(last) }
        let usage = PiUsage.of(answers)
        let event: RunEvent =
            switch lastStop {
            case "error": .failed(RunFailure(message: lastError ?? "", usage: usage))
            case "aborted": .finished(RunEnd(usage: usage, reason: .aborted))
            default: .finished(RunEnd(usage: usage, reason: PiUsage.reason(lastStop)))
            }
        if root["willRetry"] != nil, patience == .early { patience = .promises }
        if root["willRetry"]?.flag == true {
            state = .retrying(event)
            return [signal(.retrying(reason: lastError ?? ""))]
        }
        state = .settling(event, until: now + patience.duration)
        return []
    }

    // MARK: Dialogs, responses, the process

    private mutating func dialog(_ root: FrameNode, at now: Instant) -> [Observation] {
        let run = dialogRun
        if let request = DialogRequest.read(root, at: now) {
            if dialogs.count < 100 { dialogs[request.id.text] = .some(nil) }
            return [.signal(RunSignal(run: run, session: session, event: .approvalRequested(request)))]
        }
        if let question = DialogRequest.question(root, at: now) {
            if dialogs.count < 100 { dialogs[question.id.text] = question }
            return [.signal(RunSignal(run: run, session: session, event: .asked(question)))]
        }
        // Notices need no answer. A dialog that no person can answer is counted.
        let method = root["method"]?.string ?? "?"
        if !DialogRequest.notices.contains(method) { unknown.count("dialog", method) }
        return []
    }

    private mutating func response(_ root: FrameNode) -> [Observation] {
        guard let id = root["id"]?.string else { return [] }
        if let run = prompts[id], root["command"]?.holds("prompt") == true {
            // A failure wins, whatever the order of two answers (pi.md#responses-stdout).
            guard root["success"]?.flag == false else {
                if prompted?.run == run { prompted?.isTaken = true }
                return [.sendAnswered(asked: run, .accepted(run: run))]
            }
            prompts[id] = nil
            if prompted?.run == run { prompted = nil }
            return [.sendAnswered(asked: run, .refused(message: root["error"]?.string ?? ""))]
        }
        guard asksMessages.remove(id) != nil, lostRun else { return [] }
        lostRun = false
        return [.lookedUp(run, PiHistory(root).found(question: nil))]
    }

    private mutating func exited() -> [Observation] {
        let observations = settle()
        lostRun = state != .idle
        isLost = true
        abandonRun()
        (steering, dialogs) = (nil, [:])
        return observations + [.linkLost]
    }

    /// No event follows: an ended loop ends its run.
    mutating func settle() -> [Observation] {
        if case .settling(let event, _) = state { end(event) } else { [] }
    }
}
