import JSONReading

/// File changes that were open when their threads were resumed. No list of turns has them, and a repeated ask has no diff
/// (codex.md#server-requests).
///
/// Invariant: an item's own frames replace the change of the resume, so no card shows an earlier change.
struct CodexOpenChanges {
    private struct Place: Hashable {
        var thread: String
        var turn: String
        var item: String
    }

    /// Items of one turn at most, as for its cards.
    private static let limit = 2_000

    private var changes: [Place: CodexChange] = [:]

    /// Reads the answer to `thread/resume`, with the newest turn if the request named it.
    mutating func resumed(_ result: FrameNode) {
        guard let thread = result["thread"]?["id"]?.string else { return }
        changes = changes.filter { $0.key.thread != thread }
        for turn in result["initialTurnsPage"]?["data"]?.elements ?? [] {
            guard turn["status"]?.holds("inProgress") == true, let id = turn["id"]?.string else { continue }
            take(turn["items"]?.elements ?? [], of: id, in: thread)
        }
    }

    private mutating func take(_ items: [FrameNode], of turn: String, in thread: String) {
        var seen: Set<Place> = []
        for item in items {
            guard let id = item["id"]?.string else { continue }
            let place = Place(thread: thread, turn: turn, item: id)
            // Two items share this id, so nothing says which of them an ask concerns.
            guard seen.insert(place).inserted else {
                changes[place] = nil
                continue
            }
            guard item["type"]?.holds("fileChange") == true, item["status"]?.holds("inProgress") == true,
                changes.count < Self.limit
            else { continue }
            changes[place] = CodexChange(item)
        }
    }

    mutating func read(_ method: String, _ params: FrameNode, thread: String) {
        guard !changes.isEmpty, let turn = params["turnId"]?.string else { return }
        let item = params["item"]?["id"]?.string ?? params["itemId"]?.string
        guard let item else { return }
        let place = Place(thread: thread, turn: turn, item: item)
        switch method {
        case "item/started", "item/completed": changes[place] = nil
        case "item/fileChange/patchUpdated" where changes[place] != nil: changes[place] = CodexChange(params)
        default: break
        }
    }

    /// The change that this ask concerns.
    func change(of params: FrameNode) -> CodexChange? {
        guard let thread = params["threadId"]?.string, let turn = params["turnId"]?.string,
            let item = params["itemId"]?.string
        else { return nil }
        return changes[Place(thread: thread, turn: turn, item: item)]
    }
}
