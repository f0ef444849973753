import Vocabulary
import Worlds

@testable import BridgeCore

/// Judges tasks that describe a run: their pace, and that a run with frames gets none. Draws from a separate
/// generator.
struct SilenceWatch {
    private var random: SeededGenerator
    private let quiet: Duration?
    private var saidAt: Instant?
    private var names: Set<TaskID> = []
    private var stuck = 0

    init() {
        random = SeededGenerator(seed: 0)
        quiet = nil
    }

    init(seed: UInt64, _ settings: inout TurnSettings) {
        random = SeededGenerator(seed: seed ^ 0x7175_6965)
        quiet = random.happens(0.4) ? .seconds(60) : nil
        settings.quiet = quiet
        settings.stuck = random.happens(0.3) ? .seconds(300) : nil
        if quiet == nil { settings.stuck = nil }
    }

    /// Some silences are long.
    mutating func pause() -> Duration {
        guard quiet != nil, random.happens(0.15) else { return .zero }
        return .seconds(Int64.random(in: 30...200, using: &random))
    }

    mutating func isAlive() -> RunActivity? {
        guard quiet != nil, random.happens(0.1) else { return nil }
        if random.happens(0.7) { return .working }
        return random.happens(0.5) ? .compacting : .retrying
    }

    mutating func judge(_ order: TurnOrder, _ turn: Turn, at now: Instant, _ faults: inout [String]) {
        switch order {
        case .stuck:
            stuck += 1
            if stuck > 1 { faults.append("stuck twice") }
            if !turn.wait.mayBeStuck || turn.outcome != nil {
                faults.append("stuck for \(turn.wait)")
            }
        case .post(.taskStarted(let start)) where StatusTask.isOne(start.task):
            if !names.insert(start.task).inserted { faults.append("\(start.task) again") }
            said(at: now, turn, &faults)
        case .post(.taskProgress(let progress)) where StatusTask.isOne(progress.task): said(at: now, turn, &faults)
        case .post(.text), .post(.end):
            if turn.tellsStatus, turn.silence.heardAt == now { faults.append("a run that is heard has a task still") }
        default: break
        }
    }

    private mutating func said(at now: Instant, _ turn: Turn, _ faults: inout [String]) {
        if let saidAt, now - saidAt < .seconds(60), now - saidAt > .zero { faults.append("said twice in a minute") }
        if let quiet, now < turn.silence.end(ofQuiet: quiet) { faults.append("said of a run that is heard") }
        if turn.outcome != nil { faults.append("said of a run that is over") }
        saidAt = now
    }
}
