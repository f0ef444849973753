import Vocabulary

/// Limits standard error of children in the log: a number of lines in each window, each cut, then only their count.
struct ComplaintLimit {
    static let window = Duration.seconds(10)
    static let lines = 20
    private static let longest = 1_000

    private var until: Instant?
    private var count = 0
    private var unquoted = 0
    /// A chat has reached the agent, in this process or an earlier one: a complaint may repeat its words.
    private(set) var isPrompted = false

    mutating func prompted() { isPrompted = true }

    /// Lines for the log. The first line behind a window brings the count of the lines left out. `isSealed`: no line is quoted once
    /// a chat has reached the agent.
    mutating func take(_ line: String, isSealed: Bool = false, at now: Instant) -> [String] {
        var words: [String] = []
        if until.map({ $0 <= now }) ?? true {
            if count > Self.lines { words.append("standard error: \(count - Self.lines) lines more were left out") }
            if unquoted > 1 { words.append("standard error: \(unquoted - 1) lines more, not shown") }
            (until, count, unquoted) = (now + Self.window, 0, 0)
        }
        if isSealed, isPrompted {
            unquoted += 1
            return unquoted == 1
                ? words + ["standard error: a line, not shown since chats of this agent are encrypted"] : words
        }
        count += 1
        guard count <= Self.lines else { return words }
        return words + ["standard error: \(line.count > Self.longest ? line.prefix(Self.longest) + "…" : line[...])"]
    }
}
