import JSONReading
import Vocabulary

/// Work of a process between its turns (claude-code.md#idle).
struct ClaudeTasks {
    private static let limit = 1_000

    /// Tasks in the background, without ambient ones.
    private(set) var background = 0
    /// Schedules that wake the session, by the last `Stop` hook.
    private(set) var wakeUps = 0

    /// A tool that makes schedules was called: an interrupted turn has no hook to confirm one.
    private var isUnsure = false

    var isEmpty: Bool { background == 0 && wakeUps == 0 && !isUnsure }

    mutating func mayWakeUp() { isUnsure = true }

    /// Text such as `2 background tasks and 1 schedule`.
    var words: String? {
        let parts = [Self.words(background, "background task"), Self.words(wakeUps, "schedule")].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: " and ")
    }

    private static func words(_ count: Int, _ name: String) -> String? {
        count == 0 ? nil : Counted.words(count, name)
    }

    /// A `background_tasks_changed`: the whole set.
    mutating func changed(_ tasks: FrameNode?) {
        guard let tasks, tasks.isArray else { return }
        background = tasks.elements.prefix(Self.limit).count { $0["ambient"]?.flag != true }
    }

    /// Reads the input of a `Stop` hook. Its list of tasks is older than the last reported set.
    mutating func stopped(_ input: FrameNode?) {
        guard let schedules = input?["session_crons"], schedules.isArray else { return }
        wakeUps = schedules.elements.prefix(Self.limit).count
        isUnsure = false
    }
}
