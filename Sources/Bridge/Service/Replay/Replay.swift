package import AgentKit
package import BridgeCore
import Locking
package import Recording
package import Vocabulary

/// Plays a recording through the whole pipeline: decoder, turns, lanes, relay.
///
/// A recorded command counts as the act of the person behind it, and a recorded answer as one that the bridge asked for. A prompt opens an
/// interaction, and so does a run without one. Lives on the thread that calls `play`.
package final class Replay {
    private let runner: BridgeRunner
    private let user: any ReplayUser
    private let clock: any Clock
    private var decoders: StreamDecoders
    private var sessions: [AgentSession: SessionID] = [:]
    private var begun: Set<RunID> = []
    private var turnOfRun: [RunID: TurnID] = [:]
    private var frames = 0
    /// True once a frame was understood.
    private var isRead = false
    private let log: ReplayLog
    private let agent: any AgentPlugin
    /// Name of the recording.
    private let name: String

    package init(
        runner: BridgeRunner, log: ReplayLog, agent: any AgentPlugin, name: String, user: any ReplayUser,
        clock: any Clock
    ) {
        self.runner = runner
        self.user = user
        self.clock = clock
        self.log = log
        self.agent = agent
        self.name = name
        decoders = StreamDecoders(agent)
    }

    /// Reads to the end of the file. `pause` waits for the time of the next frame, and returns false to end the replay.
    package func play(_ reader: RecordingReader, pause: (Int64) -> Bool) throws {
        let origin = clock.now
        var last = origin
        var isWhole = true
        while let entry = try reader.next() {
            guard pause(entry.milliseconds) else {
                isWhole = false
                break
            }
            guard entry.link == .agent else { continue }
            let at = origin + .milliseconds(entry.milliseconds)
            last = at
            frames += 1
            if let deadline = decoders.nextDeadline, deadline <= at { try handle(decoders.deadlineHit(at: deadline)) }
            let before = isRead ? 0 : decoders.unknown.total
            let observations = decoders.observe(entry, at: at)
            if !isRead, !Self.isPseudoFrame(entry.frame) {
                let isUnderstood = entry.direction == .incoming && decoders.unknown.total == before
                isRead = isUnderstood || !observations.isEmpty
            }
            if !observations.isEmpty { try handle(observations) }
        }
        try finish(at: last)
        guard isWhole, !isRead else { return }
        throw RecordingError(
            .nothingRead, file: name,
            "none of its \(frames) frames can be read as \(agent.kind.rawValue)'s; if it is another agent's, say so with --agent"
        )
    }

    /// True if the frame is about the socket or the child itself (DESIGN.md#recording); recordings of every agent have such frames.
    private static func isPseudoFrame(_ frame: UnsafeRawBufferPointer) -> Bool {
        let marks = frame.lazy.filter { $0 > 0x20 }.prefix(3)
        return marks.elementsEqual(#"{"_"#.utf8)
    }

    /// Ends the replay: deadlines that wait for silence fire, and runs without an end fail.
    private func finish(at last: Instant) throws {
        while let deadline = decoders.nextDeadline { try handle(decoders.deadlineHit(at: max(deadline, last))) }
        let gone = RunEvent.failed(RunFailure(kind: .agentGone, message: "the recording ends here"))
        for run in begun.sorted() {
            runner.tell { bridge, now in
                guard let turn = bridge.turn(of: run), bridge.turn(turn)?.outcome == nil else { return }
                bridge.agentSays(RunSignal(run: run, session: nil, event: gone), at: now)
            }
        }
        log.finished(frames: frames, unknown: decoders.unknown)
    }

    private func handle(_ observations: [Observation]) throws {
        for observation in observations { try handle(observation) }
    }

    private func handle(_ observation: Observation) throws {
        switch observation {
        case .prompt(let prompt): try begin(prompt.run, in: prompt.session, text: prompt.text)
        case .signal(let signal):
            if let run = signal.run, !begun.contains(run), let session = signal.session, signal.event.beginsRun {
                let isFollowUp = runner.ask { bridge in bridge.expects(run) }
                if !isFollowUp { try begin(run, in: session, text: nil) }
            }
            runner.tell { bridge, now in bridge.agentSays(signal, at: now) }
        case .sendAnswered(let run, let answer):
            guard let turn = turnOfRun[run] else { return }
            runner.tell { bridge, now in bridge.sendAnswered(answer, for: turn, at: now) }
        case .stopSent(let session, let run):
            stop(session: session, run: run)
        case .decisionSent(let approval, let decision):
            if !user.decides(approval, decision) {
                runner.tell { bridge, now in bridge.decided(approval, decision, reason: nil, at: now) }
            }
        case .answerSent(let question, let session, let answer): try answers(question, in: session, answer)
        case .lookedUp(let run, let lookup): runner.tell { bridge, now in bridge.lookedUp(lookup, of: run, at: now) }
        case .abortAnswered(let run): runner.tell { bridge, now in bridge.abortAnswered(run, at: now) }
        case .jobStarted, .jobFinished, .filesLeftOut, .conversationLost, .told, .modelAnswered,
            .levelAnswered:
            break
        case .linkLost: runner.tell { bridge, now in bridge.agentLost(at: now) }
        case .linkBack: runner.tell { bridge, now in bridge.agentBack(at: now) }
        }
    }

    private func begin(_ run: RunID, in agentSession: AgentSession, text: String?) throws {
        guard begun.insert(run).inserted else { return }
        let (session, interaction, message) = try user.writes(
            text ?? "(a run that no recorded message began)", in: sessions[agentSession])
        sessions[agentSession] = session
        let turn = TurnID(interaction?.text ?? "run-\(StableHash.text(of: "\(session) \(run)").prefix(16))")
        turnOfRun[run] = turn
        let now = clock.now
        let opening = TurnOpening(
            id: turn, session: session, interaction: interaction, agentSession: agentSession, run: run,
            message: text.map {
                UserMessage(id: message, session: session, interaction: interaction, text: $0)
            }, receivedAt: now, windowEnds: now + .seconds(30 * 60), sealing: user.sealing(in: session),
            sealedText: sealedText(in: session))
        runner.tell { bridge, now in bridge.turnBegins(opening, at: now) }
    }

    /// The user of a sealed chat writes under its key. The text is known already, so the sealed one may be empty.
    private func sealedText(in session: SessionID) -> String? { user.sealing(in: session).key.map { _ in "" } }

    /// Replays a recorded answer as a message that the user writes into the chat.
    private func answers(_ question: QuestionID, in agentSession: AgentSession, _ answer: QuestionAnswer) throws {
        let chat = sessions[agentSession]
        guard let chat, runner.ask({ $0.isOpen(question, in: chat) }) else { return }
        let text =
            switch answer {
            case .choices(let values): values.joined(separator: ", ")
            case .text(let text): text
            case .declined: "/skip"
            }
        let (session, interaction, message) = try user.writes(text, in: chat)
        let turn = TurnID(interaction?.text ?? "answer-\(StableHash.text(of: "\(session) \(question)").prefix(16))")
        let now = clock.now
        let opening = TurnOpening(
            id: turn, session: session, interaction: interaction, agentSession: agentSession, run: RunID(turn.text),
            message: UserMessage(id: message, session: session, interaction: interaction, text: text),
            receivedAt: now, windowEnds: now + .seconds(30 * 60), sealing: user.sealing(in: session),
            sealedText: sealedText(in: session))
        runner.tell { bridge, now in
            bridge.turnBegins(opening, answering: question, at: now)
            let taken = QuestionSettlement(id: question, .answered)
            bridge.agentSays(RunSignal(run: nil, session: agentSession, event: .questionSettled(taken)), at: now)
        }
    }

    private func stop(session: AgentSession?, run: RunID?) {
        let opening = runner.ask { bridge in
            run.flatMap { bridge.turn(of: $0) }.flatMap { bridge.turn($0)?.opening }
        }
        let relaySession = opening?.session ?? session.flatMap { sessions[$0] }
        guard let relaySession else { return }
        let interaction = opening?.interaction
        runner.tell { bridge, now in bridge.stopped(session: relaySession, interaction: interaction, at: now) }
    }
}

extension RunEvent {
    /// True if the event shows an unrequested run; an end alone is one whole message.
    fileprivate var beginsRun: Bool {
        switch self {
        case .started, .text, .tool, .finished, .failed: true
        case .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying, .alive: false
        }
    }
}

/// Results of a replay, reported from any thread.
package final class ReplayLog: Sendable {
    private let summary = Locked(ReplaySummary())
    private let openings = Locked<[TurnID: TurnOpening]>([:])

    package init() {}

    package func observe(_ order: BridgeOrder) {
        switch order {
        case .turnOpened(let opening): openings.withLock { $0[opening.id] = opening }
        case .turnClosed(let turn, let outcome):
            let opening = openings.withLock { $0[turn] }
            summary.withLock {
                $0.ends.append(
                    ReplaySummary.End(
                        turn: turn, interaction: opening?.interaction, session: opening?.session ?? SessionID(""),
                        outcome: outcome.rawValue))
            }
        case .connectionStopped(let code): summary.withLock { $0.connectionStopped = "\(code)" }
        case .attempt, .command, .fetch, .dropFiles, .filesTouched, .commandToKeep, .owe, .fulfilled, .keepHome,
            .keepModel, .turnNote, .deliveryNote, .keep, .keyTaken, .keyLeft, .anotherBridge, .stuck:
            break
        }
    }

    func finished(frames: Int, unknown: UnknownTally) {
        summary.withLock {
            $0.frames += frames
            $0.unknown.merge(unknown.counts, uniquingKeysWith: +)
            $0.malformed += unknown.malformed
        }
    }

    package func result(tally: DeliveryTally, openTurns: Int, seconds: Double) -> ReplaySummary {
        summary.withLock {
            $0.calls = tally.calls
            $0.deltas = tally.deltas
            $0.joined = tally.joined
            $0.retries = tally.retries
            $0.refusals = tally.refusals
            $0.deadLetters = tally.deadLetters
            $0.leftOpen = openTurns
            $0.seconds = seconds
            return $0
        }
    }

    package var connectionStopped: Bool { summary.withLock { $0.connectionStopped != nil } }
}
