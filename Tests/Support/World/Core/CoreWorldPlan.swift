import FoundationEssentials
import Vocabulary

/// One simulated stretch of time, drawn from a seed or written by a test.
package struct CoreWorldPlan: Sendable {
    package struct Message: Sendable {
        package var at: Duration
        package var chat: Int
        package var script: RunScript

        package init(at: Duration, chat: Int, script: RunScript) {
            self.at = at
            self.chat = chat
            self.script = script
        }
    }

    package var messages: [Message] = []
    package var restarts: [Duration] = []
    /// Probability that a call meets a misfortune.
    package var faultRate = 0.0
    package var latency: ClosedRange<Int64> = 1...40
    /// Nothing in the plan explains a long wait: no load, no misfortunes, no restarts.
    package var expectsPromptness = true
    package var seed: UInt64

    package init(seed: UInt64) { self.seed = seed }

    package static func random(seed: UInt64) -> CoreWorldPlan {
        var random = SeededGenerator(seed: seed)
        var plan = CoreWorldPlan(seed: seed)
        plan.faultRate = random.pick([0, 0, 0.05, 0.25])
        let isCrowded = random.happens(0.2)
        let count = isCrowded ? 60 : Int.random(in: 1...12, using: &random)
        for number in 0..<count {
            let kind =
                isCrowded ? RunScript.Kind.appended : random.pick(RunScript.Kind.allCases.filter { $0 != .asking })
            let script =
                isCrowded
                ? RunScript.steady(tokens: 60, every: .milliseconds(100))
                : RunScript.random(kind, name: "\(seed)-\(number)", using: &random)
            let chat = isCrowded ? number : Int.random(in: 0...5, using: &random)
            plan.messages.append(
                Message(at: .milliseconds(Int64.random(in: 0...3_000, using: &random)), chat: chat, script: script))
        }
        var asking = SeededGenerator(seed: seed ^ 0x6173_6B73)
        for index in plan.messages.indices where !isCrowded && asking.happens(0.25) {
            plan.messages[index].script = .asking(name: "\(seed)-\(index)", using: &asking)
            // Another message of the same chat would count as a reply.
            plan.messages[index].chat = 1_000 + index
        }
        if !isCrowded, random.happens(0.4) {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                plan.restarts.append(.milliseconds(Int64.random(in: 0...5_000, using: &random)))
            }
        }
        return plan
    }
}

package struct CoreWorldResult: Sendable {
    package var violations: [String] = []
    /// Time from the bridge's knowledge of each end until the relay has it.
    package var endWaits: [Duration] = []
    package var openWaits: [Duration] = []
    /// When the relay received each end.
    package var endedAt: [Int: Duration] = [:]
    package var deltaTokensTaken = 0
    package var secondsWithWaitingText = 0.0
    /// Longest time from new text to the delta that carries it.
    package var longestTextWait = Duration.zero
    package var calls = 0
    package var steps = 0
}
