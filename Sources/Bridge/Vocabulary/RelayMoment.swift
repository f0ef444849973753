/// Time at which the relay made an update.
package struct RelayMoment: Hashable, Sendable {
    /// Two nodes of the relay stamp updates of one chat; their clocks differ by less than this.
    package static let nodeSkewMilliseconds: Int64 = 1_000

    /// Time of the relay's clock: comparable with its other updates only.
    package var wallMilliseconds: Int64
    /// The same time on the bridge's clock, as exact as the known difference between the clocks.
    package var instant: Instant

    package init(wallMilliseconds: Int64, instant: Instant) {
        self.wallMilliseconds = wallMilliseconds
        self.instant = instant
    }
}
