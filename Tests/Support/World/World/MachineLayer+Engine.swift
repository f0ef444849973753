import AgentKit
import Vocabulary

#if PLANTED_FAULTS
    /// State for the faults of the conversation engine, for any dialect.
    struct EngineFaults {
        /// The chat whose conversation takes the messages of all others.
        var first: AgentSession?
        var repeated: Set<RunID> = []
        /// Frames of a yes that wait, and until when.
        var waiting: [AgentOrder] = []
        var waitsUntil: Instant?
    }

    extension MachineLayer where Machine: ~Copyable {
        /// Sends the same message in another run, once. Its signals count for the first run.
        mutating func again(_ run: RunID, _ now: Occasion) -> [AgentOrder]? {
            guard case .send(let turn, let session, _, let message)? = sent[run]?.command,
                engine.repeated.insert(run).inserted
            else { return nil }
            let other = RunID("\(run.text)-again")
            ours[other] = run
            sent[run]?.isStopped = false
            sent[run]?.isLost = false
            return machine.command(.send(turn: turn, session: session, run: other, message: message), now)
        }

        mutating func engineCommand(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
            let passed = fault == .chatsMixedUp ? mixedUp(command) : command
            switch passed {
            case .send(_, _, let run, _): sent[run] = Sent(command: passed)
            case .abort(let session, let run, _):
                sent[run]?.isStopped = true
                if fault == .yesBehindStop { return machine.command(passed, now) + releaseYes() }
                if engine.repeated.contains(run) {
                    return machine.command(.abort(session: session, run: RunID("\(run.text)-again")), now)
                }
            case .resolve where fault == .askAnsweredTwice:
                let orders = machine.command(passed, now)
                return orders + orders.filter { if case .send = $0 { true } else { false } }
            case .resolve(_, _, let decision, _, _, _, _) where fault == .yesBehindStop && decision != .deny:
                let orders = machine.command(passed, now)
                engine.waiting += orders.filter { if case .send = $0 { true } else { false } }
                engine.waitsUntil = now.now + .seconds(10)
                return orders.filter { if case .send = $0 { false } else { true } }
            case .resolve, .answer, .lookUp, .release: break
            }
            return machine.command(passed, now)
        }

        mutating func releaseYes() -> [AgentOrder] {
            defer { (engine.waiting, engine.waitsUntil) = ([], nil) }
            return engine.waiting
        }

        private mutating func mixedUp(_ command: AgentCommand) -> AgentCommand {
            switch command {
            case .send(let turn, let session, let run, let message):
                let first = engine.first ?? session
                engine.first = first
                return .send(turn: turn, session: first, run: run, message: message)
            case .abort(_, let run, let reach):
                guard let first = engine.first, sent[run] != nil else { return command }
                return .abort(session: first, run: run, reach: reach)
            case .resolve, .answer, .lookUp, .release: return command
            }
        }

        mutating func noteChannel(_ channel: ChannelID, _ frame: String) {
            for (run, known) in sent {
                guard case .send(_, _, _, let message) = known.command, frame.contains(message.text) else { continue }
                sent[run]?.channel = channel
            }
        }

        /// Marks stopped runs of a program that exited as lost.
        mutating func noteLoss(_ event: ChannelEvent, on channel: ChannelID) {
            guard case .exited = event else { return }
            for (run, known) in sent where known.channel == channel && known.isStopped { sent[run]?.isLost = true }
        }
    }
#endif
