import Vocabulary

/// The run of ours that one process works on.
///
/// States: `prompted` (written). Can transition to `accepted` (pi took it), `going` (its loop began), `stopping`. `accepted` can
/// transition to `going`, `stopping`, and to an end without a run, if pi is found idle: the prompt was a command.
/// `going` can transition to `stopping`. Each of them ends with the run.
struct PiTurn {
    enum State: Equatable {
        case prompted, accepted, going
        /// `until`: an end is due by then, else the process is taken for broken.
        case stopping(until: Instant)
    }

    /// From the last sign of life to a look at the state, while a prompt is unanswered and while its run has not begun.
    static let startPatience = Duration.seconds(10)
    /// For all that pi does before it takes a prompt: compactions, and what extensions ask a person.
    static let promptLimit = Duration.seconds(1_800)
    static let stopPatience = Duration.seconds(15)
    /// pi answers `abort` when its loop is idle; the end of the run may be a moment behind.
    static let afterStop = Duration.seconds(2)

    let run: RunID
    var state = State.prompted

    var isStopping: Bool { if case .stopping = state { true } else { false } }

    var stopDeadline: Instant? { if case .stopping(let until) = state { until } else { nil } }
}

/// The time without a sign of life of one process, and what it answered meanwhile.
struct PiSilence {
    enum Sign { case event, answer }

    /// A long tool says nothing.
    static let limit = Duration.seconds(60)

    private(set) var since = Instant.zero
    /// Answers in a row that call the loop idle although its end was not seen.
    var idleAnswers = 0

    /// When pi is asked what it is doing, if it says nothing until then. `turn`: ours, where there is one.
    func nextProbe(of turn: PiTurn?) -> Instant? {
        switch turn?.state {
        case .prompted, .accepted: since + PiTurn.startPatience
        case .going, nil: since + (idleAnswers > 0 ? .seconds(1) : Self.limit)
        case .stopping: nil
        }
    }

    /// Only an event says that its loop is running.
    mutating func heard(_ sign: Sign, at now: Instant) {
        since = now
        if sign == .event { idleAnswers = 0 }
    }
}
