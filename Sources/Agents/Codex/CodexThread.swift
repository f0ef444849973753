import JSONReading
import Vocabulary

/// Reads from the frames of one thread and its sub-agents' threads what its open turn does (codex.md#a-turn).
///
/// - One message of the agent is one segment: its deltas are a preview, and the text of its end counts.
/// - A message without an end of its own adds nothing to the answer: the next message, or the model's next try, replaces it.
/// - Deltas of a message whose beginning was missed are not shown: the text would have a hole.
/// - Frames of an ended turn change only the token sum.
struct CodexThread {
    struct Turn {
        /// A turn may hold messages of several clients: the agent's output behind ours is our answer (codex.md#stop-steer-busy).
        /// `stopped`: our turn, which ignored a Stop and has no bubble.
        enum Message { case unknown, others, ours, stopped }

        let id: String
        var message = Message.unknown
        /// Another client's message began this turn.
        var isOthers = false
        /// The core knows the turn as a run of its own.
        var isReported = false
        /// Earlier frames are unknown: an earlier process of the bridge may have read them.
        var isAdopted: Bool
        var calls = CodexCalls()
        /// The message being streamed.
        var openMessage: String?
        var endedMessages: Set<String> = []
        /// Messages so far of an adopted turn whose items are listed separately.
        var listed: [Said] = []
        /// Token sum of the thread before the turn.
        var before: CodexTotals?
        /// The newest sum may lack tokens that the turn has used.
        var isUsageOld = false
    }

    /// A message of the agent.
    struct Said {
        let id: String
        /// Empty for a message that came before ours.
        var text: String

        init?(_ item: FrameNode) {
            guard item["type"]?.holds("agentMessage") == true else { return nil }
            id = item["id"]?.string ?? ""
            text = item["text"]?.string ?? ""
        }
    }

    private(set) var turn: Turn?
    /// The turn before `turn`, which had not ended when the next one began: a list may still bring its end.
    private var left: Turn?
    /// Sub-agents of the turn, by their threads.
    private(set) var children: [String: CodexChild] = [:]
    /// Sub-agents of earlier turns, whose frames still come.
    private(set) var formerChildren: [String: CodexChild] = [:]
    /// Threads of all sub-agents.
    private(set) var subAgents: Set<String> = []
    var changes = CodexOpenChanges()
    private var totals: CodexTotals?
    private(set) var model: String?
    /// Reasoning effort from the answer that opened the thread, or from the newest turn of ours that named one.
    var effort: String?
    private var provider: String?

    /// Sub-agents followed at a time.
    private static let childLimit = 256

    // MARK: The course

    /// Reads the answer to `thread/start` or `thread/resume`.
    mutating func opened(_ result: FrameNode, isNew: Bool) {
        model = result["model"]?.string ?? model
        provider = result["modelProvider"]?.string ?? provider
        effort = result["reasoningEffort"]?.string
        if isNew { totals = .zero }
        changes.resumed(result)
    }

    mutating func uses(model: String) { self.model = model }

    mutating func begins(turn id: String, isAdopted: Bool = false) {
        guard turn?.id != id else { return }
        let known = left?.id == id ? left : nil
        if known != nil || turn != nil { left = turn }
        // From here on the thread's sum counts both turns.
        left?.isUsageOld = true
        turn = known ?? Turn(id: id, isAdopted: isAdopted, before: isAdopted ? nil : totals)
        formerChildren.merge(children) { $1 }
        children = [:]
    }

    /// Sets the open turn of a sub-agent whose beginning was missed.
    mutating func works(_ child: String, turn: String) { children[child]?.turn = turn }

    mutating func isInterrupted(_ child: String, turn: String) { children[child]?.interrupted = turn }

    /// Whether a turn followed here began this sub-agent rather than used it, or nil for an unknown sub-agent.
    func hasBegun(_ child: String) -> Bool? { (children[child] ?? formerChildren[child])?.isOwn }

    /// Ends a sub-agent's turn, whose own frame may have been lost with the link.
    mutating func isOver(_ turn: String, of child: String) {
        if children[child]?.turn == turn { children[child]?.turn = nil }
        if formerChildren[child]?.turn == turn { formerChildren[child]?.turn = nil }
    }

