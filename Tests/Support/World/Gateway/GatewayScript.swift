/// How the scripted gateway's agent handles one message.
package struct GatewayScript: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        case says(String)
        /// A shell tool from its call to its result. An approval may come between the two.
        case callsTool(id: String, command: String)
        case toolReturns(id: String, output: String)
        case toolFails(id: String, output: String)
        case asksApproval(id: String, command: String)
        /// This attempt fails, and another begins under the same run (openclaw.md#chat, retry trap).
        case attemptFails(String)
        case triesAgain
        /// The run fails. The verdict comes 15 s after the lifecycle's (openclaw.md#order-of-frames-in-one-run), in
        /// E4 at once.
        case fails(String)
        case finishes
        /// An end without a message: the text is what was said so far (openclaw.md#chat, end).
        case finishesEmpty
        /// Drops that many of the next broadcasts that a slow reader may lose (openclaw.md#four-different-counters).
        case drops(Int)
        /// The agent throws: the run ends, and nothing reports that until someone asks.
        case vanishes
        /// An answer beside the conversation, by a run that does nothing else.
        case saysAside(String)
        /// The run takes a message that was steered into it.
        case takes(String, key: String)
        /// The gateway restarts, and its runs die.
        case restarts(downMilliseconds: Int)
    }

    package struct Timed: Sendable, Hashable {
        package var after: Duration
        package var step: Step

        package init(after: Duration, step: Step) {
            self.after = after
            self.step = step
        }
    }

    package var steps: [Timed] = []
    /// When the answer to `chat.send` comes.
    package var answersAfter = Duration.milliseconds(9)
    /// At equal times the run speaks before the answer.
    package var speaksFirst = false
    /// Time from a stop to the agent's release of the run, or nil for the era's usual time.
    package var letsGoAfter: Duration?
    /// If the surface cannot wait, newer eras detach as well (openclaw.md#approvals).
    package var detaches = false
    /// The agent's words once its call returned "waiting for approval"; the run ends with them.
    package var saysWhenDetached = "I wait."
    /// Duration of an allowed command whose call is detached, including the gateway's own pause.
    package var commandTakes = Duration.milliseconds(1_900)
    /// Words of an E1 heartbeat ten seconds after the decision, while the command runs.
    package var notice: String?

    package init() {}

    package init(_ steps: (milliseconds: Int, step: Step)...) {
        self.steps = steps.map { Timed(after: .milliseconds($0.milliseconds), step: $0.step) }
    }
}
