import JSONReading
import Vocabulary

// What the list of a thread's turns, or the answer to its resume, says of one of them.
extension CodexThread {
    /// Some sub-agent's turn continues, as far as its frames say.
    var hasWorkingChild: Bool {
        children.contains { $0.value.turn != nil } || formerChildren.contains { $0.value.turn != nil }
    }

    /// Sub-agents that a turn has begun, as the list of the thread's turns has it.
    static func begun(in turn: FrameNode) -> [String] {
        let items = (turn["items"]?.elements ?? []).filter {
            $0["type"]?.holds("subAgentActivity") == true && $0["kind"]?.holds("started") == true
        }
        return Set(items.compactMap { $0["agentThreadId"]?.string }).sorted()
    }

    /// It ended with its process, which could not write when (codex.md#what-survives).
    static func isCutOff(_ turn: FrameNode) -> Bool {
        turn["status"]?.holds("interrupted") == true && turn["completedAt"]?.isNumber != true && turn["items"] != nil
            && turn["startedAt"] != nil
    }

    /// Most of its items are left out.
    static func isShort(_ listed: FrameNode) -> Bool { listed["itemsView"]?.string.map { $0 != "full" } ?? false }

    // MARK: Items

    /// Of the chat's own thread, in the turn that goes on.
    func place(of item: FrameNode) -> CodexPlaceOfItem? {
        guard let turn, let id = item["id"]?.string else { return nil }
        return CodexPlaceOfItem(child: nil, turn: turn.id, item: id)
    }

    /// Of an item's frame, or of a request about one.
    func place(of params: FrameNode, child: String?) -> CodexPlaceOfItem? {
        guard let item = params["item"]?["id"]?.string ?? params["itemId"]?.string else { return nil }
        let own = child == nil ? turn?.id : nil
        return CodexPlaceOfItem(child: child, turn: params["turnId"]?.string ?? own ?? "", item: item)
    }

    /// Nil: the thread is the chat's own.
    func child(of params: FrameNode) -> String? {
        params["threadId"]?.string.flatMap { thread in
            children[thread] != nil || formerChildren[thread] != nil || subAgents.contains(thread) ? thread : nil
        }
    }

    /// The change of files that an ask is about: its request has no diff.
    func change(of ask: FrameNode) -> CodexChange? {
        changes.change(of: ask)
            ?? place(of: ask, child: child(of: ask)).flatMap { turn?.calls.change(of: $0) }
    }

    /// The call that an ask is about.
    func call(of ask: FrameNode) -> ToolCallID? {
        place(of: ask, child: child(of: ask)).flatMap { turn?.calls.call(at: $0) }
    }

    // MARK: Whose it is

    /// The messages of clients in a turn.
    static func labels(of turn: FrameNode) -> [RunID] {
        (turn["items"]?.elements ?? []).compactMap { label(of: $0) }
    }

    /// A message without one is another client's: ours have labels.
    private static let unlabelled = RunID("")

    /// Which message an item is; nil: it is none.
    static func label(of item: FrameNode) -> RunID? {
        guard item["type"]?.holds("userMessage") == true else { return nil }
        return item["clientId"]?.string.map { RunID($0) } ?? unlabelled
    }

    /// All of them where the message is not among them: a list in short has the first one alone.
    static func items(of turn: FrameNode, behind label: RunID?) -> [FrameNode] {
        let items = turn["items"]?.elements ?? []
        guard let label, let place = items.firstIndex(where: { self.label(of: $0) == label }) else { return items }
        return Array(items[(place + 1)...])
    }
}
