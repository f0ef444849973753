import JSONReading

/// News in a `rate_limit_event`: the subscription is near its limit, or at it (claude-code.md#errors).
struct ClaudeLimit: Hashable, Sendable {
    var isReached: Bool
    /// The end of the limit, in seconds since 1970 by the far side's clock.
    var resetsAt: Int?
    /// Kind of the limit, such as `five_hour`.
    var kind: String?
    /// The used share of the limit, up to one, or nil if not reported.
    var used: Double?

    private static let seconds = 0...100_000_000_000

    /// Nil if no limit is near.
    init?(_ root: FrameNode) {
        guard let info = root["rate_limit_info"], let status = info["status"]?.string, status != "allowed" else {
            return nil
        }
        isReached = status == "rejected"
        resetsAt = info["resetsAt"]?.integer(in: Self.seconds)
        kind = info["rateLimitType"]?.string
        used = info["utilization"]?.number(in: 0...1)
    }

    /// A line for a log, with the hour in UTC.
    var words: String {
        let name = kind.map { $0.replacing("_", with: " ") } ?? "usage"
        let head = isReached ? "Claude Code is at its \(name) limit" : "Claude Code is near its \(name) limit"
        guard let resetsAt else { return head }
        let minute = resetsAt % 86_400 / 60
        return "\(head), which resets at \(Self.two(minute / 60)):\(Self.two(minute % 60)) UTC"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
