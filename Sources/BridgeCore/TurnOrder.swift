package import BridgeModel

/// What a turn wants done. Orders are carried out in the order given.
package enum TurnOrder: Hashable, Sendable {
    case post(Post)
    /// In the place of the post that was refused, ahead of everything that waits in the lane.
    case replace(Post)
    /// Nothing takes the place of the refused post: the lane goes on.
    case skip
    /// Text that was never tried is dropped, and none is sent any more: the preview is over.
    case stopPreview
    /// What comes from now on must not carry the interaction.
    case closeWindow
    /// Nothing of this lane that was not tried yet may go out.
    case abandonLane
    case command(AgentCommand)
    /// The agent has finished with this turn: the next message of the session may be handed over.
    case agentFree
    /// The turn is over, and the relay has confirmed its end (or cannot any more).
    case closed
    /// For the log and the counters: constant words, no user content.
    case note(TurnNote)
}

package enum TurnNote: String, Hashable, Sendable {
    case eventAfterEnd, unknownApproval, decisionNotForwarded, toolWithoutStart, foreignRunAdopted, previewPaused
    case previewLimitReached, windowClosed, stopRequested, approvalRefused, taskDropped, textCut
}

/// Faults that can be planted on purpose, one at a time, to show that the simulation would catch them. Never set outside tests.
package enum PlantedFault: String, Hashable, Sendable, CaseIterable {
    /// A delta that is retried takes the text that came meanwhile with it.
    case retryRecoalesces
    /// The end goes out although a delta of its turn waits or is under way.
    case endBeforeLastDelta
    /// Delta keys leave the epoch out.
    case keyWithoutEpoch
    /// The bucket believes `Remaining` as it stands, without counting what is under way.
    case bucketTrustsRemaining
    /// A snapshot is appended to the text.
    case snapshotAppended
    /// A task is finished once a channel instead of once.
    case taskFinishedTwice
    /// Posts go out before the placeholder's message id is known.
    case placeholderNotAwaited
    /// Whoever waits shortest goes first, so that somebody waits for ever.
    case laneStarves
}
