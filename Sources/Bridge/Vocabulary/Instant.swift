/// A moment on the one clock of all decisions: monotonic, in nanoseconds from an unspecified origin.
///
/// The edge that receives a wall-clock time (`created_at`, `expiresAtMs`) turns it into an instant: setting the wall clock cannot move a deadline.
package struct Instant: Hashable, Sendable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static let zero = Instant(nanoseconds: 0)

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

    // Sums saturate: far sides choose some durations, and a sum beyond 292 years is as good as never.

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

/// A record stores an instant as nanoseconds of the writer's clock. A reader with another clock passes the offset between the two.
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
    /// The whole duration in nanoseconds. Saturates beyond 292 years, which only a hostile peer requests.
    package var nanoseconds: Int64 {
        // Nearly all durations are shorter than nine seconds. In 64 bits, division by a constant is a
        // multiplication; in 128 bits it cost more than the decision around it.
        if let attoseconds = Int64(exactly: attoseconds) { return attoseconds / 1_000_000_000 }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min / 2 : .max / 2 }
        return scaled + attoseconds / 1_000_000_000
    }

    package var seconds: Double { Double(nanoseconds) / 1e9 }
}
