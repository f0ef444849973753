import BridgeCore
import Testing
import Vocabulary
import Worlds

@Suite("A token bucket")
struct TokenBucketTests {
    private let start = Instant(nanoseconds: 5_000_000_000)

    private func reading(_ remaining: Int, limit: Int = 30, resetAfter: Duration? = nil) -> RateReading {
        RateReading(bucket: .msg, limit: limit, remaining: remaining, resetAfter: resetAfter)
    }

    /// A bucket whose first call was answered with this many tokens left.
    private func known(_ remaining: Int) -> TokenBucket {
        var bucket = TokenBucket(.ofSheet(.msg))
        let call = bucket.take(at: start)
        bucket.answered(call, responded: true, reading: reading(remaining), at: start)
        return bucket
    }

    @Test("lends one call after a start, and again when nobody answered it")
    func lends() {
        var bucket = TokenBucket(.ofSheet(.msg))
        #expect(bucket.readyAt(start) == start)
        let first = bucket.take(at: start)
        #expect(bucket.readyAt(start + .seconds(3600)) == nil)
        bucket.answered(first, responded: false, reading: nil, at: start)
        #expect(bucket.readyAt(start) == start)
        let second = bucket.take(at: start)
        bucket.answered(second, responded: true, reading: reading(7), at: start)
        #expect(bucket.level(at: start) == 7)
    }

    @Test("after a first answer without headers the documented table holds")
    func withoutHeaders() {
        var bucket = TokenBucket(.ofSheet(.msg))
        let call = bucket.take(at: start)
        bucket.answered(call, responded: true, reading: nil, at: start)
        #expect(bucket.level(at: start) == 30)
        #expect(bucket.figures == .ofSheet(.msg))
    }

    @Test("a reading bounds the level, less the calls sent after it; it never raises it")
    func readings() {
        var bucket = known(20)
        let first = bucket.take(at: start)
        _ = bucket.take(at: start)
        _ = bucket.take(at: start)
        bucket.answered(first, responded: true, reading: reading(10), at: start)
        #expect(bucket.level(at: start) == 8)
        let other = bucket.take(at: start)
        bucket.answered(other, responded: true, reading: reading(29), at: start)
        #expect(bucket.level(at: start) == 7)
    }

    @Test("answers that overtake one another cost nothing once all are there")
    func overtaking() {
        var bucket = known(20)
        let first = bucket.take(at: start)
        let second = bucket.take(at: start)
        bucket.answered(first, responded: true, reading: reading(18), at: start)
        #expect(bucket.level(at: start) == 17)
        bucket.answered(second, responded: true, reading: reading(19), at: start)
        #expect(bucket.level(at: start) == 18)
    }

    @Test("time fills it to what is not under way, and no further")
    func ceiling() {
        var bucket = known(30)
        _ = bucket.take(at: start)
        _ = bucket.take(at: start)
        #expect(bucket.level(at: start + .seconds(60)) == 28)
    }

    @Test("capacity and refill follow the headers; nonsense does not count")
    func learns() {
        var bucket = known(30)
        var now = start
        for remaining in [20, 10, 1] {
            now = now + .milliseconds(1)
            let call = bucket.take(at: now)
            let reset = Duration.milliseconds(Int64(60 - remaining) * 1000 / 5)
            bucket.answered(call, responded: true, reading: reading(remaining, limit: 60, resetAfter: reset), at: now)
        }
        #expect(bucket.figures.capacity == 60)
        #expect(abs(bucket.figures.refill - 5) < 0.3)
        let learned = bucket.figures
        let nonsense = [
            reading(-1), reading(61, limit: 60), reading(0, limit: 0), reading(1, limit: .max),
            RateReading(bucket: .msg, limit: 60, remaining: nil, resetAfter: .seconds(1)),
            reading(5, limit: 60, resetAfter: .seconds(Int64.max)), reading(5, limit: 60, resetAfter: .seconds(-3)),
        ]
        for reading in nonsense {
            now = now + .seconds(5)
            let call = bucket.take(at: now)
            bucket.answered(call, responded: true, reading: reading, at: now)
        }
        #expect(bucket.figures == learned)
    }

