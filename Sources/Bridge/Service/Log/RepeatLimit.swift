import Vocabulary

/// Keeps a line that comes again and again from filling the log: it is written once, then counted, and the count is reported when
/// its window ends.
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
    /// Different lines that are tracked; beyond it the oldest is forgotten, after its count was reported.
    static let lineLimit = 64

    private var windows: [LogLine: Window] = [:]
    private var order = 0

    /// Whether the line is to be written.
    mutating func admits(_ line: LogLine, at now: Instant) -> Bool {
        if windows[line] != nil {
            windows[line]?.held += 1
            return false
        }
        order += 1
        windows[line] = Window(end: now + Self.window, order: order)
        return true
    }

    /// Suppressed lines that are due: where the window is over, and where there are too many lines.
    mutating func takeDue(at now: Instant) -> [Repeated] {
        guard windows.count > Self.lineLimit || windows.values.contains(where: { $0.end <= now }) else { return [] }
        let oldest = windows.sorted { $0.value.order < $1.value.order }
        let surplus = max(0, windows.count - Self.lineLimit)
        let over = oldest.enumerated().filter { $0.offset < surplus || $0.element.value.end <= now }.map(\.element)
        return over.compactMap { line, window in
            // A line that keeps repeating stays suppressed after its count, not written again.
            windows[line] = nil
            guard window.held > 0 else { return nil }
            if window.end <= now {
                order += 1
                windows[line] = Window(end: now + Self.window, order: order)
            }
            return Repeated(line: line, count: window.held)
        }
    }

    /// Everything, at the end.
    mutating func takeAll() -> [Repeated] {
        defer { windows = [:] }
        return windows.filter { $0.value.held > 0 }.sorted { $0.value.order < $1.value.order }
            .map { Repeated(line: $0.key, count: $0.value.held) }
    }
}
