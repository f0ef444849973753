import BridgeModel

/// What children write to standard error, for the log: so many lines in a while, each cut, and then their count.
struct ComplaintLimit {
    static let window = Duration.seconds(10)
    static let lines = 20
    private static let longest = 1_000

    private var until: Instant?
    private var count = 0

    /// What is to be logged. A count is reported with the first line after its window.
    mutating func take(_ line: String, at now: Instant) -> [String] {
        var words: [String] = []
        if until.map({ $0 <= now }) ?? true {
            if count > Self.lines { words.append("standard error: \(count - Self.lines) lines more were left out") }
            (until, count) = (now + Self.window, 0)
        }
        count += 1
        guard count <= Self.lines else { return words }
        return words + ["standard error: \(line.count > Self.longest ? line.prefix(Self.longest) + "…" : line[...])"]
    }
}
