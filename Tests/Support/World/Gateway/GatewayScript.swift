/// What the scripted gateway's agent does with one message.
package struct GatewayScript: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        case says(String)
        /// A shell tool, from its call to its result; an approval may be asked for between the two.
        case callsTool(id: String, command: String)
        case toolReturns(id: String, output: String)
        case toolFails(id: String, output: String)
        case asksApproval(id: String, command: String)
        /// This attempt fails and another one begins under the same run (openclaw.md#chat, retry trap).
        case attemptFails(String)
        case triesAgain
        /// The run fails: the verdict comes 15 s after the lifecycle's (openclaw.md#order-of-frames-in-one-run), at once in E4.
        case fails(String)
        case finishes
        /// The end without a message: what was said is the text (openclaw.md#chat, end).
        case finishesEmpty
        /// The next broadcasts that may be dropped for a slow reader are (openclaw.md#four-different-counters).
        case drops(Int)
        /// Its agent throws: the run is over, and nothing says so before it is asked.
        case vanishes
        /// An answer beside the conversation, by a run that is nothing else.
        case saysAside(String)
        /// It takes a message that was steered into it.
        case takes(String, key: String)
        /// The gateway restarts, and its runs die with it.
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
    /// At equal times, the run speaks before the answer.
    package var speaksFirst = false
    /// The time from a stop to the agent's release of the run; nil: the usual one of the era.
    package var letsGoAfter: Duration?
    /// Where the surface cannot wait, newer eras detach as well (openclaw.md#approvals).
    package var detaches = false
    /// What the agent says when its call returned "waiting for approval"; the run ends with it.
    package var saysWhenDetached = "I wait."
    /// How long a command that was allowed takes where its call is detached, with the gateway's own pause.
    package var commandTakes = Duration.milliseconds(1_900)
    /// What a heartbeat of the first era says ten seconds after the decision, while the command runs.
    package var notice: String?

    package init() {}

    package init(_ steps: (milliseconds: Int, step: Step)...) {
        self.steps = steps.map { Timed(after: .milliseconds($0.milliseconds), step: $0.step) }
    }
}
