import AgentKit
import Vocabulary

/// The questions that decide what a person would notice, each answered here and nowhere else.
enum ConversationRules {
    /// Whether a prompt may be written to this child now.
    ///
    /// A prompt during a run would be queued in the agent, and its answer become another run's.
    static func mayBegin(turn: ChildTurn?, isFree: Bool) -> Bool { turn == nil && isFree }

    /// Whether a prompt that was written may be written once more: the habit permits it, the finding proves it, no tool of it was seen, its
    /// files are at hand, and no person has stopped it. Of a prompt of an earlier process the finding alone says whether a tool was seen.
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
        /// The run stops: nothing is given to it any longer, and the ask is dropped.
        case stopped
        /// Another ask has the name.
        case meansAnother
    }

    /// Whether what a person decided goes to the agent: a yes counts for what was shown, and not behind a Stop. A no always counts.
    static func mayLeave(
        isYes: Bool, shown: AskFingerprint?, asked: AskFingerprint, run: RunID?, turn: ChildTurn?
    ) -> Leaving {
        guard isYes else { return .goes }
        if let shown, shown != asked { return .meansAnother }
        if let turn, turn.isStopping, run == nil || run == turn.run { return .stopped }
        return .goes
    }

    /// Whether a Stop of the turn is written again: before its run began it has stopped nothing.
    static func stopsAgain(_ turn: ChildTurn) -> Bool { turn.isStopping }
}
