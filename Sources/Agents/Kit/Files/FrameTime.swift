/// Longest time for a frame to leave on a slow line.
package enum FrameTime {
    /// A slower line counts as dead.
    private static let bytesASecond = 20_000

    package static func limit(for bytes: Int) -> Duration {
        .milliseconds(Int64(bytes) * 1_000 / Int64(bytesASecond))
    }
}
