import AgentKit
import Vocabulary

/// Requests that one process of pi has not answered, each with its deadline (pi.md#responses-stdout).
struct PiRequests {
    enum Purpose: Hashable {
        /// The first `get_state`: its answer says that the process is ready.
        case barrier
        case prompt(RunID)
        /// A message into the run that goes on.
        case words(RunID)
        case abort(RunID)
        /// Whether the process lives and what it is doing.
        case probe
        /// What became of this run. `isLive`: its own process is asked, because the run's end seems to be lost.
        case history(RunID, isLive: Bool)
        case models(QueryID)
        /// The model that the prompt of this run is to have.
        case model(RunID, ModelChoice, String)
        case level(RunID, LevelChoice, PiLevels.Step)
    }

    private var open: [(id: String, purpose: Purpose, limit: Duration, deadline: Instant)] = []
    private var count = 0

    var nextDeadline: Instant? { open.map(\.deadline).min() }
    /// An answer is awaited outside this chat.
    var hasQuestions: Bool {
        open.contains { request in
            switch request.purpose {
            case .history, .models: true
            case .barrier, .prompt, .words, .abort, .probe, .model, .level: false
            }
        }
    }
    var isProbing: Bool { open.contains { $0.purpose == .probe } }

    /// Gives the id under which the request is written.
    mutating func add(_ purpose: Purpose, for limit: Duration, at now: Instant) -> String {
        count += 1
        let id = "sb-\(count)"
        open.append((id, purpose, limit, now + limit))
        return id
    }

    mutating func answered(_ id: String) -> Purpose? {
        guard let index = open.firstIndex(where: { $0.id == id }) else { return nil }
        return open.remove(at: index).purpose
    }

    /// The oldest question for a run of an earlier process: pi answers in the order in which it was asked.
    mutating func takeHistory() -> RunID? {
        for (index, request) in open.enumerated() {
            guard case .history(let run, isLive: false) = request.purpose else { continue }
            open.remove(at: index)
            return run
        }
        return nil
    }

    /// A failure without an id belongs to the only request that it can belong to (pi.md#responses-stdout).
    mutating func failedWithoutID() -> Purpose? {
        let candidates = open.indices.filter { if case .prompt = open[$0].purpose { false } else { true } }
        guard candidates.count == 1, let index = candidates.first else { return nil }
        return open.remove(at: index).purpose
    }

    /// The computer slept: each has its whole time again.
    mutating func slept(at now: Instant) {
        for index in open.indices { open[index].deadline = now + open[index].limit }
    }

    mutating func takeExpired(at now: Instant) -> [Purpose] {
        let expired = open.filter { $0.deadline <= now }.map(\.purpose)
        open.removeAll { $0.deadline <= now }
        return expired
    }

    /// The process ended: none of them will be answered.
    mutating func takeAll() -> [Purpose] {
        defer { open = [] }
        return open.map(\.purpose)
    }
}
