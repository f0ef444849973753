import BridgeModel

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

    /// A run begins at once, but for a compaction before it.
    static let startPatience = Duration.seconds(10)
    /// A long tool says nothing.
    static let silence = Duration.seconds(60)
    static let stopPatience = Duration.seconds(15)
    /// pi answers `abort` when its loop is idle; the end of the run may be a moment behind.
    static let afterStop = Duration.seconds(2)

    let run: RunID
    var state = State.prompted
    var lastHeard: Instant
    /// Answers in a row that call the loop idle although its end was not seen.
    var idleAnswers = 0

    var isStopping: Bool { if case .stopping = state { true } else { false } }

    /// When pi is asked what it is doing, if it says nothing until then.
    var nextProbe: Instant? {
        switch state {
        case .prompted: nil
        case .accepted: lastHeard + Self.startPatience
        case .going: lastHeard + (idleAnswers > 0 ? .seconds(1) : Self.silence)
        case .stopping: nil
        }
    }

    var stopDeadline: Instant? { if case .stopping(let until) = state { until } else { nil } }

    enum Sign { case event, answer }

    /// It lives. Only an event says that its loop is running.
    mutating func heard(_ sign: Sign, at now: Instant) {
        lastHeard = now
        if sign == .event { idleAnswers = 0 }
    }
}
