import JSONReading
import Vocabulary

/// What the frames of one thread, and of its sub-agents' threads, say about the turn that is going on in it (codex.md#a-turn).
///
/// - One message of the agent is one segment: its deltas are a preview, and the text of its end is canonical.
/// - A message without an end of its own leaves nothing in the answer: the next message, or the model's next try, takes its place.
/// - Deltas of a message whose beginning was not seen are not shown: they have a hole.
/// - Frames of a turn that is over change nothing, but for the sum of tokens.
struct CodexThread {
    struct Turn {
        /// A turn may hold messages of several clients: the agent's output after ours is our answer (codex.md#stop-steer-busy).
        /// `stopped`: ours, which continues although it was stopped, with no bubble.
        enum Message { case unknown, others, ours, stopped }

        let id: String
        var message = Message.unknown
        /// Another client's message began it.
        var isOthers = false
        /// It was reported as a run of its own.
        var isReported = false
        /// Its frames until now are unknown: an earlier process of the bridge may have seen them.
        var isAdopted: Bool
        var calls = CodexCalls()
        /// The message that is being streamed.
        var openMessage: String?
        var endedMessages: Set<String> = []
        /// Of an adopted turn whose items are listed by themselves: its messages so far.
        var listed: [Said] = []
        /// What the thread had used before it.
        var before: CodexTotals?
        /// The newest sum may be older than what the turn has used.
        var isUsageOld = false
    }

    /// A message of the agent.
    struct Said {
        let id: String
        /// Empty: it is no answer to ours.
        var text: String

        init?(_ item: FrameNode) {
            guard item["type"]?.holds("agentMessage") == true else { return nil }
            id = item["id"]?.string ?? ""
            text = item["text"]?.string ?? ""
        }
    }

    private(set) var turn: Turn?
    /// Another one began when its end had not come: a list may still have the end.
    private var left: Turn?
    /// Sub-agents, by their threads.
    private(set) var children: [String: CodexChild] = [:]
    /// Those of earlier turns, whose frames still come.
    private(set) var formerChildren: [String: CodexChild] = [:]
    /// All of them.
    private(set) var subAgents: Set<String> = []
    var changes = CodexOpenChanges()
    private var totals: CodexTotals?
    private(set) var model: String?
    /// How long it reasons: as Codex said when the thread was opened, or as the last turn named it.
    var effort: String?
    private var provider: String?

    /// Sub-agents that are followed at once.
    private static let childLimit = 256

    // MARK: The course

