import Glibc
package import Vocabulary

/// The machine's monotonic clock, which continues while the machine sleeps, and its wall clock.
package struct SystemClock: Clock {
    package init() {}

    package var now: Instant {
        // BOOTTIME and not MONOTONIC: a machine that slept must find its deadlines passed.
        Instant(nanoseconds: Self.nanoseconds(of: CLOCK_BOOTTIME))
    }

    package var wallMilliseconds: Int64 { Self.nanoseconds(of: CLOCK_REALTIME) / 1_000_000 }

    /// MONOTONIC stops while the machine sleeps, BOOTTIME continues (clock_gettime(2)).
    package var suspended: Duration {
        let asleep = Self.nanoseconds(of: CLOCK_BOOTTIME) - Self.nanoseconds(of: CLOCK_MONOTONIC)
        return .nanoseconds(asleep)
    }

    package var localTime: LocalTime? { LocalTime(of: self) }

    /// Local time such as `14:05 CET`, or nil beyond a year.
    package func hour(ofWall milliseconds: Int64) -> String? {
        let ahead = milliseconds.subtractingReportingOverflow(wallMilliseconds)
        guard !ahead.overflow else { return nil }
        return localTime?.hour(of: now + .milliseconds(ahead.partialValue))
    }

    private static func nanoseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

extension LocalTime {
    /// The machine's local time at this moment of the clock: the zone's file and daylight saving may change later.
    package init?(of clock: any Clock) {
        let seconds = clock.wallMilliseconds / 1_000
        var moment = time_t(seconds)
        var local = tm()
        // localtime_r alone keeps the zone that it read first (localtime(3)).
        tzset()
        guard localtime_r(&moment, &local) != nil else { return nil }
        let zone = local.tm_zone.map { String(cString: $0) } ?? ""
        self.init(wallSeconds: seconds, secondsEast: Int64(local.tm_gmtoff), zone: zone, at: clock.now)
    }
}

/// The kernel's randomness, for jitter and new ids.
package struct SystemRandom: RandomSource {
    package init() {}

    package func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
