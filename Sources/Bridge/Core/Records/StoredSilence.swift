import BridgeModel

/// The status task and the line of a silent turn. The time of the last sign of life is not stored, since it changes with every frame.
struct StoredSilence: StoredForm {
    var tasks: Int?
    var task: TaskID?
    var label: String?
    var saidAt: Instant?
    var isStuckTold: Bool?
    /// At work behind the bubble's end.
    var open: [ToolCallID]?

    enum CodingKeys: String, CodingKey {
        case tasks = "tasks"
        case task = "task"
        case label = "label"
        case saidAt = "said_at"
        case isStuckTold = "is_stuck_told"
        case open = "open"
    }
}

extension StoredSilence {
    init(_ silence: TurnSilence) {
        tasks = silence.tasks == 0 ? nil : silence.tasks
        task = silence.told?.task
        label = silence.told?.label
        saidAt = silence.told?.at
        isStuckTold = silence.isStuckTold ? true : nil
        open = silence.tools.isEmpty ? nil : silence.tools.sorted()
    }

    var value: TurnSilence {
        var silence = TurnSilence()
        silence.tasks = tasks ?? 0
        silence.told = task.map { TurnSilence.Told(task: $0, label: label ?? "", at: saidAt ?? .zero) }
        silence.isStuckTold = isStuckTold ?? false
        silence.tools = Set(open ?? [])
        return silence
    }
}

extension TurnSilence {
    /// The part of the state that is stored.
    var kept: TurnSilence {
        var kept = TurnSilence()
        (kept.tasks, kept.told, kept.isStuckTold, kept.tools) = (tasks, told, isStuckTold, tools)
        return kept
    }
}
