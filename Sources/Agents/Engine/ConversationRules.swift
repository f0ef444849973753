import AgentKit
import Vocabulary

/// Rules whose outcome a person would notice, each decided here and nowhere else.
enum ConversationRules {
    /// Whether a prompt may be written to this child now.
    ///
    /// The agent would queue a prompt during a run, and answer it in another run.
    static func mayBegin(turn: ChildTurn?, isFree: Bool) -> Bool { turn == nil && isFree }

    /// Whether a written prompt may be written again: the habit permits it, the finding proves it, no tool of it was seen, its
    /// files are at hand, and no person has stopped it. For a prompt of an earlier process only the finding says whether a tool was
    /// seen.
    static func mayBeWrittenAgain(
        _ again: Habits.Again, _ found: Found, isStopped: Bool, isWhole: Bool, hasWorked: Bool = false
    ) -> Bool {
        switch again {
        case .never: false
        case .whereAbsent: found == .absent && !isStopped && isWhole && !hasWorked
        }
    }

    enum Leaving: Equatable {
        case goes
        /// The run stops: the ask is dropped without a verdict.
        case stopped
        /// Another ask has this name.
        case meansAnother
    }

    /// Whether a person's decision goes to the agent: a yes only for the shown ask and never after a Stop, a no always.
    static func mayLeave(
        isYes: Bool, shown: AskFingerprint?, asked: AskFingerprint, run: RunID?, turn: ChildTurn?
    ) -> Leaving {
        guard isYes else { return .goes }
        if let shown, shown != asked { return .meansAnother }
        if let turn, turn.isStopping, run == nil || run == turn.run { return .stopped }
        return .goes
    }

    /// Whether the turn's Stop is written again: before the run began it stopped nothing.
    static func stopsAgain(_ turn: ChildTurn) -> Bool { turn.isStopping }
}
