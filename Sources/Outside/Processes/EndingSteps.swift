import OSThreads
import Vocabulary

/// The steps that end a child, each taken once and in order. The caller passes the time with each event.
struct EndingSteps {
    enum Step: Hashable { case closeInput, terminate, kill }

    private let first: Step
    private let grace: Duration
    /// Can transition to: `waiting` by `ask`; `waiting` with a later step, and `finished`, by `next`.
    private enum State {
        case notAsked
        case waiting(next: Step, at: Deadline)
        case finished
    }
    private var state = State.notAsked

    init(_ life: ChildPlan.Life, _ pipes: ChildPlan.Pipes) {
        let hasInput = if case .none = pipes { false } else { true }
        switch life {
        case .withBridge(let grace), .byItself(let grace):
            first = hasInput ? .closeInput : .terminate
            self.grace = grace
        case .outlives:
            first = .terminate
            grace = .seconds(5)
        }
    }

    mutating func ask(atOnce: Bool, at now: Deadline) {
        switch state {
        case .notAsked: state = .waiting(next: atOnce ? .kill : first, at: now)
        case .waiting where atOnce: state = .waiting(next: .kill, at: now)
        case .waiting, .finished: break
        }
    }

    var deadline: Deadline? {
        if case .waiting(_, let at) = state { at } else { nil }
    }

    /// The step that is due, or nil.
    mutating func next(at now: Deadline) -> Step? {
        guard case .waiting(let step, let at) = state, at.hasPassed(at: now) else { return nil }
        switch step {
        case .closeInput: state = .waiting(next: .terminate, at: now + grace)
        case .terminate: state = .waiting(next: .kill, at: now + grace)
        case .kill: state = .finished
        }
        return step
    }
}
