import JSONReading
import Vocabulary

// Items of our turn that a list leaves out: they are read page by page, and then the list again.
extension CodexChat {
    /// Nil if the list says all that Codex has.
    mutating func readsItems(_ turns: [FrameNode]) -> [Order]? {
        guard let turn, let listed = find(turn, in: turns), CodexThread.isShort(listed), let id = listed["id"]?.string
        else { return nil }
        switch turn.watch.items {
        case .read, .refused: return nil
        case .reading: return []
        case .unread:
            self.turn?.watch.items = .reading
            let isOther = thread.turn.map { $0.id != id } ?? false
            let isOver = listed["status"]?.holds("inProgress") != true
            self.turn?.watch.other = isOther && isOver ? thread.turn?.id : nil
            let ended = isOther && !isOver ? endForeignTurn() : []
            thread.begins(turn: id, isAdopted: turn.isAdopted)
            way = .listing
            return ended + items(of: id, from: nil)
        }
    }

    private func items(of turn: String, from cursor: String?) -> [Order] {
        guard let place else { return [] }
        let params = CodexFrames.items(of: turn, in: place.thread, from: cursor)
        return [.request(.items(turn: turn), "thread/items/list", params)]
    }

    mutating func itemsListed(_ result: FrameNode, of id: String) -> [Order] {
        guard way == .listing else { return [] }
        // A Stop was ignored in the meantime.
        guard let turn, turn.watch.items == .reading, thread.turn?.id == id else { return list() }
        let items = (result["data"]?.elements ?? []).compactMap { $0["item"] }
        let said = items.flatMap { caughtUp($0, of: turn.run) }
        if let next = result["nextCursor"]?.string { return said + self.items(of: id, from: next) }
        self.turn?.watch.items = .read
        return said + list()
    }

    private mutating func caughtUp(_ item: FrameNode, of run: RunID) -> [Order] {
        guard item["type"]?.holds("userMessage") == true else {
            let ended = asks.ended(item, in: thread.turn?.id, thread: place?.thread)
            return say(ended, of: run) + thread.caughtUp(item: item).map { observed($0, of: run) }
        }
        let label = CodexThread.label(of: item)
        if label == run { thread.listsOurs() }
        return recognize(label.map { [$0] } ?? [])
    }

    /// The thread's store may have no list of items; then only the last message is known.
    mutating func itemsRefused(_ code: Int, _ message: String, at now: Instant) -> [Order] {
        guard way == .listing else { return [] }
        guard code != CodexRefusal.overloaded, !CodexRefusal.isNotLoaded(message) else {
            turn?.watch.items = .unread
            return listRefused(code, message, at: now)
        }
        turn?.watch.items = .refused
        return [.note("Codex does not list the items of a turn: parts of its answer may be missing")] + list()
    }
}
