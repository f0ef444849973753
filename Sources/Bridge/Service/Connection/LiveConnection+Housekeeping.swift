import AgentKit
package import BridgeCore
import Links
import Locking
import RelayProtocol
package import Vocabulary

// Checks that run every few seconds.
extension LiveConnection {
    package var work: BridgeStatus.Work? {
        guard var work = ask({ BridgeStatus.Work($0.figures(at: clock.now)) }) else { return nil }
        work.heldBytes = heldBytes.total
        work.notices = notices.flatMap { $0.isOn ? BridgeStatus.Notices($0.figures) : nil }
        work.isMemoryFull = gate.withLock { $0.isClosed }
        work.clockAheadSeconds = condition.withLock {
            $0.arriving.relayClock.remarkable(at: clock.now, wall: clock.wallMilliseconds)
        }
        return work
    }

    package var figures: BridgeFigures? { ask { $0.figures(at: clock.now) } }

    /// Processes of the agent that may be running.
    package var processes: [ProcessName] { agent?.processes ?? [] }

    /// Takes the lock of each machine once: a return proves that no lock is held for good (`Pulse`).
    package func takeLocks() {
        // The ledger locks the core and both links.
        _ = heldBytes
        keys?.ask { _ in }
        _ = notices?.figures
    }

    /// Called every few seconds.
    package func housekeep() {
        heedMemory(always: true)
        endFarewell()
        noticeSleep()
        if let last = state.chores.lookedAtTimeAt, clock.now - last >= Chores.timeInterval { lookAtLocalTime() }
        if state.journalIsBroken {
            journal.submit([], .synced) { [weak self] failure in
                guard let self, failure == nil else { return }
                condition.withLock { ($0.journalIsBroken, $0.reported.failures) = (false, []) }
                tell(.journalWorks(name))
                keepChats()
            }
        }
        let now = clock.now
        notices?.look()
        makeChats()
        tellOfKeys()
        let isDue = condition.withLock { state in
            // The relay needs time first to send again what it still holds (DESIGN.md#a-runs-journey).
            guard let since = state.relayUpSince, now - since > .seconds(600) else { return false }
            if let last = state.chores.purgedAt, now - last < .seconds(3_600) { return false }
            state.chores.purgedAt = now
            return true
        }
        if isDue { journal.purge(before: clock.wallMilliseconds - Self.memory) }
    }

    private func noticeSleep() {
        let (now, wall, suspended) = (clock.now, clock.wallMilliseconds, clock.suspended)
        let hasSlept = condition.withLock {
            $0.sleep.hasSlept(at: now, wallMilliseconds: wall, suspended: suspended)
        }
        guard hasSlept else { return }
        lookAtLocalTime()
        relay?.slept()
        agent?.slept()
    }

    /// How long ended turns are kept: 30 days, in milliseconds.
    static let memory: Int64 = 30 * 86_400_000
}