    /// Whether a sub-agent's turn has ended, according to its thread's frames.
    func hasEnded(_ turn: String, of child: String) -> Bool {
        (children[child] ?? formerChildren[child]).map { $0.turn != turn } ?? false
    }

    /// No request to follow a sub-agent is open or refused: from then on the server has repeated their asks.
    var areFollowed: Bool { children.values.allSatisfy { $0.following == .no } }
    mutating func follows(_ child: String, _ following: CodexChild.Following) { children[child]?.following = following }

    /// The threads are unloaded and send no more frames.
    mutating func forgetChildren() { (children, formerChildren, subAgents) = ([:], [:], []) }

    /// The streamed message may have a hole from here on.
    mutating func linkLost() {
        changes = CodexOpenChanges()
        turn?.openMessage = nil
        turn?.isUsageOld = true
        left?.openMessage = nil
        // Sub-agents of the turn are followed again once the list names them.
        formerChildren = [:]
        for child in children.keys { children[child]?.following = .no }
        subAgents = Set(children.keys)
    }

    mutating func abandonTurn() { turn = nil }

    mutating func isReported() { turn?.isReported = true }

    mutating func isStopped() { turn?.message = .stopped }

    /// Another client's message is in the turn.
    mutating func hasOthers() {
        guard turn?.message == .unknown else { return }
        turn?.message = .others
        turn?.isOthers = true
    }

    /// Our message stays in another client's turn, without a bubble.
    mutating func isLeft() { turn?.message = .others }

    /// Our message is in the turn. Returns the end of the run of the client that began the turn.
    mutating func hasOurs() -> [RunEvent] {
        guard let known = turn, known.message != .ours else { return [] }
        turn?.message = .ours
        guard known.message == .others || known.isReported else { return [] }
        let events = abandonMessage() + tools { $0.finishAll(isInterrupted: false) } + [.finished(RunEnd())]
        turn?.before = totals
        return known.isReported ? events : []
    }

    // MARK: Frames

    /// Reads a notification of this thread or of a sub-agent's.
    mutating func read(_ method: String, _ params: FrameNode, thread: String) -> [RunEvent] {
        changes.read(method, params, thread: thread)
        if formerChildren[thread] != nil {
            Self.follow(&formerChildren[thread], method, params)
            return []
        }
        if children[thread] != nil { return readChild(method, params, thread: thread) }
        if method == "thread/tokenUsage/updated" {
            totals = CodexTotals(params) ?? totals
            turn?.isUsageOld = false
            return []
        }
        guard let id = turn?.id else { return [] }
        if method == "turn/completed" {
            guard let ended = params["turn"], ended["id"]?.equals(id) == true else { return [] }
            return end(ended)
        }
        guard params["turnId"]?.equals(id) == true else { return [] }
        switch method {
        case "item/started": return params["item"].map { started($0) } ?? []
        case "item/completed": return params["item"].map { completed($0) } ?? []
        case "item/agentMessage/delta": return delta(params)
        case "item/commandExecution/outputDelta": return progress(params, "delta", child: nil)
        case "item/mcpToolCall/progress": return progress(params, "message", child: nil)
        case "item/fileChange/patchUpdated":
            patched(params, child: nil)
            return []
        case "error" where params["willRetry"]?.flag == true: return abandonMessage()
        default: return []
        }
    }

    private mutating func readChild(_ method: String, _ params: FrameNode, thread: String) -> [RunEvent] {
        let name = children[thread]?.name
        Self.follow(&children[thread], method, params)
        switch method {
        case "item/started":
            guard let item = params["item"], let place = place(of: params, child: thread) else { return [] }
            return child(item) + tools { $0.began(item, at: place, of: name) }
        case "item/completed":
            guard let item = params["item"], let place = place(of: params, child: thread) else { return [] }
            return child(item) + tools { $0.ended(item, at: place, of: name) }
        case "item/commandExecution/outputDelta": return progress(params, "delta", child: thread)
        case "item/fileChange/patchUpdated": patched(params, child: thread)
        default: break
        }
        return []
    }

    private static func follow(_ child: inout CodexChild?, _ method: String, _ params: FrameNode) {
        switch method {
        case "turn/started": child?.turn = params["turn"]?["id"]?.string
        case "turn/completed": child?.turn = nil
        default: break
        }
    }

