import BridgeCore
import FoundationEssentials
import RelayProtocol
import RelayRules
import Vocabulary

/// The decisions of a whole connection on virtual time, between the relay's rules, an invented agent, and a network
/// that loses and delays.
/// The same plan gives the same run.
package struct CoreWorld {
    /// Indirect, because the heap swaps events all the time and the largest case holds a whole call.
    indirect enum Happening {
        case userWrites(Int)
        case runStep(message: Int, index: Int)
        case accepted(Int)
        case arrives(CallAttempt, RelayCall, life: Int)
        case answered(CallAttempt, RelayAnswer, life: Int)
        case decides(Int)
        case stops(Int)
        case restart, agentBack
        case lookUp(Int)
        case abortAnswered(RunID)
        /// The person writes the reply of this number to the question of this message.
        case replies(Int, Int)
        case questionConfirmed(Int)
        /// The record that a command waits for is on the disk.
        case commandKept(CommandNumber, AgentCommand, life: Int)
        case endsReply(TurnID, RunID)
    }

    struct Progress {
        var turn: TurnID
        var session: String
        var interaction: String
        var run: RunID
        var begunAt: Instant
        var handedOver = false
        var decided = false
        var missedSteps: [Int] = []
        var lacksBeginning = false
        var aborted = false
        /// The person pressed Stop.
        var stopped = false
        var nextStep = 0
        var endKnownAt: Instant?
    }

    let plan: CoreWorldPlan
    var relay: Relay
    let faults = CoreFaults()
    var random: SeededGenerator
    private var events = EventQueue<Happening>()
    var now = Instant.zero
    var progress: [Int: Progress] = [:]
    var messageOfTurn: [TurnID: Int] = [:]
    var chats: [Int: String] = [:]
    var journal = SimulatedJournal()
    var underWay: [TurnID: Int] = [:]
    var life = 0
    var agentIsAway = false
    var closed: Set<TurnID> = []
    var textSince: [TurnID: Instant] = [:]
    var told: [TurnID: String] = [:]
    var asked: [Int: Asked] = [:]
    var repliesByTurn: [TurnID: Int] = [:]
    var result = CoreWorldResult()

    package static func run(_ plan: CoreWorldPlan) -> CoreWorldResult {
        var simulation = CoreWorld(plan)
        return simulation.run()
    }

    private init(_ plan: CoreWorldPlan) {
        self.plan = plan
        random = SeededGenerator(seed: plan.seed &* 31 &+ 7)
        var options = RelayOptions()
        options.seed = plan.seed
        relay = Relay(options: options)
    }

    /// Small parts, so turns have many of them.
    var settings: BridgeSettings {
        var settings = BridgeSettings()
        settings.partBytes = 16
        return settings
    }

    private mutating func run() -> CoreWorldResult {
        var bridge = Bridge(settings: settings, isJournaled: true)
        for (index, message) in plan.messages.enumerated() { schedule(.userWrites(index), after: message.at) }
        for restart in plan.restarts { schedule(.restart, after: restart) }
        while result.steps < 400_000, result.violations.count < 20 {
            let wake = bridge.nextWake
            if let first = events.nextAt, wake.map({ first <= $0 }) ?? true {
                pass(to: first, bridge.hasWaitingText)
                if let happening = events.takeNext() { handle(happening, &bridge) }
            } else if let wake, wake - Instant.zero < .seconds(5_400) {
                pass(to: max(wake, now), bridge.hasWaitingText)
                bridge.timePassed(at: now)
            } else {
                break
            }
            result.steps += 1
            perform(&bridge)
        }
        judge(bridge.openTurns)
        return result
    }

    private mutating func pass(to moment: Instant, _ textWaits: Bool) {
        if textWaits { result.secondsWithWaitingText += (moment - now).seconds }
        now = moment
    }

    // MARK: Time

    var moment: Moment {
        Moment(milliseconds: 1_770_000_000_000 + (now - Instant.zero).nanoseconds / 1_000_000)
    }

    mutating func schedule(_ happening: Happening, after: Duration) { events.add(happening, at: now + after) }
}
