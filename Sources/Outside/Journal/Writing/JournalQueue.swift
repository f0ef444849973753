import Locking
import Vocabulary

/// One job of the writer, with its completion.
struct JournalJob: Sendable {
    enum Work: Sendable {
        case entries([JournalEntry], Durability, done: (@Sendable (JournalFailure?) -> Void)?)
        case accept(AcceptedMessage, done: @Sendable (Result<Acceptance, JournalFailure>) -> Void)
        case load(done: @Sendable (Result<JournalContents, JournalFailure>) -> Void)
    }

    var connection: ConnectionName
    var work: Work

    var mustSurvivePowerCut: Bool {
        switch work {
        case .entries(_, let durability, _): durability == .synced
        case .accept: true
        case .load: false
        }
    }

    /// A job without a completion, which the journal itself retries.
    var isLeftToUs: Bool {
        guard case .entries(let entries, _, done: nil) = work else { return false }
        return !entries.isEmpty
    }

    /// A job that may wait for the next one: a call whose try is lost is repeated under its key.
    var mayWait: Bool { isLeftToUs && isOnlyTries }

    var isOnlyTries: Bool {
        guard case .entries(let entries, _, _) = work else { return false }
        return entries.allSatisfy { if case .tried = $0 { true } else { false } }
    }

    var closesTurns: Bool {
        guard case .entries(let entries, _, _) = work else { return false }
        return entries.contains { if case .closed = $0 { true } else { false } }
    }

    var heldBytes: Int {
        switch work {
        case .entries(let entries, _, _): entries.reduce(HeldBytes.entryCost) { $0 + $1.heldBytes }
        case .accept(let message, _): HeldBytes.entryCost + message.opening.count
        case .load: HeldBytes.entryCost
        }
    }

    func fail(_ failure: JournalFailure) {
        switch work {
        case .entries(_, _, let done): done?(failure)
        case .accept(_, let done): done(.failure(failure))
        case .load(let done): done(.failure(failure))
        }
    }
}

/// The writer's queue. Tries wait for the next job, so that most need no commit of their own; without one they wait for `patience`.
final class JournalQueue: Sendable {
    enum Order {
        case commit([JournalJob])
        /// One step of a purge, when nothing else waits.
        case purge(ConnectionName, before: Int64)
        /// One step of `JournalWriter.tidy`, when nothing else waits.
        case tidy
        case close
    }

    static let patience = Duration.seconds(1)
    /// Most tries that wait together.
    static let waitingJobs = 100

    private struct State {
        var jobs: [JournalJob] = []
        /// Time until which all queued jobs may wait, or nil if one may not, or if none is queued.
        var waitsUntil: ContinuousClock.Instant?
        /// Bytes of jobs that wait or are being written.
        var heldBytes: [ConnectionName: Int] = [:]
        var purges: [ConnectionName: Int64] = [:]
        var isClosed = false
        var isWriterWaiting = false
    }

    private let state = Locked(State())
    private let wakeup = Wakeup()

    /// False if the queue is closed.
    func put(_ job: JournalJob) -> Bool {
        change { state in
            guard !state.isClosed else { return false }
            if !job.mayWait || state.jobs.count >= Self.waitingJobs {
                state.waitsUntil = nil
            } else if state.jobs.isEmpty {
                state.waitsUntil = .now + Self.patience
            }
            state.jobs.append(job)
            state.heldBytes[job.connection, default: 0] += job.heldBytes
            return true
        }
    }

    func heldBytes(of connection: ConnectionName) -> Int { state.withLock { $0.heldBytes[connection] ?? 0 } }

    /// Releases the bytes of jobs that were committed or failed, before their completions run.
    func settled(_ jobs: [JournalJob]) {
        state.withLock { state in
            for job in jobs { state.heldBytes[job.connection, default: 0] -= job.heldBytes }
        }
    }

    /// Counts the bytes of failed jobs again that the writer will retry.
    func stillHeld(_ jobs: [JournalJob]) {
        state.withLock { state in
            for job in jobs { state.heldBytes[job.connection, default: 0] += job.heldBytes }
        }
    }

    func purge(_ connection: ConnectionName, before wall: Int64) {
        change { state in state.purges[connection] = max(wall, state.purges[connection] ?? wall) }
    }

    func purged(_ connection: ConnectionName, before wall: Int64) {
        state.withLock { if $0.purges[connection] == wall { $0.purges[connection] = nil } }
    }

    func close() { change { $0.isClosed = true } }

    var isEmpty: Bool { state.withLock { $0.jobs.isEmpty } }

    /// Waits for the next order. `mayTidy` if there may be idle work. `retry` is the pause after which an empty commit
    /// is due, for jobs that failed.
    func next(mayTidy: Bool = false, retry: Duration? = nil) -> Order {
        while true {
            let order: Order? = state.withLock { state in
                let waits = !state.isClosed && state.waitsUntil.map { $0 > .now } ?? false
                if !state.jobs.isEmpty, !waits { return .commit(Self.takeAll(&state.jobs)) }
                if state.isClosed { return .close }
                if let (connection, wall) = state.purges.first { return .purge(connection, before: wall) }
                if mayTidy { return .tidy }
                state.isWriterWaiting = true
                return nil
            }
            if let order { return order }
            let waiting = state.withLock { $0.jobs.isEmpty ? nil : $0.waitsUntil.map { $0 - .now } }
            if let waiting {
                _ = wakeup.wait(atMost: max(.zero, min(waiting, retry ?? waiting)))
                continue
            }
            guard let retry else {
                wakeup.wait()
                continue
            }
            if !wakeup.wait(atMost: retry) { return .commit([]) }
        }
    }

    private static func takeAll(_ jobs: inout [JournalJob]) -> [JournalJob] {
        var taken: [JournalJob] = []
        swap(&taken, &jobs)
        return taken
    }

    @discardableResult
    private func change<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, mustWake) = state.withLock { state in
            let value = body(&state)
            defer { state.isWriterWaiting = false }
            return (value, state.isWriterWaiting)
        }
        if mustWake { wakeup.raise() }
        return value
    }
}
