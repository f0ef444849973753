package import AgentKit
import JSONReading
package import Vocabulary

/// Frames of an OpenClaw gateway, all eras (openclaw.md#eras), to observations.
///
/// - Text comes from `assistant` frames (`SpokenTexts`), or from `chat` for a run without such frames, as a command is.
/// - `lifecycle` `end` does not end a run; `chat` `final` does (openclaw.md#order-of-frames-in-one-run). A
///   run may recover from `lifecycle` `error` within 15 s.
/// - `chat` of era E1 has the newest segment only. Protocol 3 and a server
///   version before April 2026 identify the era (openclaw.md#eras).
/// - A second challenge is a new socket: all texts are dropped, and the next frame of a run carries its whole text. A
///   recording counts it as a lost link; on a live link `OpenClawSession` calls `socketLost` instead.
package struct OpenClawDecoder: AgentDecoder {
    private enum Asked {
        case connect
        case send(RunID)
        case history(AgentSession)
        case approvals
    }

    private let parser = FrameParser()
    private var kept = KeptTexts()
    private var spoken = SpokenTexts()
    private var asked: [String: Asked] = [:]
    private var hasSocket = false
    let isRecorded: Bool
    var signs = LifeSigns()
    /// Era E1 (openclaw.md#chat): `chat` has the text of the newest segment only.
    private(set) var tellsNewestSegment = false
    /// E1 and E2: a command that waits for approval ends its run. Early
    /// gateways report that in no other frame (openclaw.md#approvals).
    private(set) var detachesApprovals = false
    private(set) var openCommands = OpenCommands()
    /// The gateway's wall clock, from its challenge. Approvals expire by it.
    private(set) var gatewayClock: (milliseconds: Int, at: Instant)?
    /// Runs of a recording that began and have not ended, each with its session.
    /// An answer to `chat.history` settles those of its session.
    private var open: [RunID: AgentSession] = [:]
    private var lastSequence: [RunID: Int] = [:]
    private var lastLifecycle: [RunID: Int] = [:]
    private var usage = OpenClawUsage()
    package private(set) var unknown = UnknownTally()
    package let nextDeadline: Instant? = nil
    private static let askedLimit = 1_000

    package init() { isRecorded = true }

    /// A decoder for a session that follows its own sockets and reads the history itself.
    init(live: Void) { isRecorded = false }

    package mutating func deadlineHit(at now: Instant) -> [Observation] { [] }

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), let type = root["type"] else {
            if let root = parser.parse(frame, capacity: capacity), root["_ws"]?.holds("close") == true {
                return [.linkLost]
            }
            unknown.countMalformed()
            return []
        }
        return read(root, type, at: now)
    }

    /// Decodes a frame that the caller has parsed.
    mutating func read(_ root: FrameNode, _ type: FrameNode, at now: Instant) -> [Observation] {
        if type.holds("event") { return event(root, at: now) }
        if type.holds("res") { return response(root, at: now) }
        unknown.count("frame", type.string ?? "?")
        return []
    }

    mutating func countMalformed() { unknown.countMalformed() }

    /// Answers to requests of the lost socket will not come, and the next text of each run is whole.
    mutating func socketLost() {
        asked.removeAll()
        openCommands.forget()
        kept.forgetAll()
        spoken.socketLost()
        lastSequence.removeAll()
        lastLifecycle.removeAll()
    }

    /// The run continues after frames of it were lost or unusable.
    mutating func missed(_ run: RunID) {
        kept.forget(run)
        spoken.missed(run)
    }

    /// Text of an agent's message in the history, which frames of the run may have lacked.
    mutating func wrote(_ text: String, in run: RunID, _ payload: FrameNode) -> [Observation] {
        var text = text
        let changes = text.withUTF8 { spoken.said(.init(text: UnsafeRawBufferPointer($0)), in: run) }
        return changes.map { signal(run, payload, .text($0)) }
    }

    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), let id = root["id"]?.string,
            let method = root["method"]?.string
        else { return [] }
        let params = root["params"]
        if asked.count >= Self.askedLimit { asked.removeAll() }
        switch method {
        case "connect": asked[id] = .connect
        case "chat.send":
            guard let run = params?["idempotencyKey"]?.string, let session = params?["sessionKey"]?.string else {
                return []
            }
            asked[id] = .send(RunID(run))
            if isRecorded { open[RunID(run)] = AgentSession(session) }
            return [
                .prompt(
                    AgentPrompt(
                        session: AgentSession(session), run: RunID(run), text: params?["message"]?.string ?? ""))
            ]
        case "chat.abort":
            return [
                .stopSent(
                    session: params?["sessionKey"]?.string.map { AgentSession($0) },
                    run: params?["runId"]?.string.map { RunID($0) })
            ]
        case "chat.history" where isRecorded:
            asked[id] = (params?["sessionKey"]?.string).map { .history(AgentSession($0)) }
        case "exec.approval.list", "plugin.approval.list": asked[id] = .approvals
        case "exec.approval.resolve", "plugin.approval.resolve", "approval.resolve":
            guard let approval = params?["id"]?.string, let decision = Self.decision(params?["decision"]) else {
                return []
            }
            return [.decisionSent(ApprovalID(approval), decision)]
        default: break
        }
        return []
    }

    // MARK: Responses

    private mutating func response(_ root: FrameNode, at now: Instant) -> [Observation] {
        guard let id = root["id"]?.string, let question = asked.removeValue(forKey: id) else { return [] }
        let isGood = root["ok"]?.flag == true
        let payload = root["payload"]
        switch question {
        case .connect:
            let version = payload?["server"]?["version"]?.string ?? ""
            detachesApprovals = payload?["protocol"]?.integer(in: 3...3) != nil
            tellsNewestSegment = detachesApprovals && Self.isBeforeApril(version)
            return []
        case .send(let run):
            guard isGood else {
                return [
                    .sendAnswered(asked: run, .refused(message: root["error"]?["message"]?.string ?? "no reason given"))
                ]
            }
            guard let taken = payload?["runId"]?.string else { return [.sendAnswered(asked: run, .noRun)] }
            return [.sendAnswered(asked: run, .accepted(run: RunID(taken)))]
        case .history(let session): return isGood ? history(payload, session) : []
        case .approvals: return approvals(payload, at: now)
        }
    }

    /// E1 builds have a version `2026.M.patch` before April 2026.
    private static func isBeforeApril(_ version: String) -> Bool {
        let parts = version.split(separator: ".").prefix(2).compactMap { Int($0) }
        return parts.count == 2 && (parts[0] < 2026 || (parts[0] == 2026 && parts[1] < 4))
    }

    /// The outcome of the session's open runs (openclaw.md#disconnects).
    private mutating func history(_ payload: FrameNode?, _ session: AgentSession) -> [Observation] {
        open.filter { $0.value == session }.keys.sorted().map { run in
            let finding = OpenClawHistory.finding(of: .init(run: run), in: payload)
            if case .running(let text) = finding.course { return .lookedUp(run, .running(text: text)) }
            return .lookedUp(run, finding.hasText ? .ended(finding.end) : .unknown)
        }
    }

    // MARK: Events

    private mutating func event(_ root: FrameNode, at now: Instant) -> [Observation] {
        guard let name = root["event"], let payload = root["payload"] else { return [] }
        if name.holds("chat") { return chat(payload) }
        if name.holds("agent") { return agent(payload, at: now) }
        switch name.string ?? "" {
        case "connect.challenge":
            gatewayClock = (payload["ts"]?.integer(in: .wallMilliseconds)).map { ($0, now) }
            defer { hasSocket = true }
            guard hasSocket, isRecorded else { return [] }
            kept.forgetAll()
            spoken.socketLost()
            lastSequence.removeAll()
            lastLifecycle.removeAll()
            return [.linkLost, .linkBack]
        // The mirror of a tool frame, for runs that began on another socket (openclaw.md#which-events-reach-whom).
        case "session.tool": return agent(payload, at: now)
        case "exec.approval.requested": return approvalRequested(payload, plugin: false, at: now)
        case "plugin.approval.requested": return approvalRequested(payload, plugin: true, at: now)
        case "exec.approval.resolved", "plugin.approval.resolved":
            guard let id = payload["id"]?.string, let decision = Self.decision(payload["decision"]) else { return [] }
            let settlement = ApprovalSettlement(
                id: ApprovalID(id), outcome: .decided(decision), by: payload["resolvedBy"]?.string)
            return [signal(nil, payload["request"] ?? payload, .approvalSettled(settlement))]
        case "cron":
            // `cron` has no state, and in older builds no run: the session or the
            // job's name identifies it (openclaw.md#small-ones).
            let job = AgentJob(
                name: payload["jobId"]?.string, session: payload["sessionKey"]?.string.map { AgentSession($0) },
                run: payload["runId"]?.string.map { RunID($0) })
            if payload["action"]?.holds("started") == true { return [.jobStarted(job)] }
            return payload["action"]?.holds("finished") == true ? [.jobFinished(job)] : []
        case "sessions.changed":
            usage.note(payload)
            return []
        // The answer to a side question, sent before an end without words (openclaw.md#small-ones).
        case "chat.side_result":
            guard let run = payload["runId"]?.string, let text = payload["text"]?.bytes else { return [] }
            return spoken.said(.init(text: text), in: RunID(run)).map { signal(RunID(run), payload, .text($0)) }
        case "session.message":
            usage.spent(payload)
            return []
        case "tick", "health", "presence", "heartbeat", "shutdown", "session.operation", "session.approval", "task",
            "update.available", "device.pair.requested", "device.pair.resolved":
            return []
        case let other:
            unknown.count("event", other)
            return []
        }
    }

    func signal(_ run: RunID?, _ payload: FrameNode, _ event: RunEvent) -> Observation {
        .signal(
            RunSignal(run: run, session: payload["sessionKey"]?.string.map { AgentSession($0) }, event: event))
    }

    // MARK: chat

    private mutating func chat(_ payload: FrameNode) -> [Observation] {
        guard let id = payload["runId"]?.string, let state = payload["state"] else {
            unknown.countMalformed()
            return []
        }
        let run = RunID(id)
        if state.holds("delta") {
            // Smaller numbers are stale; equal ones are not (openclaw.md#four-different-counters).
            if let sequence = payload["seq"]?.integer(in: .counts) {
                guard sequence >= lastSequence[run] ?? 0 else { return [] }
                if lastSequence.count > 1_000 { lastSequence.removeAll() }
                lastSequence[run] = sequence
            }
            return delta(payload, run).map { [signal(run, payload, .text($0))] } ?? []
        }
        switch state.string ?? "" {
        // The gateway's own time limit ended the run; no person stopped it.
        case "aborted" where payload["stopReason"]?.holds("timeout") == true:
            return failed(run, payload, .timeout, "the run took too long")
        case "final", "aborted":
            return end(run, payload, state.holds("aborted") ? .aborted : OpenClawUsage.reason(payload))
        case "error":
            // The `message` of such a frame repeats the error's words and is no answer.
            return failed(run, payload, .init(named: payload["errorKind"]), payload["errorMessage"]?.string ?? "")
        case "status": return []
        case let other:
            unknown.count("chat state", other)
            return []
        }
    }

    private mutating func failed(
        _ run: RunID, _ payload: FrameNode, _ kind: RunFailure.Kind, _ words: String
    ) -> [Observation] {
        let failure = RunFailure(kind: kind, message: words, usage: usage.usage(of: payload))
        let (rest, _) = lastWords(of: run, nil)
        return rest.map { signal(run, payload, .text($0)) } + terminal(run, payload, .failed(failure))
    }

    private mutating func end(_ run: RunID, _ payload: FrameNode, _ reason: RunEnd.Reason) -> [Observation] {
        let isSpoken = spoken.isSpoken(run)
        let whole = text(of: payload)
        let (rest, last) = lastWords(of: run, whole)
        let end = RunEnd(
            text: isSpoken ? last : whole, scope: isSpoken || tellsNewestSegment ? .segment : .run,
            usage: usage.usage(of: payload), reason: reason)
        return rest.map { signal(run, payload, .text($0)) } + terminal(run, payload, .finished(end))
    }

    /// Last paragraph of a run with `assistant` frames, and changes that precede its end.
    private mutating func lastWords(of run: RunID, _ whole: String?) -> (changes: [TextChange], last: String?) {
        var whole = whole
        let (text, files) =
            whole?.withUTF8 { spoken.ends(run, whole: UnsafeRawBufferPointer($0)) } ?? spoken.ends(run, whole: nil)
        guard let named = AgentFiles.line(naming: files) else { return ([], text) }
        return ([.segmentEnded(text), .segment(named)], named)
    }

    private mutating func terminal(_ run: RunID, _ payload: FrameNode, _ event: RunEvent) -> [Observation] {
        kept.forget(run)
        lastSequence[run] = nil
        lastLifecycle[run] = nil
        open[run] = nil
        return [signal(run, payload, event)]
    }

    /// The reducer of openclaw.md#chat: the message if present, else a replacement, else an addition.
    private mutating func delta(_ payload: FrameNode, _ run: RunID) -> TextChange? {
        guard spoken.cameByChat(run) else { return nil }
        if let block = soleTextBlock(payload["message"]?["content"]) {
            if tellsNewestSegment { return .segment(String(decoding: block, as: UTF8.self)) }
            return kept.moved(run, to: block)
        }
        if let text = text(of: payload) {
            if tellsNewestSegment { return .segment(text) }
            var text = text
            return text.withUTF8 { kept.moved(run, to: UnsafeRawBufferPointer($0)) }
        }
        guard let addition = payload["deltaText"]?.bytes else { return nil }
        return payload["replace"]?.flag == true ? kept.moved(run, to: addition) : kept.appended(run, addition)
    }

    /// The hot path: the bytes of a single text block, without a copy.
    private func soleTextBlock(_ content: FrameNode?) -> UnsafeRawBufferPointer? {
        guard let content else { return nil }
        if let bytes = content.bytes { return bytes }
        let blocks = content.elements
        guard blocks.count == 1, blocks[0]["type"]?.holds("text") == true else { return nil }
        return blocks[0]["text"]?.bytes
    }

    private func text(of payload: FrameNode) -> String? { payload["message"]?["content"]?.contentText }

    // MARK: agent

    mutating func agent(_ payload: FrameNode) -> [Observation] {
        guard let stream = payload["stream"] else { return [] }
        guard let id = payload["runId"]?.string, let data = payload["data"] else {
            unknown.countMalformed()
            return []
        }
        let run = RunID(id)
        if stream.holds("assistant") { return said(data, run).map { signal(run, payload, .text($0)) } }
        if data["phase"]?.holds("start") == true, stream.holds("tool") || stream.holds("item") {
            spoken.toolBegan(in: run)
        }
        switch stream.string ?? "" {
        case "lifecycle": return lifecycle(payload, data, run).map { signal(run, payload, $0) }
        case "tool":
            if detachesApprovals { openCommands.notice(payload, data, run: run) }
            return OpenClawTools.call(data).map { signal(run, payload, $0) }
        case "item": return OpenClawTools.item(data).map { signal(run, payload, $0) }
        case "command_output": return OpenClawTools.output(data).map { signal(run, payload, $0) }
        case "patch": return OpenClawTools.patch(data).map { signal(run, payload, $0) }
        case "thinking", "approval", "plan", "compaction", "usage", "run_status", "error": return []
        case let other:
            unknown.count("stream", other)
            return []
        }
    }

    /// Commentary, the agent's remarks beside its answer, has a phase of its own and is dropped.
    private mutating func said(_ data: FrameNode, _ run: RunID) -> [TextChange] {
        if data["phase"]?.holds("commentary") == true { return [] }
        var changes: [TextChange] = []
        let files = data["mediaUrls"]
        if data["text"] == nil, let addition = data["delta"]?.bytes {
            changes = spoken.added(addition, in: run)
        } else if let text = data["text"]?.bytes {
            let frame = SpokenTexts.Frame(
                text: text, addition: data["delta"]?.bytes, replaces: data["replace"]?.flag == true,
                hasFiles: files != nil)
            changes = spoken.said(frame, in: run)
        }
        if let files { spoken.sent(files.elements.compactMap(\.string), in: run) }
        return changes
    }

    private mutating func lifecycle(_ payload: FrameNode, _ data: FrameNode, _ run: RunID) -> [RunEvent] {
        // A repeated or overtaken frame is dropped: an old failure must not undo
        // the attempt after it (openclaw.md#four-different-counters).
        if let sequence = payload["seq"]?.integer(in: .counts) {
            guard sequence > lastLifecycle[run] ?? -1 else { return [] }
            if lastLifecycle.count > 1_000 { lastLifecycle.removeAll() }
            lastLifecycle[run] = sequence
        }
        switch data["phase"]?.string {
        case "start":
            // After a failed attempt the gateway resets its text: the next one is whole (openclaw.md#chat, retry trap).
            kept.forget(run)
            let isAnother = spoken.forget(run)
            usage.begins(payload)
            if isRecorded, let session = payload["sessionKey"]?.string { open[run] = AgentSession(session) }
            return isAnother ? [.retrying(reason: ""), .started] : [.started]
        // A stop tore this attempt down; it did not fail.
        case "error" where data["aborted"]?.flag == true, "finishing" where data["aborted"]?.flag == true: return []
        case "error":
            spoken.attemptFailed(in: run)
            return [.retrying(reason: data["error"]?.string ?? "")]
        // In E3 a failed attempt finishes, and only the last one ends with an error.
        case "finishing":
            guard let reason = data["error"]?.string else { return [] }
            spoken.attemptFailed(in: run)
            return [.retrying(reason: reason)]
        default: return []
        }
    }
}
