import AgentKit
import Vocabulary

/// The wait for a child, most often for its place (`limits.agents`): a card in the bubble of each waiting prompt, until the child
/// runs.
struct Seat {
    private enum Wait: Hashable {
        /// Agents that ran when the wait began, and their chats if all of them wait for a person.
        case place(running: Int, behind: [WaitingChat])
        /// Reason in the dialect's words.
        case told(String)
    }

    /// The phone's id of the chat.
    var phoneSession: SessionID?
    private var wait: Wait?
    private var shown: Set<RunID> = []
    /// Number of the wait, counted if it showed cards: a finished card does not open again.
    private var number = 1

    /// The host has no place for the child.
    var isAwaited: Bool { if case .place = wait { true } else { false } }

    /// Updates of the cards that show another reason.
    mutating func awaits(running: Int, behind chats: [WaitingChat] = []) -> [(run: RunID, card: ToolEvent)] {
        change(to: .place(running: running, behind: chats))
    }

    /// Changes to a wait that the dialect explains, and opens missing cards.
    mutating func tells(_ words: String, _ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        change(to: .told(words)) + show(runs)
    }

    private mutating func change(to wait: Wait) -> [(run: RunID, card: ToolEvent)] {
        let before = title
        self.wait = wait
        guard let title, title != before else { return [] }
        return shown.sorted().map { ($0, .progress(ToolProgress(call: call($0), title: title))) }
    }

    /// Opens missing cards for these prompts.
    mutating func show(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        guard let title else { return [] }
        return runs.filter { shown.insert($0).inserted }.map { run in
            (run, .started(ToolStart(call: call(run), name: Self.name, title: title)))
        }
    }

    /// The process runs, or never will: finishes the cards of prompts that still wait.
    mutating func isFree(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        defer {
            if !shown.isEmpty { number += 1 }
            (wait, shown) = (nil, [])
        }
        return runs.filter { shown.contains($0) }.map { run in
            (run, .finished(ToolResult(call: call(run), name: Self.name, status: .completed)))
        }
    }

    /// Finishes the card of a prompt that leaves.
    mutating func leaves(_ run: RunID) -> [(run: RunID, card: ToolEvent)] {
        guard shown.remove(run) != nil else { return [] }
        if shown.isEmpty, case .told = wait { wait = nil }
        return [(run, .finished(ToolResult(call: call(run), name: Self.name, status: .completed)))]
    }

    // MARK: Words

    /// A line for the log.
    var note: String {
        switch wait {
        case .place(let running, let chats) where chats.isEmpty: Self.words(running)
        case .place(_, let chats): "all places for agents are held by chats that \(Self.keep(chats))"
        case .told(let words): words
        case nil: Self.words(0)
        }
    }

    private var title: String? {
        switch wait {
        case .place(let running, let chats) where chats.isEmpty: "Waiting for a place: \(Self.words(running))"
        case .place(_, let chats): Self.title(chats)
        case .told(let words): words
        case nil: nil
        }
    }

    /// Names as many chats as a card's title holds.
    private static func title(_ chats: [WaitingChat]) -> String {
        func sentence(_ count: Int) -> String {
            let named = chats.prefix(count).map(words).joined(separator: ", ")
            let more = chats.count > count ? " and \(chats.count - count) more" : ""
            return "All places for agents are held by chats that \(keep(chats)): \(named)\(more). "
                + "Answer there, or write /bridge asks."
        }
        return sentence((1...chats.count).reversed().first { sentence($0).utf8.count <= longestTitle } ?? 1)
    }

    static func words(_ running: Int) -> String {
        running == 1 ? "1 agent is running" : "\(running) agents are running"
    }

    /// Verb of a sentence about these chats.
    private static func keep(_ chats: [WaitingChat]) -> String {
        let (works, waits) = (chats.contains { $0.work != nil }, chats.contains { $0.work == nil })
        return works ? "\(waits ? "wait for an answer or " : "")work in the background" : "wait for an answer"
    }

    private static func words(_ chat: WaitingChat) -> String {
        if let work = chat.work { return "\(chat.session) (\(work))" }
        let time = LocalTime(wallSeconds: chat.since / 1_000, secondsEast: 0, zone: "UTC", at: .zero).hour(of: .zero)
        return time.map { "\(chat.session) (since \($0))" } ?? "\(chat.session)"
    }

    private static let longestTitle = 200
    private static let name = "wait"
    private func call(_ run: RunID) -> ToolCallID {
        ToolCallID(number == 1 ? "place-\(run)" : "place-\(run)-\(number)")
    }
}
