import JSONReading

// What the list of a thread's turns, or the answer to its resume, says of one of them.
extension CodexThread {
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

    /// The change of files that an ask is about: its request has no diff.
    func change(of ask: FrameNode) -> CodexChange? {
        changes.change(of: ask) ?? ask["itemId"]?.string.flatMap { turn?.calls.change(of: $0) }
    }
}
