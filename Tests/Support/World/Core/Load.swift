/// Loads that measure the delivery, on virtual time and with the relay's own buckets.
package enum Load {
    /// One run in each of `turns` chats, at 10 tokens a second.
    package static func steady(turns: Int, seconds: Int) -> CoreWorldPlan {
        var plan = CoreWorldPlan(seed: UInt64(turns))
        plan.expectsPromptness = false
        for number in 0..<turns {
            // Spread over a second: real users do not all write in the same millisecond.
            plan.messages.append(
                CoreWorldPlan.Message(
                    at: .milliseconds(Int64(number * 1_000 / max(turns, 1))), chat: number,
                    script: .steady(tokens: seconds * 10, every: .milliseconds(100))))
        }
        return plan
    }

    /// One chat per message, each with a run of ten seconds. Six a second make 12 `msg` calls a second against a
    /// refill of 10.
    package static func messages(perSecond: Int, seconds: Int) -> CoreWorldPlan {
        var plan = CoreWorldPlan(seed: 6)
        plan.latency = 2...8
        plan.expectsPromptness = false
        for number in 0..<(perSecond * seconds) {
            plan.messages.append(
                CoreWorldPlan.Message(
                    at: .milliseconds(Int64(number * 1_000 / perSecond)), chat: number,
                    script: .steady(tokens: 10, every: .milliseconds(1_000))))
        }
        return plan
    }

    package static func withoutText(_ plan: CoreWorldPlan) -> CoreWorldPlan {
        var plan = plan
        for index in plan.messages.indices { plan.messages[index].script = plan.messages[index].script.withoutText() }
        return plan
    }

    /// Largest delay of an end in `loaded` against the same end in `bare`.
    package static func worstDelay(of loaded: CoreWorldResult, against bare: CoreWorldResult) -> Duration {
        loaded.endedAt.map { index, at in bare.endedAt[index].map { at - $0 } ?? .zero }.max() ?? .zero
    }

    /// Delta tokens taken per token refilled while text waited, or nil if text waited too briefly to judge.
    package static func useOfRefill(_ result: CoreWorldResult, refillPerSecond: Double = 100) -> Double? {
        let refilled = result.secondsWithWaitingText * refillPerSecond
        return refilled < 200 ? nil : Double(result.deltaTokensTaken) / refilled
    }
}
