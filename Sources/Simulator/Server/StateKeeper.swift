import Dispatch
import Locking
import RelayRules

/// Store of the relay's state: a port, because the simulator's tests need no disk.
package struct StateStore: Sendable {
    /// Replaces the stored state, wholly or not at all. Returns nil, or the reason and remedy of a failure.
    package var write: @Sendable ([UInt8]) -> String?
    /// Called when writing begins to fail, once until it works again.
    package var trouble: @Sendable (String) -> Void

    package init(
        write: @escaping @Sendable ([UInt8]) -> String?, trouble: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.write = write
        self.trouble = trouble
    }
}

/// Writes the state shortly after a change, and once more at the end.
///
/// Quick successions of changes are written together: a stream of deltas costs at most five documents a
/// second. Killing the process loses at most the changes of `delayMilliseconds` and the time of one write.
/// Encoding and writing have a thread of their own, which blocks no caller.
final class StateKeeper: Sendable {
    static let delayMilliseconds = 200
    private static let retryMilliseconds = 2_000

    private struct State {
        var isDue = false
        var isFailing = false
    }

    private let store: StateStore
    private let clock: SimulatorClock
    private let state = Locked(State())
    private let queue = DispatchQueue(label: "simulator-state")

    init(_ store: StateStore, clock: SimulatorClock) {
        self.store = store
        self.clock = clock
    }

    func changed(_ simulator: RelaySimulator, after milliseconds: Int = StateKeeper.delayMilliseconds) {
        let isFirst = state.withLock { state in
            defer { state.isDue = true }
            return !state.isDue
        }
        guard isFirst else { return }
        clock.after(milliseconds) { [weak simulator, weak self] in
            guard let simulator, let self else { return }
            queue.async { self.save(simulator) }
        }
    }

    /// Returns after the write, with the reason if it failed. No retry: the caller is about to exit.
    func saveNow(_ simulator: RelaySimulator) -> String? { queue.sync { write(simulator) } }

    private func save(_ simulator: RelaySimulator) {
        let failure = write(simulator)
        let isNew = state.withLock { state in
            defer { state.isFailing = failure != nil }
            return failure != nil && !state.isFailing
        }
        guard let failure else { return }
        if isNew { store.trouble(failure) }
        changed(simulator, after: Self.retryMilliseconds)
    }

    private func write(_ simulator: RelaySimulator) -> String? {
        // Later changes belong to the next write.
        state.withLock { $0.isDue = false }
        // A copy is cheap: the relay's next change copies the shared parts.
        let relay = simulator.state.withLock { $0.relay }
        return store.write(relay.state)
    }
}

extension RelaySimulator {
    /// The state to store now.
    package var keptState: [UInt8] { state.withLock { $0.relay }.state }
}