    private mutating func started(_ item: FrameNode) -> [RunEvent] {
        guard item["type"]?.holds("agentMessage") == true else {
            guard let place = place(of: item) else { return child(item) }
            return child(item) + tools { $0.began(item, at: place, of: nil) }
        }
        // The list may have brought the whole message before its own frames are read.
        guard let id = item["id"]?.string, turn?.endedMessages.contains(id) == false else { return [] }
        let abandoned = abandonMessage()
        turn?.openMessage = id
        return abandoned
    }

    private mutating func completed(_ item: FrameNode) -> [RunEvent] {
        guard item["type"]?.holds("agentMessage") == true else {
            guard let place = place(of: item) else { return child(item) }
            return child(item) + tools { $0.ended(item, at: place, of: nil) }
        }
        guard let id = item["id"]?.string, turn?.endedMessages.insert(id).inserted == true else { return [] }
        let abandoned = turn?.openMessage == id ? [] : abandonMessage()
        turn?.openMessage = nil
        return abandoned + [.text(.segmentEnded(item["text"]?.string ?? ""))]
    }

    private func delta(_ params: FrameNode) -> [RunEvent] {
        guard let open = turn?.openMessage, params["itemId"]?.equals(open) == true,
            let text = params["delta"]?.string, !text.isEmpty
        else { return [] }
        return [.text(.append(text))]
    }

    private func progress(_ params: FrameNode, _ member: StaticString, child: String?) -> [RunEvent] {
        let place = place(of: params, child: child)
        let events = turn?.calls.progressed(place, params[member]?.string ?? "") ?? []
        return events.map { .tool($0) }
    }

    private mutating func patched(_ params: FrameNode, child: String?) {
        guard let place = place(of: params, child: child) else { return }
        turn?.calls.patched(params, at: place)
    }

    private mutating func abandonMessage() -> [RunEvent] {
        guard turn?.openMessage != nil else { return [] }
        turn?.openMessage = nil
        return [.text(.segmentEnded(""))]
    }

    private mutating func child(_ item: FrameNode) -> [RunEvent] {
        guard item["type"]?.holds("subAgentActivity") == true, let thread = item["agentThreadId"]?.string else {
            return []
        }
        if children[thread] == nil, subAgents.contains(thread) || makesRoom() {
            var child = CodexChild(name: CodexWords.agent(item), isOwn: item["kind"]?.holds("started") == true)
            child.turn = formerChildren.removeValue(forKey: thread)?.turn
            children[thread] = child
            subAgents.insert(thread)
        }
        return tools { $0.agent(thread, item) }
    }

    /// Drops the oldest resting sub-agent (the lowest thread id) to make room for one more. Its next activity brings it back.
    private mutating func makesRoom() -> Bool {
        guard subAgents.count >= Self.childLimit else { return true }
        let resting = [formerChildren, children].lazy.compactMap { known in
            known.filter { $0.value.turn == nil }.keys.min()
        }
        guard let left = resting.first else { return false }
        formerChildren[left] = nil
        children[left] = nil
        subAgents.remove(left)
        return true
    }

    private mutating func tools(_ change: (inout CodexCalls) -> [ToolEvent]) -> [RunEvent] {
        guard turn != nil else { return [] }
        return turn?.calls.change(change).map { .tool($0) } ?? []
    }

    // MARK: The end

    private mutating func end(_ ended: FrameNode, _ items: [FrameNode]? = nil) -> [RunEvent] {
        var events = unseen(items ?? ended["items"]?.elements ?? [])
        let usage = turn.flatMap { turn in
            turn.isUsageOld ? nil : totals?.usage(since: turn.before, model: model, provider: provider)
        }
        let isInterrupted = ended["status"]?.holds("interrupted") == true
        if ended["status"]?.holds("completed") == true { events += abandonMessage() }
        events += tools { $0.finishAll(isInterrupted: isInterrupted) }
        events.append(Self.end(ended, usage))
        turn = nil
        return events
    }

    /// Messages among the turn's items that no frame of their own brought.
    private mutating func unseen(_ items: [FrameNode]) -> [RunEvent] {
        items.flatMap { item -> [RunEvent] in
            item["type"]?.holds("agentMessage") == true ? completed(item) : []
        }
    }

