package import Vocabulary

/// Orders of a turn, carried out in sequence.
package enum TurnOrder: Hashable, Sendable {
    case post(Post)
    /// Put the post in the place of the refused one, ahead of everything that waits in the lane; the others right behind it.
    case replace(Post, followedBy: [Post] = [])
    /// Nothing takes the place of the refused post: the lane continues.
    case skip
    /// Drop untried text and send no more: the preview has ended.
    case stopPreview
    /// Later posts must not carry the interaction.
    case closeWindow
    /// The turn has a key from now on, or has lost it.
    case useSealing(TurnSealing)
    /// Drop pending posts that cannot go out without a key.
    case dropUnsealed
    /// Nothing untried of this lane may go out.
    case abandonLane
    case command(AgentCommand)
    /// The outcome of the answer that the message of that turn is.
    case answerEnded(TurnID, AnswerEnd)
    /// This turn's message answers a question of that turn, and its person has stopped it.
    case withdrawAnswer(QuestionID, of: TurnID)
    /// The files that the message names; answered by `fetched`.
    case fetch([Attachment])
    /// An ask has a text that goes out in parts, one such ask at a time in a chat.
    case tellsInParts
    /// The next card of an ask is due, or the next reminder of a question.
    case wantsCard(ApprovalID)
    case wantsReminder(QuestionID)
    /// The chat has the line that its run is still silent. Once a turn.
    case stuck
    /// The relay took a card without its end, which it had refused.
    case endsAreRefused
    /// The agent has finished with this turn: the next message of the session may be handed over.
    case agentFree
    /// The turn has ended, and the relay has confirmed its end (or no longer can).
    case closed
    /// A note for the log and the counters: constant words, no user content.
    case note(TurnNote)
}

package enum TurnNote: String, Hashable, Sendable {
    case eventAfterEnd, unknownApproval, decisionNotForwarded, toolWithoutStart, foreignRunAdopted, previewPaused
    case previewLimitReached, windowClosed, stopRequested, stopGivenUp, approvalRefused, taskDropped, textCut
    case questionRefused, answerNotTaken, unknownTask
    /// The relay closed a card as unanswered; the ask stays open at the agent.
    case askUnanswered
    /// A tap on a card that another one has replaced, or whose ask has ended.
    case oldCardTapped
}
