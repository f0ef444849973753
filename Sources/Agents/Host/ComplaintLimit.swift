import Vocabulary

/// What children write to standard error, for the log: so many lines in a while, each cut, and then their count.
struct ComplaintLimit {
    static let window = Duration.seconds(10)
    static let lines = 20
    private static let longest = 1_000

    private var until: Instant?
    private var count = 0
    private var unquoted = 0
    /// A chat has reached the agent, in this process or an earlier one: a complaint may hold words of it.
    private(set) var isPrompted = false

    mutating func prompted() { isPrompted = true }

    /// What is to be logged. A count is reported with the first line after its window. `isSealed`: nothing is quoted once a chat has
    /// reached the agent.
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
