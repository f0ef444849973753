import Dispatch
import Locking
import RelayRules

/// Where the relay's state is kept: a port, so that the tests of the simulator need no disk.
package struct StateStore: Sendable {
    /// Replaces what is kept, wholly or not at all. Nil: done; else what is wrong, in words with the remedy.
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

/// Writes the state a little after it has changed, and once more at the end.
///
/// Changes that follow one another quickly are written together, so that a stream of deltas costs five documents a second at
/// most. Who kills the process loses what was changed since, no more than `delayMilliseconds` and the time of one writing.
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

    /// Returns when it is written, or what is wrong. It is not retried: the caller is about to exit.
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
        // What changes from here on is for the next time.
        state.withLock { $0.isDue = false }
        // A copy is cheap: what it shares with the relay is copied when the relay next changes it.
        let relay = simulator.state.withLock { $0.relay }
        return store.write(relay.state)
    }
}

extension RelaySimulator {
    /// What is kept now.
    package var keptState: [UInt8] { state.withLock { $0.relay }.state }
}