    /// The answer to `thread/start` or `thread/resume`.
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
        // What the thread has used since then is of both.
        left?.isUsageOld = true
        turn = known ?? Turn(id: id, isAdopted: isAdopted, before: isAdopted ? nil : totals)
        formerChildren.merge(children) { $1 }
        children = [:]
    }

    /// A sub-agent, in a turn whose beginning was missed.
    mutating func works(_ child: String, turn: String) { children[child]?.turn = turn }

    mutating func isInterrupted(_ child: String, turn: String) { children[child]?.interrupted = turn }

    /// A turn that is or was followed here began this sub-agent, and did not only use it; nil: none is known of it.
    func hasBegun(_ child: String) -> Bool? { (children[child] ?? formerChildren[child])?.isOwn }

    /// A sub-agent's turn has ended, though the frame that says so may have been lost with the link.
    mutating func isOver(_ turn: String, of child: String) {
        if children[child]?.turn == turn { children[child]?.turn = nil }
        if formerChildren[child]?.turn == turn { formerChildren[child]?.turn = nil }
    }

    /// A sub-agent's turn has ended, as far as the frames of its thread say.
    func hasEnded(_ turn: String, of child: String) -> Bool {
        (children[child] ?? formerChildren[child]).map { $0.turn != turn } ?? false
    }

    /// What they ask is asked again once their threads are followed.
    var areFollowed: Bool { children.values.allSatisfy { $0.following == .no } }
    mutating func follows(_ child: String, _ following: CodexChild.Following) { children[child]?.following = following }

    /// Their frames do not come any more.
    mutating func forgetChildren() { (children, formerChildren, subAgents) = ([:], [:], []) }

    /// What is being streamed may have a hole from now on.
    mutating func linkLost() {
        changes = CodexOpenChanges()
        turn?.openMessage = nil
        turn?.isUsageOld = true
        left?.openMessage = nil
        // Those of the turn are followed again when the list names them.
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

    /// Our message is in another client's turn, and has no bubble.
    mutating func isLeft() { turn?.message = .others }

    /// Our message is in the turn. What ends for the client whose message began it.
    mutating func hasOurs() -> [RunEvent] {
        guard let known = turn, known.message != .ours else { return [] }
        turn?.message = .ours
        guard known.message == .others || known.isReported else { return [] }
        let events = abandonMessage() + tools { $0.finishAll(isInterrupted: false) } + [.finished(RunEnd())]
        turn?.before = totals
        return known.isReported ? events : []
    }

    // MARK: Frames

    /// A notification of this thread, or of a child's.
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
        // A list may have had all of it before its own frames are read.
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

    /// Leaves the oldest sub-agent at rest, by the ids of their threads, for one more. Its next activity brings it back.
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

    /// Messages among the turn's items that did not come by themselves.
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

    /// The turn as the list of the thread's turns has it, with all of its items: what was missed of the answer to the message of this
    /// label. An end follows where it has ended. `lacksItems`: of the agent's messages it has the last one alone.
    mutating func caughtUp(_ listed: FrameNode, of label: RunID? = nil, lacksItems: Bool = false) -> [RunEvent] {
        guard let turn, listed["id"]?.equals(turn.id) == true else { return [] }
        var events: [RunEvent] = []
        let items = Self.items(of: listed, behind: label)
        let isWhole = turn.isAdopted
        if lacksItems {
            events += unplaced(items)
        } else if isWhole {
            let known = Set(turn.listed.map(\.id))
            let messages = turn.listed + items.compactMap { Said($0) }.filter { !known.contains($0.id) }
            self.turn?.isAdopted = false
            self.turn?.listed = []
            self.turn?.endedMessages.formUnion(messages.map(\.id))
            if !messages.isEmpty || !turn.isAdopted {
                events += [.text(.snapshot(Self.text(of: messages))), .text(.segmentEnded(nil))]
            }
        } else {
            events += unseen(items)
        }
        for item in items { events += call(item) }
        return listed["status"]?.holds("inProgress") == true ? events : events + end(listed, items)
    }

    /// One of its items, in their order. What is before our message is not an answer to it.
    mutating func caughtUp(item: FrameNode) -> [RunEvent] {
        guard turn?.message != .others else { return [] }
        guard let said = Said(item) else { return call(item) }
        guard turn?.isAdopted == true else { return completed(item) }
        // It may have been read before the link was lost.
        if turn?.listed.contains(where: { $0.id == said.id }) == false { turn?.listed.append(said) }
        return []
    }

    /// Our message is the next one of the items.
    mutating func listsOurs() {
        for index in turn?.listed.indices ?? 0..<0 { turn?.listed[index].text = "" }
    }

    private mutating func call(_ item: FrameNode) -> [RunEvent] {
        guard item["type"]?.holds("agentMessage") != true else { return [] }
        let isOpen = item["status"]?.holds("inProgress") == true
        guard let place = place(of: item) else { return child(item) }
        return child(item) + tools { isOpen ? $0.began(item, at: place, of: nil) : $0.ended(item, at: place, of: nil) }
    }

    /// Appended to the known text: the list lacks the messages before them.
    private mutating func unplaced(_ items: [FrameNode]) -> [RunEvent] {
        turn?.isAdopted = false
        let news = items.compactMap { Said($0) }.filter { turn?.endedMessages.insert($0.id).inserted == true }
        return news.filter { !$0.text.isEmpty }.flatMap { said -> [RunEvent] in
            [.text(.segment(said.text)), .text(.segmentEnded(nil))]
        }
    }

    /// What became of a turn that is not followed any more.
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
