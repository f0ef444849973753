import BridgeModel

/// The wait for a place for the process (`limits.agents`): a card in the bubble of each prompt that waits, until the process runs.
struct PiSeat {
    /// How many agents were running when it began to wait; nil: it does not wait.
    private var running: Int?
    private var shown: Set<RunID> = []

    var isAwaited: Bool { running != nil }

    mutating func awaits(running: Int) { self.running = running }

    /// Of these prompts, cards for those that have none.
    mutating func show(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        guard let running else { return [] }
        let title = "Waiting for a place: \(Self.words(running))"
        return runs.filter { shown.insert($0).inserted }.map { run in
            (run, .started(ToolStart(call: Self.call(run), name: Self.name, title: title)))
        }
    }

    /// The process runs, or will not. The cards of these prompts, which still wait, are done.
    mutating func isFree(_ runs: [RunID]) -> [(run: RunID, card: ToolEvent)] {
        defer { (running, shown) = (nil, []) }
        return runs.filter { shown.contains($0) }.map { run in
            (run, .finished(ToolResult(call: Self.call(run), name: Self.name, status: .completed)))
        }
    }

    static func words(_ running: Int) -> String {
        running == 1 ? "1 agent is running" : "\(running) agents are running"
    }

    private static let name = "wait"
    private static func call(_ run: RunID) -> ToolCallID { ToolCallID("place-\(run)") }
}
