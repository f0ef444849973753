import Locking
package import Vocabulary

/// The bridge's log, for those who keep it running.
///
/// - A message is constant, variable parts are fields (async-http-client, `docs/logging-design.md`): lines can be counted and
/// searched, and content of turns gets in only through a field declared for it.
/// - A secret is no valid value, and one that an outside text repeats is covered once it is known (`SecretCover`).
/// - A line that repeats itself is written once, then counted.
package final class Log: Sendable {
    package struct Settings: Sendable {
        package var level: Configuration.Log.Level
        package var format: Configuration.Log.Format
        /// True if the log goes to a terminal, and NO_COLOR is not set.
        package var hasColor: Bool

        /// Lines are prefixed with their syslog priority, as sd-daemon(3) defines it for the system's journal.
        package var hasPriority: Bool

        package init(
            level: Configuration.Log.Level = .info, format: Configuration.Log.Format = .text, hasColor: Bool = false,
            hasPriority: Bool = false
        ) {
            self.level = level
            self.format = format
            self.hasColor = hasColor
            self.hasPriority = hasPriority
        }
    }

    package typealias Fields = [(name: StaticString, value: LogValue)]

    private struct State {
        var level: Configuration.Log.Level
        var format: Configuration.Log.Format
        var limit = RepeatLimit()
    }

    private let settings: Settings
    private let clock: any Clock
    private let secrets: SecretCover
    private let sink: @Sendable (String) -> Void
    private let state: Locked<State>

    /// `sink` takes one line without its end, from any thread, and must not log.
    package init(
        _ settings: Settings, clock: any Clock, hiding secrets: SecretCover = SecretCover(),
        sink: @escaping @Sendable (String) -> Void
    ) {
        self.settings = settings
        self.clock = clock
        self.secrets = secrets
        self.sink = sink
        state = Locked(State(level: settings.level, format: settings.format))
    }

    /// The level can change while the bridge runs.
    package var level: Configuration.Log.Level {
        get { state.withLock { $0.level } }
        set { state.withLock { $0.level = newValue } }
    }

    /// The format can change while the bridge runs.
    package var format: Configuration.Log.Format {
        get { state.withLock { $0.format } }
        set { state.withLock { $0.format = newValue } }
    }

    /// Covers the secret in this log, and in everything that shares its cover.
    package func cover(_ secret: Secret) { secrets.cover(secret) }
    package func covered(_ text: String) -> String { secrets.covered(text) }

    package func error(_ message: StaticString, _ fields: @autoclosure () -> Fields = []) {
        write(.error, message, fields)
    }

    package func warning(_ message: StaticString, _ fields: @autoclosure () -> Fields = []) {
        write(.warning, message, fields)
    }

    package func info(_ message: StaticString, _ fields: @autoclosure () -> Fields = []) {
        write(.info, message, fields)
    }

    package func debug(_ message: StaticString, _ fields: @autoclosure () -> Fields = []) {
        write(.debug, message, fields)
    }

    /// Reports suppressed lines: periodically (those due), and at the end (all of them).
    package func flush(all: Bool = false) {
        let now = clock.now
        tell(state.withLock { all ? $0.limit.takeAll() : $0.limit.takeDue(at: now) })
    }

    // MARK: Within

    private func write(_ level: Configuration.Log.Level, _ message: StaticString, _ fields: () -> Fields) {
        guard level.rank <= self.level.rank else { return }
        let line = LogLine(
            level: level, message: "\(message)",
            fields: fields().map {
                LogLine.Field(name: "\($0.name)", value: covered($0.value))
            })
        let now = clock.now
        let (repeated, isAdmitted) = state.withLock { state in
            let due = state.limit.takeDue(at: now)
            return (due, state.limit.admits(line, at: now))
        }
        tell(repeated)
        if isAdmitted { emit(line) }
    }

    private func tell(_ repeated: [RepeatLimit.Repeated]) {
        for one in repeated {
            var line = one.line
            line.message = "… repeated \(one.count) \(one.count == 1 ? "time" : "times"): \(line.message)"
            emit(line)
        }
    }

    private func emit(_ line: LogLine) {
        let wall = clock.wallMilliseconds
        let priority = settings.hasPriority ? "<\(line.level.priority)>" : ""
        switch format {
        case .text: sink(priority + line.text(at: wall, hasColor: settings.hasColor))
        case .json: sink(priority + line.json(at: wall))
        }
    }

    private func covered(_ value: LogValue) -> LogValue {
        guard case .text(let text) = value else { return value }
        return .text(secrets.covered(text))
    }
}
