import Locking
import RelayRules
import Simulator
import Testing
import WireTesting

/// When the keeper writes the state; `RelayStateTests` checks its contents.
@Suite struct StateKeeperTests {
    /// Documents written, on a disk that may be full.
    private final class Disk: Sendable {
        let written = Locked<[[UInt8]]>([])
        let complaints = Locked<[String]>([])
        let isFull = Locked(false)
        let tried = Signal()

        var store: StateStore {
            StateStore(
                write: { bytes in
                    defer { self.tried.raise() }
                    if self.isFull.withLock({ $0 }) { return "no room" }
                    self.written.withLock { $0.append(bytes) }
                    return nil
                },
                trouble: { sentence in self.complaints.withLock { $0.append(sentence) } })
        }

        var count: Int { written.withLock { $0.count } }
        var last: [UInt8] { written.withLock { $0.last ?? [] } }
    }

    private func simulator(_ disk: Disk, _ clock: ManualClock) throws -> RelaySimulator {
        var settings = RelaySimulator.Settings()
        settings.store = disk.store
        let simulator = RelaySimulator(settings: settings, clock: clock.port)
        try simulator.start()
        return simulator
    }

    @Test func manyChangesAreWrittenTogetherAndNoneIsLost() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let simulator = try simulator(disk, clock)
        for number in 0..<50 { simulator.userSends(text: "message \(number)") }
        clock.advance(milliseconds: 199)
        #expect(disk.count == 0)
        clock.advance(milliseconds: 1)
        #expect(disk.tried.wait())
        #expect(disk.count == 1)
        #expect(try Relay(state: disk.last).sessions.count == 50)
        simulator.userSends(text: "one more")
        clock.advance(milliseconds: 200)
        #expect(disk.tried.wait())
        #expect(try Relay(state: disk.last).sessions.count == 51)
        simulator.stop()
    }

    @Test func timeAloneWritesNothing() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let simulator = try simulator(disk, clock)
        clock.advance(milliseconds: 60_000)
        simulator.stop()
        #expect(disk.count == 1, "the last one")
    }

    @Test func theEndIsWrittenAtOnce() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let simulator = try simulator(disk, clock)
        simulator.userSends(text: "the last word")
        simulator.stop()
        #expect(try Relay(state: disk.last).sessions.count == 1)
    }

    @Test func whatCannotBeWrittenAtTheEndIsGivenBackAndNotTriedAgain() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let simulator = try simulator(disk, clock)
        simulator.userSends(text: "the last word")
        disk.isFull.withLock { $0 = true }
        #expect(simulator.stop() == "no room")
        #expect(disk.complaints.withLock { $0 } == [], "a try that nobody will make is not promised")
        disk.isFull.withLock { $0 = false }
        #expect(simulator.stop() == nil)
    }

    @Test func aFullDiskIsSaidOnceAndTriedAgain() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let simulator = try simulator(disk, clock)
        disk.isFull.withLock { $0 = true }
        simulator.userSends(text: "hello")
        clock.advance(milliseconds: 200)
        #expect(disk.tried.wait())
        for _ in 0..<3 {
            // The keeper's own thread schedules the next try after the last one.
            #expect(clock.delayed.wait())
            clock.advance(milliseconds: 2_000)
        }
        disk.isFull.withLock { $0 = false }
        simulator.stop()
        #expect(disk.complaints.withLock { $0 } == ["no room"])
        #expect(try Relay(state: disk.last).sessions.count == 1)
    }

    @Test func aSimulatorGoesOnFromAStateAndAPhoneFromItsLastEvent() throws {
        let (disk, clock) = (Disk(), ManualClock())
        let first = try simulator(disk, clock)
        let sent = first.userSends(text: "before the kill")
        first.stop()
        let second = try RelaySimulator(settings: RelaySimulator.Settings(), clock: clock.port, state: disk.last)
        try second.start()
        let phone = try Wire(port: second.port)
        try phone.request(
            "GET", "/v1/me/stream", headers: ["Authorization: Bearer \(second.userToken)", "Last-Event-ID: 1"])
        #expect(try phone.text(through: "before the kill").contains("id: 2\n"))
        let again = second.userSends(text: "after it", session: sent.session)
        #expect(try phone.text(through: "after it").contains("message_added"))
        #expect(again.session == sent.session)
        second.stop()
    }
}
