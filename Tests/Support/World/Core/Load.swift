/// The loads that the delivery is judged by, on virtual time and the relay's own buckets.
package enum Load {
    /// So many chats, each with one run at 10 tokens a second.
    package static func steady(turns: Int, seconds: Int) -> CoreWorldPlan {
        var plan = CoreWorldPlan(seed: UInt64(turns))
        plan.expectsPromptness = false
        for number in 0..<turns {
            // Not all in the same millisecond: real users are not that punctual.
            plan.messages.append(
                CoreWorldPlan.Message(
                    at: .milliseconds(Int64(number * 1_000 / max(turns, 1))), chat: number,
                    script: .steady(tokens: seconds * 10, every: .milliseconds(100))))
        }
        return plan
    }

    /// Six messages a second for a minute, each with a run of ten seconds: 12 `msg` calls a second against a refill of 10.
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

    /// How much later the ends of `loaded` are than those of `bare`, at most.
    package static func worstDelay(of loaded: CoreWorldResult, against bare: CoreWorldResult) -> Duration {
        loaded.endedAt.map { index, at in bare.endedAt[index].map { at - $0 } ?? .zero }.max() ?? .zero
    }

    /// Delta tokens taken to tokens refilled while text waited; nil where text never waited long enough to say.
    package static func useOfRefill(_ result: CoreWorldResult, refillPerSecond: Double = 100) -> Double? {
        let refilled = result.secondsWithWaitingText * refillPerSecond
        return refilled < 200 ? nil : Double(result.deltaTokensTaken) / refilled
    }
}
