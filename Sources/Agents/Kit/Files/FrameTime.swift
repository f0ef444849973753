/// How long a frame may need to leave on a slow line.
package enum FrameTime {
    /// A line slower than this counts as none.
    private static let bytesASecond = 20_000

    package static func limit(for bytes: Int) -> Duration {
        .milliseconds(Int64(bytes) * 1_000 / Int64(bytesASecond))
    }
}
