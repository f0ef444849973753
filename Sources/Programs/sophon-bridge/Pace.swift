import BridgeService
import Commands
import Glibc
import Vocabulary

/// Waits for the moments of a recording.
struct Pace {
    private let speed: ReplaySpeed
    private let clock = SystemClock()
    private let origin: Instant

    init(_ speed: ReplaySpeed) {
        self.speed = speed
        origin = clock.now
    }

    static func speed(_ text: String?, default fallback: ReplaySpeed, try advice: String) throws -> ReplaySpeed {
        guard let text else { return fallback }
        if text == "max" { return .unlimited }
        guard let times = Int(text), (1...1_000).contains(times) else {
            throw UsageError(
                "--speed is \"\(text)\", expected 1 to 1000 or max: 1 plays as it was recorded", try: advice)
        }
        return .times(times)
    }

    func wait(for milliseconds: Int64) -> Bool {
        guard case .times(let times) = speed else { return true }
        Self.sleep(origin + .nanoseconds(milliseconds * 1_000_000 / Int64(times)) - clock.now)
        return true
    }

    /// Polls every few milliseconds until the condition is true; false if the time ran out first.
    static func wait(atMost limit: Duration, until isTrue: () -> Bool) -> Bool {
        let clock = SystemClock()
        let end = clock.now + limit
        while !isTrue() {
            guard clock.now < end else { return false }
            sleep(.milliseconds(5))
        }
        return true
    }

    /// A pause too short for a person to notice.
    static func doze() { sleep(.milliseconds(5)) }

    private static func sleep(_ duration: Duration) {
        guard duration > .zero else { return }
        var left = timespec(
            tv_sec: Int(duration.nanoseconds / 1_000_000_000), tv_nsec: Int(duration.nanoseconds % 1_000_000_000))
        var rest = timespec()
        while nanosleep(&left, &rest) != 0, errno == EINTR { left = rest }
    }
}
