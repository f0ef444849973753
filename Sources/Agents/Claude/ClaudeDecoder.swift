package import AgentKit
import JSONReading
package import Vocabulary

/// Maps lines of `claude -p` in stream-json to observations: one process with one session (claude-code.md).
///
/// Results do not match prompts one to one, and turns begin without a prompt: a turn is ours if its prompt began it or was folded
/// into it. States of the turn:
/// - `none`: no turn is open. Can transition to `going` (`command_lifecycle` `started` of a prompt of ours, or an `init`).
/// - `going`: Can transition to `none` (`result`, an `init` of the next turn, the process ended), `over` (the login was refused; the
///   process would retry for minutes).
/// - `over`: its failure was reported, and its frames are hidden. Can transition to `none` (`result`, the process ended).
///
/// Another's turn that takes a prompt of ours in ends there, and ours begins.
/// An earlier version does not say which turn a prompt began. If the `result` of a turn that counted as ours has an origin, its end
/// is withheld, and the next `init` belongs to our prompt. The end counts once the session is idle, or once no turn has begun in
/// time: the prompt was folded in.
package struct ClaudeDecoder: AgentDecoder {
    static let prefix = "claude-run-"
    private static let promptLimit = 1_000

    let session: AgentSession
    private let runPrefix: String
    private let parser = FrameParser()
    private var runs = 0
    var turn: ClaudeTurn?
    /// Prompts written or about to be, none of which has begun.
    var prompts: [ClaudePrompt] = []
    var asks = ClaudeOpenAsks()
    private(set) var tasks = ClaudeTasks()
    /// The process reports the fate of each prompt (claude-code.md#prompts).
    private var tellsFates = false
    /// The process reports an open turn, perhaps one about to begin.
    var saysThatItRuns = false
    /// Cost of all turns of the process so far, or nil at the start: a resumed session begins with its old total.
    private var cost: Double?
    private var interruptIsDue = false
    private var model: String?
    /// Session of the newest `init`; a `/clear` changes it.
    private(set) var sessionID: String?
    /// The permission mode that the process named last.
    private(set) var mode: String?
    private var limit: ClaudeLimit?
    private var toldLimit: String?
    private var answeredBefore: [RunID] = []
    /// Reason of a process that ended without a turn.
    private(set) var trouble: String?
    // Recordings alone use these fields.
    private var lostRun: RunID?
    private var isLost = false
    var signs: LifeSigns?
    package internal(set) var unknown = UnknownTally()

    package init() { self.init(AgentSession("claude"), runPrefix: Self.prefix) }

    /// `runPrefix` begins the names of runs without a prompt of ours.
    init(_ session: AgentSession, runPrefix: String) {
        self.session = session
        self.runPrefix = runPrefix
    }

    // MARK: For the machine

    /// No turn is open, and none of ours is about to begin.
    var isFree: Bool { turn == nil && prompts.isEmpty }
    /// The process could end without a loss.
    var isIdle: Bool { isFree && asks.isEmpty && tasks.isEmpty && !saysThatItRuns }
    /// A helper works within the turn; a background helper does not count.
    var hasHelper: Bool { turn?.calls.hasHelper == true }
    /// The work beside the turns for a sentence, or nil without any.
    var busyWords: String? { tasks.words }
    /// A turn may still run, according to the frames.
    var mayRun: Bool { !isFree }

    /// A prompt of ours is about to be written, under this id (`ClaudeFrames.uuid`).
    mutating func willBegin(_ run: RunID, uuid: String) {
        guard prompts.count < Self.promptLimit else { return }
        prompts.append(ClaudePrompt(run: run, uuid: uuid))
    }

    /// An interrupt is about to be written.
    mutating func willInterrupt() { turn?.isInterrupted = true }

    /// Our answer to this request is written: a later withdrawal does not concern it.
    mutating func willAnswer(_ request: String) { _ = asks.answered(request) }

    /// True once if the turn must be interrupted: the process would retry for minutes what cannot succeed.
    var mustInterrupt: Bool {
        mutating get {
            defer { interruptIsDue = false }
            return interruptIsDue
        }
    }

    /// News of the limits of the subscription, once until their words change: each answer of the model repeats them.
    mutating func takeLimit() -> ClaudeLimit? {
        guard let news = limit.take(), news.words != toldLimit else { return nil }
        toldLimit = news.words
        return news
    }

    /// Runs whose prompt the session had taken before: no turn comes, and the transcript has the answer.
    mutating func takeAnsweredBefore() -> [RunID] {
        defer { answeredBefore = [] }
        return answeredBefore
    }

    /// Closes a turn whose end no frame brought.
    mutating func abandonRun() {
        (turn, prompts) = (nil, [])
        asks = ClaudeOpenAsks()
    }

    /// Closes the turn of an idle process, whose `result` was lost.
    mutating func giveUp() -> [Observation] {
        defer { abandonRun() }
        return closed()
    }

    /// Closes the turn with its text so far.
    private mutating func closed() -> [Observation] {
        defer { turn = nil }
        guard let turn, !turn.isOver else { return [] }
        if let withheld = turn.withheld { return flushed() + withdrawn() + [signal(withheld.event, of: turn.run)] }
        let reason: RunEnd.Reason = turn.isInterrupted ? .aborted : .stop
        return flushed() + withdrawn() + [signal(.finished(RunEnd(reason: reason)), of: turn.run)]
    }

    /// A process leaves no frame in doubt at its end: the transcript has its turn's fate.
    mutating func settle() -> [Observation] { [] }

    /// The next `init` may wait in the pipe.
    mutating func slept(at now: Instant) { turn?.withheld?.until = now + Withheld.patience }

    package var nextDeadline: Instant? { turn?.withheld?.until }
    package mutating func deadlineHit(at now: Instant) -> [Observation] {
        nextDeadline.map { $0 <= now } == true ? closed() : []
    }

    // MARK: Frames

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard frame.first(where: { $0 > 0x20 }) == UInt8(ascii: "{"),
            let root = parser.parse(frame, capacity: capacity), root.isObject
        else {
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
        switch type {
        case "command_lifecycle": return lifecycle(root)
        case "system": return system(root, at: now)
        case "stream_event": return streamed(root, at: now)
        case "assistant": return assistant(root, at: now)
        case "user": return user(root)
        case "result" where root["session_id"] == nil:
            unknown.count("event", "result of no session")
            return []
        case "result": return result(root, at: now)
        case "tool_progress": return toolProgress(root)
        case "control_request": return request(root)
        case "control_cancel_request":
            guard let id = root["request_id"]?.string else { return [] }
            let isStopped = turn?.isInterrupted ?? true
            return asks.withdrawn(id, isStopped: isStopped).map { settled($0) } ?? []
        case "control_response":
            answered(root["response"]?["response"])
            return []
        case "rate_limit_event":
            limit = ClaudeLimit(root) ?? limit
            return []
        default:
            if !Self.silent.contains(type) { unknown.count("event", type) }
            return []
        }
    }

    private static let silent: Set = [
        "keep_alive", "transcript_mirror", "conversation_reset", "auth_status", "prompt_suggestion", "tool_use_summary",
        "streamlined_text", "streamlined_tool_use_summary",
    ]

    // MARK: Prompts

    private mutating func lifecycle(_ root: FrameNode) -> [Observation] {
        tellsFates = true
        guard let uuid = root["command_uuid"]?.string, let state = root["state"]?.string else { return [] }
        if state == "completed", turn?.uuid == uuid { turn?.isDone = true }
        guard let index = prompts.firstIndex(where: { $0.uuid == uuid }) else { return [] }
        switch state {
        case "queued": return turn?.isOurs == true ? [] : accept(index)
        case "started": return begins(index)
        default: return dropped(prompts.remove(at: index), state)
        }
    }

    private mutating func accept(_ index: Int) -> [Observation] {
        // A recording reports the prompt when the turn begins.
        guard prompts[index].text == nil, !prompts[index].isAccepted else { return [] }
        prompts[index].isAccepted = true
        return [.sendAnswered(asked: prompts[index].run, .accepted(run: prompts[index].run))]
    }

    private mutating func dropped(_ prompt: ClaudePrompt, _ state: String) -> [Observation] {
        let isRecorded = prompt.text != nil
        let asked = isRecorded ? said(prompt) : []
        switch state {
        case "completed":
            if isRecorded { return asked + [.sendAnswered(asked: prompt.run, .noRun)] }
            answeredBefore.append(prompt.run)
            return prompt.isAccepted ? [] : [.sendAnswered(asked: prompt.run, .accepted(run: prompt.run))]
        case "cancelled" where prompt.isAccepted: return [signal(.finished(RunEnd(reason: .aborted)), of: prompt.run)]
        // The process took the prompt out of its queue.
        case "cancelled": return isRecorded ? [] : [.abortAnswered(prompt.run)]
        default:
            let message = "Claude Code did not take the message (\(state))."
            return asked + [.sendAnswered(asked: prompt.run, .refused(message: message))]
        }
    }

    private func said(_ prompt: ClaudePrompt) -> [Observation] {
        guard let text = prompt.text else { return [] }
        return [.prompt(AgentPrompt(session: session, run: prompt.run, text: text))]
    }

    /// Begins the turn of this prompt, or folds it into the open turn.
    mutating func begins(_ index: Int) -> [Observation] {
        let prompt = prompts.remove(at: index)
        if let turn, turn.isOurs, !turn.isOver {
            let answer = Observation.sendAnswered(asked: prompt.run, .accepted(run: turn.run))
            return prompt.text != nil || prompt.isAccepted ? [] : [answer]
        }
        var observations = said(prompt)
        if !prompt.isAccepted { observations.append(.sendAnswered(asked: prompt.run, .accepted(run: prompt.run))) }
        if let other = turn, !other.isOver {
            observations = flushed() + [signal(.finished(RunEnd()), of: other.run)] + observations
        }
        observations += begun(prompt.run, isOurs: true)
        turn?.uuid = prompt.uuid
        return observations
    }

    private mutating func begun(_ run: RunID, isOurs: Bool) -> [Observation] {
        turn = ClaudeTurn(run, isOurs: isOurs)
        return [signal(.started, of: run)]
    }

    // MARK: Turns

    mutating func initialised(_ root: FrameNode) -> [Observation] {
        sessionID = root["session_id"]?.string ?? sessionID
        mode = root["permissionMode"]?.string ?? mode
        model = root["model"]?.string ?? model
        noteAbilities(root["capabilities"])
        defer { turn?.hasBegun = true }
        let lost = lostItsResult ? closed() : []
        guard turn == nil else {
            // The Stop reached the turn before.
            interruptIsDue = turn?.withheld != nil && turn?.isInterrupted == true
            turn?.withheld = nil
            return []
        }
        // Earlier versions: the turn behind our prompt is ours (claude-code.md#earlier-versions).
        if !tellsFates, !prompts.isEmpty { return lost + begins(0) }
        runs += 1
        return lost + begun(RunID("\(runPrefix)own-\(root["uuid"]?.string ?? String(runs))"), isOurs: false)
    }

    /// An `init` comes behind a completed prompt, or in an earlier version a second time in one turn.
    private var lostItsResult: Bool {
        guard let turn else { return false }
        return turn.isDone || !tellsFates && turn.hasBegun && turn.withheld == nil
    }

    private mutating func noteAbilities(_ list: FrameNode?) {
        if list?.elements.contains(where: { $0.holds("msg_lifecycle_v1") }) == true { tellsFates = true }
    }

    mutating func told(mode: String?) { self.mode = mode ?? self.mode }
    mutating func told(tasks: FrameNode?) { self.tasks.changed(tasks) }
    /// A tool may have made a schedule; the next `Stop` hook says.
    mutating func mayHaveScheduled() { tasks.mayWakeUp() }

    /// Prompts that a model call answers. A prompt whose beginning was missed begins here.
    mutating func called(for uuids: FrameNode?) -> [Observation] {
        guard let uuids, uuids.isArray else { return [] }
        var observations: [Observation] = []
        for uuid in uuids.elements.prefix(100) {
            guard let index = prompts.firstIndex(where: { uuid.equals($0.uuid) }) else { continue }
            observations += begins(index)
        }
        return observations
    }

    /// The whole session is idle and owes no turn.
    mutating func sessionIsIdle() -> [Observation] {
        // The state of the turn before may come behind the beginning of this one.
        guard turn?.hasBegun == true else { return [] }
        let waiting = prompts
        let observations = giveUp()
        prompts = waiting
        return observations
    }

    private mutating func result(_ root: FrameNode, at now: Instant) -> [Observation] {
        var observations: [Observation] = []
        let total = root["total_cost_usd"]?.number(in: Usage.costs)
        defer { cost = total ?? cost }
        let named = root["user_message_uuids"]?.elements.prefix(100) ?? []
        // A prompt of ours whose beginning was missed.
        for uuid in named {
            guard let index = prompts.firstIndex(where: { uuid.equals($0.uuid) }) else { continue }
            observations += begins(index)
        }
        guard let turn else {
            trouble = ClaudeResult.sentence(root)
            return observations
        }
        observations += flushed() + withdrawn()
        let usage = ClaudeResult.usage(root, model: model, costBefore: cost)
        // The beginning may have replaced the turn: the newest one ends.
        let ended = self.turn ?? turn
        self.turn = nil
        guard !ended.isOver else { return observations }
        let event = ClaudeResult.event(root, of: ended, usage: usage)
        if !tellsFates, ended.isOurs, named.isEmpty, ClaudeResult.isOfItsOwn(root) {
            self.turn = ended.behindAnother(event, at: now)
            return observations
        }
        return observations + [signal(event, of: ended.run)]
    }

    /// Text of the words held back so far.
    mutating func flushed() -> [Observation] {
        guard let run = turn?.run, let changes = turn?.words.finished() else { return [] }
        return changes.map { signal(.text($0), of: run) }
    }

    private mutating func withdrawn() -> [Observation] { asks.takeWithdrawn().flatMap { settled($0) } }

    /// A refused login is refused again, ten times in minutes (claude-code.md#errors).
    mutating func loginRefused(_ status: Int) -> [Observation] {
        guard let turn, !turn.isOver else { return [] }
        interruptIsDue = true
        let observations = flushed()
        self.turn?.isOver = true
        let failure = ClaudeFailure.Reason(status: status).failure("HTTP status \(status)", usage: nil)
        return observations + [signal(.failed(failure), of: turn.run)]
    }

    // MARK: Requests of the process, answers of the process

    private mutating func request(_ root: FrameNode) -> [Observation] {
        let request = root["request"]
        switch request?["subtype"]?.string {
        case "can_use_tool":
            guard let ask = ClaudeAsk(root) else {
                unknown.count("request", request?["tool_name"]?.string ?? "?")
                return []
            }
            var observations = flushedBeforeAsk()
            asks.opened(ask, of: turn?.run)
            observations += ask.events.map { .signal(RunSignal(run: turn?.run, session: session, event: $0)) }
            return observations
        case "hook_callback":
            if request?["input"]?["hook_event_name"]?.holds("Stop") == true { tasks.stopped(request?["input"]) }
            return []
        case let subtype:
            unknown.count("request", subtype ?? "?")
            return []
        }
    }

    private mutating func flushedBeforeAsk() -> [Observation] {
        guard let run = turn?.run, let changes = turn?.words.interrupted() else { return [] }
        return changes.map { signal(.text($0), of: run) }
    }

    /// Reads the responses to our `initialize` and `set_permission_mode`.
    private mutating func answered(_ response: FrameNode?) {
        guard let response, response.isObject else { return }
        mode = response["current_permission_mode"]?.string ?? response["mode"]?.string ?? mode
        noteAbilities(response["capabilities"])
    }

    func settled(_ ask: ClaudeOpenAsks.Settled) -> [Observation] {
        ask.events.map { .signal(RunSignal(run: ask.run, session: session, event: $0)) }
    }

    func signal(_ event: RunEvent, of run: RunID) -> Observation {
        .signal(RunSignal(run: run, session: session, event: event))
    }

    // MARK: Recordings

    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return [] }
        if root["_proc"]?.holds("spawn") == true { return spawned() }
        switch root["type"]?.string {
        case "user":
            guard prompts.count < Self.promptLimit, let uuid = root["uuid"]?.string,
                root["message"]?["role"]?.holds("user") == true
            else { return [] }
            runs += 1
            let text = root["message"]?["content"]?.contentText ?? ""
            prompts.append(ClaudePrompt(run: RunID("\(runPrefix)\(runs)"), uuid: uuid, text: text))
            return []
        case "control_request":
            guard root["request"]?["subtype"]?.holds("interrupt") == true else { return [] }
            willInterrupt()
            return [.stopSent(session: session, run: turn?.run)]
        case "control_response":
            guard let response = root["response"], let id = response["request_id"]?.string,
                let ask = asks.answered(id)
            else { return [] }
            return ask.sent(response, in: session)
        default: return []
        }
    }

    private mutating func spawned() -> [Observation] {
        guard isLost else { return [] }
        isLost = false
        guard let run = lostRun else { return [.linkBack] }
        lostRun = nil
        let failure = RunFailure(kind: .agentGone, message: "its process ended")
        return [.linkBack, .lookedUp(run, .failed(failure))]
    }

    private mutating func exited() -> [Observation] {
        lostRun = turn.flatMap { $0.isOver ? nil : $0.run }
        isLost = true
        abandonRun()
        (tasks, cost, tellsFates, saysThatItRuns) = (ClaudeTasks(), nil, false, false)
        return [.linkLost]
    }
}
