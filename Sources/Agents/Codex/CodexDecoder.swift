package import AgentKit
import JSONReading
package import Vocabulary

/// Maps frames of a recorded app-server to observations (codex.md), over one connection after another, of a socket or a child.
///
/// - Our label of the prompt (`clientUserMessageId`) names a run; Codex's own id names any other turn.
/// - A request's number on this connection finds its answer; the server numbers its own requests separately.
package struct CodexDecoder: AgentDecoder {
    private enum Asked {
        case start
        case resume(thread: String)
        case turn(RunID, thread: String)
        case turns(thread: String)
        case other
    }

    private struct Open {
        var ask: CodexAsk
        /// The ask before `named`, for the next version of its patch.
        var asked: CodexAsk
        var answered = false
    }

    private static let limit = 10_000
    private static let nameLimit = 200

    private let parser = FrameParser()
    private var asked: [JSONText: Asked] = [:]
    private var open: [JSONText: Open] = [:]
    private var threads: [String: CodexThread] = [:]
    /// Owner's thread by the sub-agent's thread.
    private var parents: [String: String] = [:]
    /// Runs by thread and turn.
    private var runs: [String: RunID] = [:]
    private var labels: [String: Int] = [:]
    /// Fingerprint shown under each name, or nil once that ask has ended.
    private var names: [String: AskFingerprint?] = [:]
    private var isLost = false
    package private(set) var unknown = UnknownTally()

    package init() {}

    package var nextDeadline: Instant? { nil }
    package mutating func deadlineHit(at now: Instant) -> [Observation] { [] }

    // MARK: From the server

    package mutating func received(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else {
            unknown.countMalformed()
            return []
        }
        if root["_ws"] != nil || root["_proc"] != nil { return lost() }
        switch CodexMessage(root) {
        case .notification(let method, let params):
            if !CodexNames.notifications.contains(method) { unknown.count("notification", method) }
            return notified(method, params)
        case .request(let id, let method, let params): return requested(id, method, params)
        case .result(let id, let result): return answered(id, result)
        case .failure(let id, _, let message): return refused(id, message)
        case nil:
            unknown.countMalformed()
            return []
        }
    }

    private mutating func lost() -> [Observation] {
        guard !isLost else { return [] }
        isLost = true
        asked = [:]
        open = [:]
        for thread in threads.keys { threads[thread]?.linkLost() }
        return [.linkLost]
    }

    private mutating func notified(_ method: String, _ params: FrameNode) -> [Observation] {
        if method == "serverRequest/resolved" {
            guard let id = params["requestId"]?.compact, let known = open.removeValue(forKey: id) else { return [] }
            names[known.ask.name] = .some(nil)
            return settled(known)
        }
        guard let id = params["threadId"]?.string else { return [] }
        let owner = parents[id] ?? id
        if method == "turn/started", owner == id, let turn = params["turn"]?["id"]?.string {
            return begins(turn, in: id)
        }
        let turn = threads[owner]?.turn?.id
        let events = threads[owner]?.read(method, params, thread: id) ?? []
        for child in threads[owner]?.children.keys.map(\.self) ?? [] where parents.count < Self.limit {
            parents[child] = owner
        }
        return signals(events, turn, in: owner) + changed(method, params, turn, in: owner)
    }

    /// Follows `CodexOpenAsks.changed`: an ask whose patch has changed is a new ask.
    private mutating func changed(
        _ method: String, _ params: FrameNode, _ turn: String?, in owner: String
    ) -> [Observation] {
        guard method == "item/started" || method == "item/fileChange/patchUpdated", let thread = threads[owner],
            let item = params["item"]?["id"]?.string ?? params["itemId"]?.string
        else { return [] }
        let asks = open.filter { _, known in
            !known.answered && known.ask.item == item && known.ask.thread == params["threadId"]?.string
                && known.ask.turn == params["turnId"]?.string
        }
        return asks.sorted { $0.key.text < $1.key.text }.flatMap { id, known -> [Observation] in
            guard let now = known.asked.showing(thread.change(of: params)), now.fingerprint != known.ask.fingerprint
            else { return [] }
            names[known.ask.name] = .some(nil)
            return settled(known) + take(now, as: id, turn, in: owner)
        }
    }

    private mutating func begins(_ turn: String, in thread: String) -> [Observation] {
        if threads[thread] == nil, threads.count < Self.limit { threads[thread] = CodexThread() }
        guard threads[thread]?.turn?.id != turn else { return [] }
        threads[thread]?.begins(turn: turn)
        return signals([.started], turn, in: thread)
    }

    private func signals(_ events: [RunEvent], _ turn: String?, in thread: String) -> [Observation] {
        guard let turn else { return [] }
        let run = run(turn, thread)
        return events.map { .signal(RunSignal(run: run, session: AgentSession(thread), event: $0)) }
    }

    private func run(_ turn: String, _ thread: String) -> RunID { runs["\(thread)/\(turn)"] ?? RunID(turn) }

    private mutating func requested(_ id: JSONText, _ method: String, _ params: FrameNode) -> [Observation] {
        let thread = params["threadId"]?.string ?? ""
        let owner = parents[thread] ?? thread
        let agent = threads[owner]?.children[thread]?.name
        let change = threads[owner]?.change(of: params)
        let call = threads[owner]?.call(of: params)
        guard let asked = CodexAsk(method, params, as: id, agent: agent, change: change, call: call) else {
            unknown.count("request", method)
            return []
        }
        return take(asked, as: id, threads[owner]?.turn?.id, in: owner)
    }

    private mutating func take(
        _ asked: CodexAsk, as id: JSONText, _ turn: String?, in owner: String
    ) -> [Observation] {
        let ask = named(asked, as: id)
        if open.count < Self.limit { open[id] = Open(ask: ask, asked: asked) }
        if names.count < Self.limit { names[ask.name] = .some(ask.fingerprint) }
        guard let turn = turn ?? ask.turn else { return [] }
        switch ask.content {
        case .approval(let request, _): return signals([.approvalRequested(request)], turn, in: owner)
        case .questions(let questions, _):
            return signals(questions.map { .asked($0.question) }, turn, in: owner)
        case .refused: return []
        }
    }

    /// Follows `CodexOpenAsks.named`: another ask about the same item takes the next name.
    private func named(_ ask: CodexAsk, as id: JSONText) -> CodexAsk {
        let isFree = { (named: CodexAsk) -> Bool in
            guard let shown = names[named.name] else { return true }
            return shown == ask.fingerprint && !open.contains { $0.key != id && $0.value.ask.name == named.name }
        }
        return (1...Self.nameLimit).lazy.map { ask.named($0) }.first(where: isFree) ?? ask
    }

    /// The server does not say what another client decided; the item does (codex.md#server-requests).
    private func settled(_ known: Open) -> [Observation] {
        guard !known.answered else { return [] }
        switch known.ask.content {
        case .approval(let request, _):
            let settlement = ApprovalSettlement(id: request.id, outcome: .cancelled)
            let session = AgentSession(known.ask.thread)
            return [.signal(RunSignal(run: nil, session: session, event: .approvalSettled(settlement)))]
        case .questions(let questions, _):
            let owner = parents[known.ask.thread] ?? known.ask.thread
            let reason: QuestionSettlement.Reason = threads[owner]?.turn == nil ? .cancelled : .answeredElsewhere
            return questions.map {
                let event = RunEvent.questionSettled(QuestionSettlement(id: $0.question.id, reason))
                return .signal(RunSignal(run: nil, session: AgentSession(owner), event: event))
            }
        case .refused: return []
        }
    }

    private mutating func answered(_ id: JSONText, _ result: FrameNode) -> [Observation] {
        guard let purpose = asked.removeValue(forKey: id) else {
            unknown.count("answer", "to nothing")
            return []
        }
        switch purpose {
        case .start, .resume:
            guard let thread = result["thread"]?["id"]?.string, threads.count < Self.limit else { return [] }
            let isNew = if case .start = purpose { true } else { false }
            if threads[thread] == nil { threads[thread] = CodexThread() }
            threads[thread]?.opened(result, isNew: isNew)
        case .turn(let run, let thread):
            guard let turn = result["turn"]?["id"]?.string else { return [] }
            runs["\(thread)/\(turn)"] = run
            return [.sendAnswered(asked: run, .accepted(run: run))]
        case .turns(let thread): return listed(result, in: thread)
        case .other: break
        }
        return []
    }

    private mutating func listed(_ result: FrameNode, in thread: String) -> [Observation] {
        guard let turn = threads[thread]?.turn?.id,
            let node = result["data"]?.elements.first(where: { $0["id"]?.equals(turn) == true })
        else { return [] }
        let found: Observation = .lookedUp(run(turn, thread), .running(text: nil))
        return [found] + signals(threads[thread]?.caughtUp(node) ?? [], turn, in: thread)
    }

    private mutating func refused(_ id: JSONText, _ message: String) -> [Observation] {
        guard case .turn(let run, _)? = asked.removeValue(forKey: id) else { return [] }
        return [.sendAnswered(asked: run, .refused(message: message))]
    }

    // MARK: From the bridge

    package mutating func sent(_ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant) -> [Observation] {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return [] }
        if root["_ws"] != nil || root["_proc"] != nil { return isBack() }
        switch CodexMessage(root) {
        case .request(let id, let method, let params): return asks(id, method, params)
        case .result(let id, let result): return decides(id, result)
        case .notification, .failure, nil: return []
        }
    }

    private mutating func isBack() -> [Observation] {
        defer { isLost = false }
        return isLost ? [.linkBack] : []
    }

    private mutating func asks(_ id: JSONText, _ method: String, _ params: FrameNode) -> [Observation] {
        // A new connection answers none of the requests of the one before.
        if method == "initialize" {
            asked = [:]
            open = [:]
        }
        let thread = params["threadId"]?.string ?? ""
        var purpose = Asked.other
        var observations: [Observation] = []
        switch method {
        case "thread/start": purpose = .start
        case "thread/resume": purpose = .resume(thread: thread)
        case "thread/turns/list": purpose = .turns(thread: thread)
        case "turn/start":
            let run = name(params["clientUserMessageId"]?.string ?? "prompt")
            purpose = .turn(run, thread: thread)
            let texts = (params["input"]?.elements ?? []).compactMap { $0["text"]?.string }
            observations = [
                .prompt(AgentPrompt(session: AgentSession(thread), run: run, text: texts.joined(separator: "\n")))
            ]
        case "turn/interrupt":
            let turn = params["turnId"]?.string ?? ""
            observations = [.stopSent(session: AgentSession(thread), run: run(turn, thread))]
        default: break
        }
        if asked.count < Self.limit { asked[id] = purpose }
        return observations
    }

    /// Runs are counted because a label is no key: the same one may begin another turn.
    private mutating func name(_ label: String) -> RunID {
        guard labels.count < Self.limit else { return RunID(label) }
        labels[label, default: 0] += 1
        let count = labels[label] ?? 1
        return RunID(count == 1 ? label : "\(label)-\(count)")
    }

    private mutating func decides(_ id: JSONText, _ result: FrameNode) -> [Observation] {
        guard let known = open[id], !known.answered else { return [] }
        open[id]?.answered = true
        switch known.ask.content {
        case .approval(let request, _): return [.decisionSent(request.id, CodexAsk.decision(result))]
        case .questions(let questions, let form):
            let session = AgentSession(parents[known.ask.thread] ?? known.ask.thread)
            return questions.map { .answerSent($0.question.id, session, form.answer($0, in: result)) }
        case .refused: return []
        }
    }
}
