package import AgentKit
import JSONReading
package import Vocabulary

/// Frames of an Oppi server, both dialects (oppi.md#dialects), to observations.
///
/// - `message_end` is authoritative; deltas are a preview that may have holes (oppi.md#canonical-text). After a
///   reconnect in mid-message, deltas are dropped until the next live `message_end`.
/// - A frame whose `seq` is not above the last one of its session is a repeat.
/// - `agent_end` is held back where a retry or a compaction may follow (oppi.md#retries-compaction-queue): for 2 s after an
///   error or an empty message, and for 200 ms after any message in the seed dialect, which reports no error before a retry.
/// - A failure concerns the last message, which keeps its words. Messages that
///   ended before it stay in the answer of the retried run.
/// - A numbered `error` directly before `message_end` belongs to that message; the agent recovered from any other.
/// - Oppi names no runs: those that a prompt of ours begins have the prompt's name, all others are counted. `agent_start` does
///   not tell whose loop begins; the user's message after it does. Within another client's loop that message begins our run, too.
///
/// A recording may hold many sessions. A live link has a decoder for each (`OppiDecoder+Live.swift`).
package struct OppiDecoder: AgentDecoder {
    struct Session {
        var lastSequence = 0
        var runs = 0
        var run: RunID?
        var isRunning = false
        var isRetrying = false
        /// When the next attempt begins at the latest.
        var retryUntil: Instant?
        /// A loop has begun, and its next frame identifies its run.
        var isOpening = false
        /// Frames were lost for good, so a loop may be running.
        var mayBeWithin = false
        var prompted: Prompted?
        var lacksBeginning = false
        var lastMessageWasEmpty = false
        var lastError: String?
        /// The last frame was an error: the message that ends next is the failed one.
        var failsNext = false
        /// The last message failed.
        var hasFailed = false
        /// The server accepted a stop of some client.
        var stopping = false
        /// This bridge requested a stop.
        var stopsForUs = false
        /// The run answers a prompt of this bridge.
        var isOurs = false
        /// When the compaction of the context ends at the latest.
        var compactsUntil: Instant?
        var account: OppiAccount?
        var accountAtStart: OppiAccount?
        var held: Held?
        /// Text of the run's complete messages, without the last one, which may have failed.
        var said = ""
        var lastSaid = ""
        var calls = OppiCalls()
        /// Messages of ours in the run: its prompt, and those that steered it. Nil if
        /// the run is another client's, or if the agent may reword them.
        var ours: [Prompted]?
        /// Messages written into runs that no loop has taken up; the agent keeps them after a loop that failed.
        var unheard: [Prompted] = []
        /// The model produced output in this loop. A message taken up before
        /// that came from the agent's queue, after the prompt.
        var hasSpoken = false
    }

    /// A prompt of ours whose run has not begun.
    struct Prompted {
        var run: RunID
        var text: String
        /// The prompt waits behind another client's run.
        var waits = false
        /// Length and hash of an earlier process's message, whose words are unknown.
        var mark: OppiMark?
        /// The server named this prompt as the one that begins the loop.
        var isStarted = false

        /// A command of the agent's own, which the agent may reword: only the beginning of a loop identifies it.
        var isCommand: Bool { text.hasPrefix("/") && !waits }
        func isSaid(by text: String) -> Bool {
            mark?.fits(text) ?? (!self.text.isEmpty && PromptText.isPrompt(text, self.text))
        }
        /// The prompt, with the words that the loop begins with if it has none of its own, or nil if they are another client's.
        func said(by text: String) -> Self? {
            guard isStarted, self.text.isEmpty else { return isSaid(by: text) ? self : nil }
            return Prompted(run: run, text: text, waits: waits)
        }
    }

    /// Facts from a live link about the one session that it reads.
    struct Live {
        /// The server's name for the session.
        let native: AgentSession
        /// The bridge's name for the session.
        let session: AgentSession
        /// Prefix for the names of runs that no prompt of ours began.
        let runPrefix: String
        /// Frames are replays of missed ones, which omit the message being written.
        var isReplay = false
        /// Messages of the run that a trace has already supplied.
        var known: [String] = []
        /// The instant of ours at which the server's clock reads 1970.
        var serverEpoch: Instant?
        /// The session's workspace, in the server's words.
        var workspace: String?
    }

    let parser = FrameParser()
    var sessions: [AgentSession: Session] = [:]
    var live: Live?
    /// Prompts without an answer, the oldest first.
    private var prompts: [(request: String, run: RunID)] = []
    /// Permissions already reported, the oldest first.
    var permissions: [ApprovalID] = []
    /// Beyond this the oldest prompt or permission is forgotten.
    static let rememberedLimit = 1_000
    /// Questions of a recording, by their dialog's id.
    var questions: [String: (question: Question, session: AgentSession)] = [:]
    var tracesAsked: [AgentSession] = []
    var isLost = false
    /// The head dialect, recognised by frames that only it sends.
    var isHead = false
    private var signs = LifeSigns()
    package internal(set) var unknown = UnknownTally()

    private static let typesWithoutSession: Set = [
        "stream_connected", "rpc_result", "command_result", "turn_ack", "error", "git_status",
    ]

    package init() {}

    init(_ live: Live) { self.live = live }

    /// Notes the prompt that the answer to this request id is about.
    mutating func remember(_ request: String, _ run: RunID) {
        if prompts.count >= Self.rememberedLimit { prompts.removeFirst() }
        prompts.append((request, run))
    }

    package var nextDeadline: Instant? { sessions.values.compactMap { $0.isOpening ? nil : $0.held?.until }.min() }

    package mutating func deadlineHit(at now: Instant) -> [Observation] {
        sessions.keys.sorted().flatMap { id -> [Observation] in
            guard let until = sessions[id]?.held?.until, until <= now, sessions[id]?.isOpening == false else {
                return []
            }
            return settle(id)
        }
    }

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else {
            unknown.countMalformed()
            return []
        }
        return received(root, at: now)
    }

    mutating func received(_ root: FrameNode, at now: Instant) -> [Observation] {
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
        // A parent's stream carries the state of its children (oppi.md#server--client-frames).
        guard live == nil || live?.native == id else { return [] }
        if sessions[id] == nil, sessions.count >= 1_000 { return [] }
        if let sequence = root["seq"]?.integer(in: .counts) {
            guard sequence > sessions[id]?.lastSequence ?? 0 else { return [] }
            sessions[id, default: Session()].lastSequence = sequence
        } else if sessions[id] == nil {
            sessions[id] = Session()
        }
        var observations: [Observation] = []
        if Self.isOfLoop(type, root), type != "message_end", type != "error", type != "agent_end" {
            sessions[id]?.failsNext = false
        }
        if isOfNoRun(type, root, id) { return observations }
        if sessions[id]?.isOpening == true {
            observations += opened(type, root, id, at: now)
        } else if let held = sessions[id]?.held, Self.isOfLoop(type, root),
            !(held.mayLackRetry && type == "agent_start")
        {
            observations += settle(id)
        }
        return observations + event(type, root, id, at: now)
    }

    // MARK: Events

    private func runName(_ id: AgentSession) -> RunID {
        RunID("\(live?.runPrefix ?? "oppi-\(id)-")\(sessions[id]?.runs ?? 0)")
    }

    func run(of id: AgentSession) -> RunID { sessions[id]?.run ?? runName(id) }

    mutating func nextRun(of id: AgentSession) -> RunID {
        sessions[id, default: Session()].runs += 1
        return runName(id)
    }

    func signal(_ id: AgentSession, _ event: RunEvent) -> Observation {
        .signal(RunSignal(run: run(of: id), session: live?.session ?? id, event: event))
    }

    mutating func settle(_ id: AgentSession) -> [Observation] {
        guard let held = sessions[id]?.held else { return [] }
        let observation = signal(id, held.event)
        sessions[id]?.held = nil
        sessions[id]?.isRunning = false
        return [observation]
    }

    private mutating func event(_ type: String, _ root: FrameNode, _ id: AgentSession, at now: Instant) -> [Observation]
    {
        switch type {
        case "agent_start": return loopBegan(id)
        case "text_delta":
            sessions[id]?.hasSpoken = true
            guard mayAppend(id), let delta = root["delta"]?.string, !delta.isEmpty else {
                return alive(id, .working, at: now)
            }
            return [signal(id, .text(.append(delta)))]
        case "message_end": return messageEnded(root, id)
        case "tool_start", "tool_output", "tool_end": return tool(type, root, id)
        case "agent_end": return ended(id, at: now)
        case "retry_start":
            let delay = root["delayMs"]?.integer(clampedTo: 0...Held.longestRetry) ?? 0
            return retries(id, root["errorMessage"]?.string ?? "", after: .milliseconds(Int64(delay)), at: now)
        case "retry_end": return retriesEnded(root, id)
        case "compaction_start", "compaction_end": return compacted(type, root, id, at: now)
        case "error":
            return failed(root, id)
        case "stop_requested":
            sessions[id]?.stopping = true
            return []
        case "stop_confirmed":
            defer {
                sessions[id]?.stopping = false
                sessions[id]?.stopsForUs = false
            }
            guard sessions[id]?.isRunning == true else { return [] }
            sessions[id]?.isRunning = false
            return [signal(id, stopped(id))]
        case "stop_failed":
            sessions[id]?.stopping = false
            sessions[id]?.stopsForUs = false
            return []
        case "session_ended":
            defer { sessions[id]?.stopping = false }
            sessions[id]?.lastSequence = 0
            guard sessions[id]?.isRunning == true else { return [] }
            sessions[id]?.isRunning = false
            if sessions[id]?.stopping == true { return [signal(id, stopped(id))] }
            return [signal(id, .failed(RunFailure(kind: .agentGone, message: root["reason"]?.string ?? "")))]
        case "state":
            guard root["session"]?["id"]?.string == id.text else { return [] }
            if sessions[id]?.mayBeWithin == true { joins(id, status: root["session"]?["status"]?.string ?? "") }
            if let account = OppiAccount(root["session"]) { sessions[id]?.account = account }
            return []
        case "connected":
            // A number below the last one seen is a new activation: numbers restart (oppi.md#on-the-socket).
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
        case "thinking_delta", "turn_start", "turn_end": return alive(id, .working, at: now)
        case "turn_ack", "extension_ui_notification", "git_status", "session_deleted", "stream_connected": return []
        default:
            unknown.count("frame", type)
            return []
        }
    }

    /// Signs of life are for the live link; nobody watches a recording.
    mutating func alive(_ id: AgentSession, _ activity: RunActivity, at now: Instant) -> [Observation] {
        guard live?.isReplay == false, sessions[id]?.isRunning == true else { return [] }
        guard activity == .compacting || signs.isDue(run(of: id), at: now) else { return [] }
        return [signal(id, .alive(activity))]
    }

    private func mayAppend(_ id: AgentSession) -> Bool {
        // A delta before the first frame of its run is dropped; `message_end` has its text.
        guard live == nil || sessions[id]?.isRunning == true else { return false }
        return sessions[id]?.lacksBeginning == false && live?.isReplay != true
    }

    private mutating func messageEnded(_ root: FrameNode, _ id: AgentSession) -> [Observation] {
        guard root["role"]?.holds("assistant") == true else { return userSaid(root["content"]?.string ?? "", id) }
        let text = root["content"]?.string ?? ""
        sessions[id]?.lastMessageWasEmpty = text.isEmpty
        defer { sessions[id]?.hasSpoken = true }
        // A message before the start of its run: the run began while the link was down, without a known prompt of ours.
        if let session = sessions[id], !session.isRunning { _ = begun(id, session.isRetrying ? .retry : .other) }
        // The agent recovered from the error.
        if !text.isEmpty, sessions[id]?.failsNext != true { sessions[id]?.lastError = nil }
        // A call that is still written when its message fails, or is stopped, never runs.
        if let session = sessions[id], session.failsNext || session.stopping { sessions[id]?.calls.dropWritten() }
        sessions[id]?.messageEnded()
        // A replay omits the message that the lost link cut off.
        if live?.isReplay != true { sessions[id]?.lacksBeginning = false }
        let calls = (sessions[id]?.calls.messageEnded() ?? []).map { signal(id, .tool(.started($0))) }
        if let place = live?.known.firstIndex(of: text) {
            live?.known.remove(at: place)
            return calls
        }
        sessions[id]?.remember(text)
        return [signal(id, .text(.segmentEnded(text)))] + calls
    }

    /// A user's message. If it is our prompt, taken up within another client's loop, its run begins here.
    private mutating func userSaid(_ text: String, _ id: AgentSession) -> [Observation] {
        guard let session = sessions[id] else { return [] }
        let command = session.prompted.flatMap { isOurCommand($0, text, id) ? $0 : nil }
        guard let prompted = session.prompted?.said(by: text) ?? command else {
            if sessions[id]?.hears(text) == true { return [] }
            // Another client's message, taken up within our loop: the text that follows answers it.
            guard session.isRunning, session.ours != nil, session.hasSpoken else { return [] }
            return [signal(id, .finished(RunEnd()))] + begun(id, .other)
        }
        return (session.isRunning ? [signal(id, .finished(RunEnd()))] : []) + begun(id, .prompted(prompted))
    }

    private mutating func response(_ root: FrameNode, _ type: String) -> [Observation] {
        guard let request = root["requestId"]?.string,
            let index = prompts.lastIndex(where: { $0.request == request })
        else { return [] }
        let run = prompts.remove(at: index).run
        guard root["success"]?.flag == true else {
            return [.sendAnswered(asked: run, .refused(message: root["error"]?.string ?? ""))]
        }
        return [.sendAnswered(asked: run, .accepted(run: run))]
    }
}
