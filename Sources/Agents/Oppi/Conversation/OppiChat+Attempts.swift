import AgentKit
import JSONReading
import Vocabulary

// A run whose loop has ended and may begin again, and a message that no loop took up (oppi.md#retries-compaction-queue).
extension OppiChat {
    /// Whether the run is between two attempts, so that text in the trace is no end.
    mutating func waitsForAttempt(of turn: OppiTurn, _ answer: OppiTrace.Answer?, at now: Instant) -> Bool {
        guard link.isActive, !turn.look.hasNewAgent else { return false }
        if let until = decoder?.retryUntil, until > now {
            self.turn?.look.due = until
            return true
        }
        if decoder?.isHolding == true, decoder?.isCompacting(at: now) == true { return true }
        return holds(turn, answer, at: now)
    }

    /// Whether the ring's last loop of this run ended like one that is retried. No ring holds the frames that announce a retry.
    private mutating func holds(_ turn: OppiTurn, _ answer: OppiTrace.Answer?, at now: Instant) -> Bool {
        if turn.look.isHeld { return decoder?.isHolding == true }
        guard let told = turn.look.told, let end = told.end, end == .failed || !link.isHead, let answer, let place,
            told.prompt.map({ isSaid($0, in: turn.run) }) ?? (answer.next == nil)
        else { return false }
        self.turn?.look.isHeld = true
        self.turn?.state = .going
        asked.hasBegun(turn.run)
        if decoder == nil { makeDecoder(place) }
        decoder?.holds(
            turn.run, turn.prompt.frameText, steered: asked.steers.marks(in: turn.run), told, said: answer.texts,
            at: now)
        return true
    }

    func isSaid(_ words: String, in run: RunID) -> Bool {
        guard let asked = asked[run]?.text else { return false }
        return PromptText.isPrompt(words, asked)
            || self.asked.steers.marks(in: run).contains { $0 != .command && $0.fits(words) }
    }

    /// The run's end: the trace supplies the text, and the ring's failure overrides an answer that looks complete.
    func ended(_ turn: OppiTurn, _ text: String) -> RunLookup {
        guard let told = turn.look.told, let failure = told.failure, let prompt = told.prompt,
            isSaid(prompt, in: turn.run)
        else { return .ended(RunEnd(text: text)) }
        return .failed(RunFailure(message: failure, text: text.isEmpty ? nil : text))
    }

    // MARK: The queue

    static let isQueued = RunFailure(kind: .queued, message: "the run before it did not end well")

    /// Takes a message out of the agent's queue, where it stays after a failed run and would be
    /// answered with the next one. Only head supports that. Nil if there is nothing to do.
    mutating func leaveQueue(at now: Instant) -> [Order]? {
        guard let turn, let place, turn.state == .accepted, link.isActive, !turn.look.hasNewAgent else { return nil }
        switch turn.queue {
        case .unknown where link.isHead:
            guard way == .live else {
                self.turn?.look.due = now + OppiTurn.lookAgain
                return way == .absent ? dial(at: now) : []
            }
            self.turn?.queue = .asked
            let id = requests.add(.queue(turn.run), for: Self.commandLimit, at: now)
            return [.send(OppiFrames.queue(place.native, id))]
        case .unknown:
            if turn.waits == true { self.turn?.queue = .stays }
            return nil
        case .asked: return []
        case .left, .stays: return nil
        }
    }

    mutating func queueAnswered(_ run: RunID, _ queue: FrameNode?, isDone: Bool, at now: Instant) -> [Order] {
        guard let turn, turn.run == run, turn.queue == .asked, let place else { return [] }
        let steering = queue?["steering"]?.elements ?? []
        let following = queue?["followUp"]?.elements ?? []
        let ours = following.firstIndex { item in
            item["message"]?.string.map { PromptText.isPrompt($0, turn.prompt.frameText) } == true
        }
        guard isDone, ours != nil else {
            self.turn?.queue = isDone ? .left : .stays
            return look(at: now)
        }
        // At rest the server accepts only an empty queue, so other clients' messages and ours stay.
        guard steering.isEmpty, following.count == 1, let version = queue?["version"]?.integer(in: .counts) else {
            self.turn?.queue = .stays
            return look(at: now)
        }
        let id = requests.add(.unqueue(run), for: Self.commandLimit, at: now)
        return [.send(OppiFrames.emptyQueue(place.native, version: version, id))]
    }

    /// The server refuses the change if another client changed the queue meanwhile.
    mutating func queueEmptied(_ run: RunID, isDone: Bool, at now: Instant) -> [Order] {
        guard let turn, turn.run == run, turn.queue == .asked else { return [] }
        self.turn?.queue = isDone ? .left : .stays
        return look(at: now)
    }
}
