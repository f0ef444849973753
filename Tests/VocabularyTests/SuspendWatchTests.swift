import Testing
import Vocabulary

@Suite("A machine that sleeps")
struct SuspendWatchTests {
    private static func looks(_ suspended: Duration, wall: Int64 = 5_000) -> Bool {
        var watch = SuspendWatch()
        let first = watch.hasSlept(at: .zero, wallMilliseconds: 0, suspended: .seconds(1_000))
        let second = watch.hasSlept(
            at: .zero + .seconds(5), wallMilliseconds: wall, suspended: .seconds(1_000) + suspended)
        return first || second
    }

    @Test("is known by the time that it was suspended, however short it is beside any deadline")
    func suspended() {
        #expect(!Self.looks(.zero))
        #expect(!Self.looks(.milliseconds(1_900)))
        #expect(Self.looks(.seconds(2)))
        #expect(Self.looks(.seconds(86_400)))
    }

    @Test("is known by a wall clock that moved on alone, as in a virtual machine that was paused")
    func wall() {
        #expect(!Self.looks(.zero, wall: 12_000))
        #expect(Self.looks(.zero, wall: 600_000))
        // A clock that was set back is no sleep.
        #expect(!Self.looks(.zero, wall: -600_000))
    }

    @Test("is told once")
    func once() {
        var watch = SuspendWatch()
        _ = watch.hasSlept(at: .zero, wallMilliseconds: 0, suspended: .zero)
        let now = Instant.zero + .seconds(65)
        let told = watch.hasSlept(at: now, wallMilliseconds: 65_000, suspended: .seconds(60))
        let again = watch.hasSlept(at: now + .seconds(5), wallMilliseconds: 70_000, suspended: .seconds(60))
        #expect(told)
        #expect(!again)
    }
}