    @Test("a refill told in rounded figures does not drift")
    func rounding() {
        var bucket = TokenBucket(.ofSheet(.delta))
        var server = ExactBucket.ofSheet(.delta)
        for step in 0..<2000 {
            let now = start + .milliseconds(Int64(step * 13))
            guard bucket.readyAt(now) == now, server.take(at: now) else { continue }
            let call = bucket.take(at: now)
            let told = server.reading
            let tenths = Duration.milliseconds(Int64((told.resetAfter.seconds * 10).rounded()) * 100)
            let reading = RateReading(bucket: .delta, limit: 200, remaining: told.remaining, resetAfter: tenths)
            bucket.answered(call, responded: true, reading: reading, at: now)
        }
        #expect(abs(bucket.figures.refill - 100) < 15)
    }

    @Test("a bucket of one token gives it")
    func one() {
        var bucket = TokenBucket(.ofSheet(.msg))
        let call = bucket.take(at: start)
        bucket.answered(call, responded: true, reading: reading(0, limit: 1), at: start)
        let ready = bucket.readyAt(start)
        #expect(ready == start + .milliseconds(100))
    }

    @Test("sleeps as told, and wakes with what the refill brought")
    func sleeps() {
        var bucket = known(30)
        bucket.sleep(until: start + .seconds(2), at: start)
        bucket.sleep(until: start + .seconds(1), at: start)
        #expect(bucket.readyAt(start) == start + .seconds(2))
        #expect(bucket.readyAt(start + .seconds(2)) == start + .seconds(2))
        #expect(bucket.level(at: start + .seconds(2)) == 20)
    }

    @Test("a clock that jumps mints nothing beyond the capacity", arguments: [-3600, 3600, 315_360_000, -1])
    func jumps(seconds: Int64) {
        var bucket = known(3)
        let level = bucket.level(at: start + .seconds(seconds))
        #expect(level == (seconds < 0 ? 3 : 30))
        #expect(bucket.readyAt(Instant(nanoseconds: .max / 2)) != nil)
    }

    /// The model: the relay's own bucket, with calls and answers in any order.
    @Test(
        "never draws what the relay does not have, and wastes nothing once all is answered", arguments: UInt64(1)...200)
    func model(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bucket = TokenBucket(.ofSheet(.msg))
        var server = ExactBucket.ofSheet(.msg)
        var now = Instant.zero
        var travelling: [UInt64] = []
        var answered: [(UInt64, RateReading?)] = []
        for _ in 0..<2000 {
            switch Int.random(in: 0...3, using: &random) {
            case 0:
                guard bucket.readyAt(now) == now else { break }
                travelling.append(bucket.take(at: now))
            case 1:
                guard let index = travelling.indices.randomElement(using: &random) else { break }
                let had = server.take(at: now)
                #expect(had, "seed \(seed)")
                let told = server.reading
                let reading = RateReading(
                    bucket: .msg, limit: told.limit, remaining: told.remaining,
                    resetAfter: random.happens(0.8) ? told.resetAfter : nil)
                answered.append((travelling.remove(at: index), random.happens(0.9) ? reading : nil))
            case 2:
                guard let index = answered.indices.randomElement(using: &random) else { break }
                let (call, reading) = answered.remove(at: index)
                bucket.answered(call, responded: true, reading: reading, at: now)
            default:
                now = now + .microseconds(Int64.random(in: 0...200_000, using: &random))
            }
            let underWay = Double(travelling.count + answered.count)
            #expect(bucket.level(at: now) <= 30 - underWay + 1, "seed \(seed)")
        }
        for call in travelling { bucket.answered(call, responded: true, reading: nil, at: now) }
        for (call, _) in answered { bucket.answered(call, responded: true, reading: nil, at: now) }
        #expect(bucket.level(at: now + .seconds(60)) == 30, "seed \(seed)")
    }
}
