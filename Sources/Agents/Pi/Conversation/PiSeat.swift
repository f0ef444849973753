import AgentKit
import Vocabulary

/// The wait for a place for the process (`limits.agents`): a card in the bubble of each prompt that waits, until the process runs.
struct PiSeat {
    private struct Wait: Hashable {
        /// How many agents were running when it began to wait.
        var running: Int
        /// Where they all wait for a person, their chats.
        var chats: [WaitingChat]
    }

    /// As the phone knows the chat that sits here.
    var phoneSession: SessionID?
    private var wait: Wait?
    private var shown: Set<RunID> = []

    var isAwaited: Bool { wait != nil }

    /// Updates of the cards that show another reason.
    mutating func awaits(running: Int, behind chats: [WaitingChat] = []) -> [(run: RunID, card: ToolEvent)] {
        let before = title
        wait = Wait(running: running, chats: chats)
        guard let title, title != before else { return [] }
        return shown.sorted().map { ($0, .progress(ToolProgress(call: Self.call($0), title: title))) }
    }

    /// Of these prompts, cards for those that have none.
    mutating func show(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        guard let title else { return [] }
        return runs.filter { shown.insert($0).inserted }.map { run in
            (run, .started(ToolStart(call: Self.call(run), name: Self.name, title: title)))
        }
    }

    /// The process runs, or will not. The cards of these prompts, which still wait, are done.
    mutating func isFree(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        defer { (wait, shown) = (nil, []) }
        return runs.filter { shown.contains($0) }.map { run in
            (run, .finished(ToolResult(call: Self.call(run), name: Self.name, status: .completed)))
        }
    }

    // MARK: Words

    /// For the log.
    var note: String {
        guard let wait, !wait.chats.isEmpty else { return Self.words(wait?.running ?? 0) }
        return "all places for agents are held by chats that wait for an answer"
    }

    private var title: String? {
        guard let wait else { return nil }
        guard !wait.chats.isEmpty else { return "Waiting for a place: \(Self.words(wait.running))" }
        func sentence(_ count: Int) -> String {
            let named = wait.chats.prefix(count).map(Self.words).joined(separator: ", ")
            let more = wait.chats.count > count ? " and \(wait.chats.count - count) more" : ""
            return "All places for agents are held by chats that wait for an answer: \(named)\(more). "
                + "Answer there, or write /bridge asks."
        }
        // As many as a card's title holds.
        let counts = (1...wait.chats.count).reversed()
        return sentence(counts.first { sentence($0).utf8.count <= Self.longestTitle } ?? 1)
    }

    static func words(_ running: Int) -> String {
        running == 1 ? "1 agent is running" : "\(running) agents are running"
    }

    private static func words(_ chat: WaitingChat) -> String {
        let time = LocalTime(wallSeconds: chat.since / 1_000, secondsEast: 0, zone: "UTC", at: .zero).hour(of: .zero)
        return time.map { "\(chat.session) (since \($0))" } ?? "\(chat.session)"
    }

    private static let longestTitle = 200
    private static let name = "wait"
    private static func call(_ run: RunID) -> ToolCallID { ToolCallID("place-\(run)") }
}
