/// When the relay made an update.
package struct RelayMoment: Hashable, Sendable {
    /// Two nodes of the relay stamp updates of one chat; their clocks differ by less than that.
    package static let nodeSkewMilliseconds: Int64 = 1_000

    /// By the relay's clock: to be compared with its other updates only.
    package var wallMilliseconds: Int64
    /// By ours, as well as the difference of the two clocks is known.
    package var instant: Instant

    package init(wallMilliseconds: Int64, instant: Instant) {
        self.wallMilliseconds = wallMilliseconds
        self.instant = instant
    }
}
