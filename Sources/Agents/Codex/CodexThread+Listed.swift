import JSONReading
import Vocabulary

// A turn in the list of turns, or in the answer to `thread/resume`.
extension CodexThread {
    /// A sub-agent's turn is still running, according to its frames.
    var hasWorkingChild: Bool {
        children.contains { $0.value.turn != nil } || formerChildren.contains { $0.value.turn != nil }
    }

    /// Sub-agents that a listed turn has begun.
    static func begun(in turn: FrameNode) -> [String] {
        let items = (turn["items"]?.elements ?? []).filter {
            $0["type"]?.holds("subAgentActivity") == true && $0["kind"]?.holds("started") == true
        }
        return Set(items.compactMap { $0["agentThreadId"]?.string }).sorted()
    }

    /// The turn ended with its process, which could not write when (codex.md#what-survives).
    static func isCutOff(_ turn: FrameNode) -> Bool {
        turn["status"]?.holds("interrupted") == true && turn["completedAt"]?.isNumber != true && turn["items"] != nil
            && turn["startedAt"] != nil
    }

    /// The list leaves out most of the turn's items.
    static func isShort(_ listed: FrameNode) -> Bool { listed["itemsView"]?.string.map { $0 != "full" } ?? false }

    // MARK: Items

    /// Place of an item of the chat's own thread, in the open turn.
    func place(of item: FrameNode) -> CodexPlaceOfItem? {
        guard let turn, let id = item["id"]?.string else { return nil }
        return CodexPlaceOfItem(child: nil, turn: turn.id, item: id)
    }

    /// Place that an item's frame, or a request about an item, names.
    func place(of params: FrameNode, child: String?) -> CodexPlaceOfItem? {
        guard let item = params["item"]?["id"]?.string ?? params["itemId"]?.string else { return nil }
        let own = child == nil ? turn?.id : nil
        return CodexPlaceOfItem(child: child, turn: params["turnId"]?.string ?? own ?? "", item: item)
    }

    /// Thread of the sub-agent, or nil for the chat's own thread.
    func child(of params: FrameNode) -> String? {
        params["threadId"]?.string.flatMap { thread in
            children[thread] != nil || formerChildren[thread] != nil || subAgents.contains(thread) ? thread : nil
        }
    }

    /// The file change that an ask concerns; its request has no diff.
    func change(of ask: FrameNode) -> CodexChange? {
        changes.change(of: ask)
            ?? place(of: ask, child: child(of: ask)).flatMap { turn?.calls.change(of: $0) }
    }

    /// The call that an ask concerns.
    func call(of ask: FrameNode) -> ToolCallID? {
        place(of: ask, child: child(of: ask)).flatMap { turn?.calls.call(at: $0) }
    }

    // MARK: Whose it is

    /// Labels of the clients' messages in a turn.
    static func labels(of turn: FrameNode) -> [RunID] {
        (turn["items"]?.elements ?? []).compactMap { label(of: $0) }
    }

    /// Stands for a message without a label, which is another client's: ours have labels.
    private static let unlabelled = RunID("")

    /// Label of a client's message, or nil for any other item.
    static func label(of item: FrameNode) -> RunID? {
        guard item["type"]?.holds("userMessage") == true else { return nil }
        return item["clientId"]?.string.map { RunID($0) } ?? unlabelled
    }

    /// Items behind the message of this label. All items if the message is not among them: a list in short has only the first
    /// message.
    static func items(of turn: FrameNode, behind label: RunID?) -> [FrameNode] {
        let items = turn["items"]?.elements ?? []
        guard let label, let place = items.firstIndex(where: { self.label(of: $0) == label }) else { return items }
        return Array(items[(place + 1)...])
    }
}
