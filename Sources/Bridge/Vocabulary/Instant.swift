/// A moment on the one clock that decisions are made by: monotonic, in nanoseconds from an unspecified origin.
///
/// Wall-clock times from outside (`created_at`, `expiresAtMs`) are turned into instants at the edge that received them,
/// so that a clock which is set cannot move a deadline.
package struct Instant: Hashable, Sendable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static let zero = Instant(nanoseconds: 0)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    // Saturating: durations come from far sides too, and a sum beyond 292 years is as good as never.

    package static func + (instant: Instant, duration: Duration) -> Instant {
        let (sum, overflow) = instant.nanoseconds.addingReportingOverflow(duration.nanoseconds)
        return Instant(nanoseconds: overflow ? (instant.nanoseconds < 0 ? .min : .max) : sum)
    }

    package static func - (instant: Instant, duration: Duration) -> Instant {
        let (difference, overflow) = instant.nanoseconds.subtractingReportingOverflow(duration.nanoseconds)
        return Instant(nanoseconds: overflow ? (instant.nanoseconds < 0 ? .min : .max) : difference)
    }

    /// The time from the right moment to the left one; negative when the left one is earlier.
    package static func - (left: Instant, right: Instant) -> Duration {
        let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
        return .nanoseconds(overflow ? (left.nanoseconds < 0 ? .min : .max) : difference)
    }
}

/// In a record an instant is the nanoseconds of the clock that wrote it. A reader with another clock passes the
/// offset between the two clocks.
extension Instant: Codable {
    package static let shiftKey: CodingUserInfoKey = {
        guard let key = CodingUserInfoKey(rawValue: "Instant.shift") else { preconditionFailure("any name will do") }
        return key
    }()

    package init(from decoder: any Decoder) throws {
        let written = try decoder.singleValueContainer().decode(Int64.self)
        let shift = decoder.userInfo[Self.shiftKey] as? Int64 ?? 0
        nanoseconds = written.addingReportingOverflow(shift).partialValue
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(nanoseconds)
    }
}

extension Duration {
    /// The whole duration in nanoseconds. Saturates beyond 292 years, which only a hostile peer asks for.
    package var nanoseconds: Int64 {
        // Nearly all are shorter than nine seconds: in 64 bits, the division by a constant is a multiplication. In 128 bits
        // it cost more than the decision that asked for it.
        if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min / 2 : .max / 2 }
        return scaled + attoseconds / 1_000_000_000
    }

    package var seconds: Double { Double(nanoseconds) / 1e9 }
}
