import BridgeService
import RelayRules
import Vocabulary

/// One run of the agent's scheduler, in the session of its job.
package struct WorldJob: Sendable {
    package static let title = "backup"
    package static let session = "agent:main:cron:backup"

    /// Prefix of the run, its words and its approval.
    package let name: String
    package var at: Duration
    package var side: Int
    /// Time until another client of the agent decides the run's approval.
    package var approvalTakes: Duration?
    /// A gateway that names no run could mean another one.
    package var isDoubtful = false

    package var approval: String { "\(name)ap" }

    package var script: GatewayScript {
        var steps: [(milliseconds: Int, step: GatewayScript.Step)] = [
            (30, .says("\(name)w0 ")), (300, .callsTool(id: "\(name)t", command: "tar")),
        ]
        if approvalTakes != nil { steps.append((20, .asksApproval(id: approval, command: "tar"))) }
        steps += [(300, .toolReturns(id: "\(name)t", output: name)), (100, .says("\(name)w1")), (40, .finishes)]
        var script = GatewayScript()
        script.steps = steps.map { .init(after: .milliseconds(Int64($0.milliseconds)), step: $0.step) }
        return script
    }

    package var words: [String] { ["\(name)w0", "\(name)w1"] }
}

// Runs of the scheduler, other events in their session, and the fate of their chat.
extension WorldPlan {
    mutating func drawJobs(using random: inout SeededGenerator) {
        quietAt = max(quietAt, .seconds(32))
        for side in eras.indices {
            mirrors[side] = random.pick([.cron, .cron, .cron, .cron, .all])
            deletedChats.append(random.pick([.new, .new, .new, .mute]))
        }
        let side = Int.random(in: eras.indices, using: &random)
        func moment(_ range: ClosedRange<Int64>) -> Duration { .milliseconds(Int64.random(in: range, using: &random)) }
        var first = WorldJob(name: "job\(seed)n0", at: moment(600...5_000), side: side)
        let second = WorldJob(name: "job\(seed)n1", at: first.at + moment(14_000...18_000), side: side)
        // Early gateways end a run that asks and begin another (openclaw.md#approvals).
        if eras[side] == .e3 || eras[side] == .e4, random.happens(0.4) { first.approvalTakes = moment(2_000...6_000) }
        func trouble(_ at: Duration, _ misfortune: Misfortune) {
            troubles.append(Trouble(at: at, side: side, misfortune: misfortune))
        }
        func privately(_ number: Int, _ at: Duration) {
            trouble(at, .privateRun(name: "private\(seed)j\(number)", session: WorldJob.session))
        }
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            // After the job's run, beside it, and long after it.
            for number in 0..<3 { privately(number, first.at + moment(450...9_000)) }
        case 1:
            first.isDoubtful = true
            privately(0, first.at - moment(100...350))
        case 2:
            // An early gateway names no session, but the other job has another name.
            first.isDoubtful = eras[side] != .e1
            trouble(first.at - moment(20...400), .jobStarts("tidy"))
            trouble(second.at - .milliseconds(300), .jobFinishes("tidy"))
        case 3, 4:
            let end = first.approvalTakes ?? .zero
            let at = random.happens(0.6) ? first.at + moment(60...900) : first.at + end + moment(2_000...6_000)
            trouble(at, .leavesJobChat(archives: random.happens(0.4)))
            if random.happens(0.3) { privately(0, second.at + moment(450...4_000)) }
        default:
            let kind: Fault.Kind = random.pick([
                .status(500, retryAfterMilliseconds: nil), .status(502, retryAfterMilliseconds: nil), .reset,
                .replyLost, .html, .page(.json, status: 403), .refused(status: 403, code: "permission_denied"),
            ])
            let isFinal = if case .refused = kind { true } else { false }
            trouble(
                first.at - .milliseconds(100),
                .call(Fault(kind, method: "createSession", count: isFinal ? 1 : random.pick([1, 2, 8, 9]))))
        }
        jobs = [first, second]
    }
}
