import BridgeCore
import Testing
import Vocabulary

@Suite("The pace of deltas")
struct DeltaPacingTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test(
        "the first text goes at once; then 33 ms, 66 ms from the hundredth and 120 ms from the two hundredth",
        arguments: [
            (0, 0), (1, 33), (99, 33), (100, 66), (199, 66), (200, 120), (5000, 120),
        ])
    func lane(count: Int, milliseconds: Int64) {
        var pace = LanePace()
        for _ in 0..<count { pace.sent(at: start) }
        #expect(pace.readyAt(start) == start + .milliseconds(milliseconds))
        #expect(pace.readyAt(start + .seconds(1)) == start + .seconds(1))
    }

    @Test("after a restart the pace goes on from the deltas that were sent, and the first goes at once")
    func restarted() {
        var pace = LanePace(count: 200)
        #expect(pace.readyAt(start) == start)
        pace.sent(at: start)
        #expect(pace.readyAt(start) == start + .milliseconds(120))
    }

    @Test("lanes together use four fifths of the refill")
    func shared() {
        var pace = SharedPace()
        var now = start
        var sent = 0
        while now < start + .seconds(60) {
            now = pace.readyAt(now, refill: 100)
            pace.sent(at: now, refill: 100)
            sent += 1
        }
        #expect((4800...4830).contains(sent))
    }

    @Test("text slower than the share is never held back, even when it comes in bunches")
    func slower() {
        var pace = SharedPace()
        for second in 0..<100 {
            let now = start + .milliseconds(Int64(second * 260))
            for _ in 0..<20 {
                #expect(pace.readyAt(now, refill: 100) == now)
                pace.sent(at: now, refill: 100)
            }
        }
    }
}
