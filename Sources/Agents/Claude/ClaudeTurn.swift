import AgentKit
import JSONReading
import Vocabulary

/// End of a turn that does not belong to our prompt if another turn begins.
struct Withheld {
    /// Timeout for the next `init`: a queued prompt begins at once.
    static let patience = Duration.seconds(3)
    /// Timeout behind an interrupt, below the 2 s after which the engine kills the process.
    static let afterStop = Duration.milliseconds(700)

    let event: RunEvent
    var until: Instant
}

/// One turn of the session, from its beginning to its `result`.
struct ClaudeTurn {
    let run: RunID
    /// A prompt of ours began the turn, or was folded into it.
    let isOurs: Bool
    var words = ClaudeWords()
    var calls = ClaudeCalls()
    /// A tool was called, or a retry would not write the text again: neither can be shown as undone.
    var hasTools = false
    /// The failure was reported before the end: later frames stay hidden.
    var isOver = false
    /// The `init` came: later states of the session concern this turn.
    var hasBegun = false
    /// Id of our prompt that began the turn.
    var uuid: String?
    /// The prompt's lifecycle is `completed`: only the turn's `result` is outstanding.
    var isDone = false
    /// The bridge asked the process to end the turn.
    var isInterrupted = false
    /// End of the session's own turn, which came first: the prompt has the next one, or none (earlier versions).
    var withheld: Withheld?
    /// Error word of the frame in which the process itself spoke.
    var error: String?

    init(_ run: RunID, isOurs: Bool) {
        self.run = run
        self.isOurs = isOurs
    }

    /// The same run, after another's turn was shown under its name.
    func behindAnother(_ event: RunEvent, at now: Instant) -> ClaudeTurn {
        var next = ClaudeTurn(run, isOurs: isOurs)
        (next.hasBegun, next.isInterrupted) = (true, isInterrupted)
        (next.hasTools, next.uuid) = (hasTools || words.hasText, uuid)
        next.withheld = Withheld(event: event, until: now + (isInterrupted ? Withheld.afterStop : Withheld.patience))
        return next
    }
}

/// A prompt whose turn has not begun.
struct ClaudePrompt {
    let run: RunID
    let uuid: String
    /// The prompt's text from a recording, which reports it when the turn begins, or nil on a live link.
    var text: String?
    var isAccepted = false
}

/// Open tool calls of a turn, and the helpers below them (claude-code.md#tools).
struct ClaudeCalls {
    struct Call {
        var name: String
        var title: String
    }

    private static let limit = 2_000
    private static let depthLimit = 16

    private var open: [String: Call] = [:]
    /// Calls of helpers, with the call that each helper serves.
    private var outer: [String: String] = [:]

    subscript(id: String) -> Call? { open[id] }
    /// A helper works within the turn.
    var hasHelper: Bool { open.values.contains { $0.name == "Task" || $0.name == "Agent" } }

    mutating func began(_ id: String, _ call: Call) {
        if open.count < Self.limit { open[id] = call }
    }

    mutating func ended(_ id: String) -> Call? { open.removeValue(forKey: id) }

    mutating func began(_ id: String, below parent: String) {
        if outer.count < Self.limit { outer[id] = parent }
    }

    /// The turn's own open call above a frame with this parent.
    func card(above parent: String) -> (id: String, call: Call)? {
        var id = parent
        for _ in 0..<Self.depthLimit {
            if let call = open[id] { return (id, call) }
            guard let next = outer[id] else { return nil }
            id = next
        }
        return nil
    }
}