    private static func end(_ turn: FrameNode, _ usage: Usage?) -> RunEvent {
        switch turn["status"]?.string {
        case "failed":
            CodexFailure.isLength(turn["error"])
                ? .finished(RunEnd(usage: usage, reason: .length))
                : .failed(CodexFailure.read(turn["error"], usage: usage))
        case "interrupted" where isCutOff(turn):
            .failed(RunFailure(kind: .agentGone, message: "Codex's server ended", usage: usage))
        case "interrupted": .finished(RunEnd(usage: usage, reason: .aborted))
        default: .finished(RunEnd(usage: usage))
        }
    }

    // MARK: Rejoining

    /// Catches up from the list, which has all items of the turn: the missed part of the answer behind the message of this label,
    /// and the end if the turn has ended. `lacksItems`: of the agent's messages the list has only the last.
    mutating func caughtUp(_ listed: FrameNode, of label: RunID? = nil, lacksItems: Bool = false) -> [RunEvent] {
        guard let turn, listed["id"]?.equals(turn.id) == true else { return [] }
        var events: [RunEvent] = []
        let items = Self.items(of: listed, behind: label)
        if lacksItems {
            events += unplaced(items)
        } else if turn.isAdopted {
            let known = Set(turn.listed.map(\.id))
            let messages = turn.listed + items.compactMap { Said($0) }.filter { !known.contains($0.id) }
            self.turn?.isAdopted = false
            self.turn?.listed = []
            self.turn?.endedMessages.formUnion(messages.map(\.id))
            if !messages.isEmpty {
                events += [.text(.snapshot(Self.text(of: messages))), .text(.segmentEnded(nil))]
            }
        } else {
            events += unseen(items)
        }
        for item in items { events += call(item) }
        return listed["status"]?.holds("inProgress") == true ? events : events + end(listed, items)
    }

    /// Takes one item of the list, in order. Items before our message do not belong to its answer.
    mutating func caughtUp(item: FrameNode) -> [RunEvent] {
        guard turn?.message != .others else { return [] }
        guard let said = Said(item) else { return call(item) }
        guard turn?.isAdopted == true else { return completed(item) }
        // The message may have been read before the link was lost.
        if turn?.listed.contains(where: { $0.id == said.id }) == false { turn?.listed.append(said) }
        return []
    }

    /// Our message is the next item: earlier texts do not belong to its answer.
    mutating func listsOurs() {
        for index in turn?.listed.indices ?? 0..<0 { turn?.listed[index].text = "" }
    }

    private mutating func call(_ item: FrameNode) -> [RunEvent] {
        guard item["type"]?.holds("agentMessage") != true else { return [] }
        let isOpen = item["status"]?.holds("inProgress") == true
        guard let place = place(of: item) else { return child(item) }
        return child(item) + tools { isOpen ? $0.began(item, at: place, of: nil) : $0.ended(item, at: place, of: nil) }
    }

    /// Appends to the known text: the list lacks the messages in between.
    private mutating func unplaced(_ items: [FrameNode]) -> [RunEvent] {
        turn?.isAdopted = false
        let news = items.compactMap { Said($0) }.filter { turn?.endedMessages.insert($0.id).inserted == true }
        return news.filter { !$0.text.isEmpty }.flatMap { said -> [RunEvent] in
            [.text(.segment(said.text)), .text(.segmentEnded(nil))]
        }
    }

    /// Outcome of a turn that is not followed.
    static func found(_ listed: FrameNode, of label: RunID) -> RunLookup {
        let text = text(of: items(of: listed, behind: label).compactMap { Said($0) })
        switch end(listed, nil) {
        case _ where listed["status"]?.holds("inProgress") == true: return .running(text: nil)
        case .finished(var end):
            end.text = end.reason == .aborted ? nil : text
            if isShort(listed) { end.scope = .segment }
            return .ended(end)
        case .failed(var failure):
            failure.text = text.isEmpty || isShort(listed) ? nil : text
            return .failed(failure)
        default: return .unknown
        }
    }

    private static func text(of messages: [Said]) -> String {
        messages.map(\.text).filter { !$0.isEmpty }.joined(separator: "\n\n")
    }
}
