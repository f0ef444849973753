import Vocabulary

/// Keeps a repeating line from filling the log: it is written once, then counted, and the count is reported when its window ends.
struct RepeatLimit {
    struct Repeated: Hashable {
        var line: LogLine
        var count: Int
    }

    private struct Window {
        var end: Instant
        var held = 0
        var order: Int
    }

    static let window = Duration.seconds(30)
    /// Number of different lines to track; above it the oldest is forgotten, after its count was reported.
    static let lineLimit = 64

    private var windows: [LogLine: Window] = [:]
    private var order = 0

    /// True if the line should be written.
    mutating func admits(_ line: LogLine, at now: Instant) -> Bool {
        if windows[line] != nil {
            windows[line]?.held += 1
            return false
        }
        order += 1
        windows[line] = Window(end: now + Self.window, order: order)
        return true
    }

    /// Suppressed lines that are due, because their window has ended or too many lines are tracked.
    mutating func takeDue(at now: Instant) -> [Repeated] {
        guard windows.count > Self.lineLimit || windows.values.contains(where: { $0.end <= now }) else { return [] }
        let oldest = windows.sorted { $0.value.order < $1.value.order }
        let surplus = max(0, windows.count - Self.lineLimit)
        let over = oldest.enumerated().filter { $0.offset < surplus || $0.element.value.end <= now }.map(\.element)
        return over.compactMap { line, window in
            // A line that keeps repeating stays suppressed after its count.
            windows[line] = nil
            guard window.held > 0 else { return nil }
            if window.end <= now {
                order += 1
                windows[line] = Window(end: now + Self.window, order: order)
            }
            return Repeated(line: line, count: window.held)
        }
    }

    /// All suppressed lines, at the end.
    mutating func takeAll() -> [Repeated] {
        defer { windows = [:] }
        return windows.filter { $0.value.held > 0 }.sorted { $0.value.order < $1.value.order }
            .map { Repeated(line: $0.key, count: $0.value.held) }
    }
}
