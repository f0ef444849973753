import AgentKit
import JSONReading
import Vocabulary

// Stops that find nothing to stop, and runs that begin late (oppi.md#stopping, oppi.md#retries-compaction-queue).
extension OppiChat {
    /// A stop of the chat's run was sent on its own socket.
    var isBehindStop: Bool {
        guard way == .live, case .asked? = turn?.stop else { return false }
        return true
    }

    /// Sends a stop. Between two attempts the session is idle and only the wait can be cancelled. A
    /// compaction cannot be: the stop is sent when the next attempt has begun.
    mutating func writeStop(of turn: OppiTurn, _ place: OppiPlace, at now: Instant) -> [Order] {
        decoder?.stops()
        if decoder?.isBetweenAttempts == true {
            guard decoder?.retryUntil != nil, !turn.hasAbortedRetry else { return [] }
            self.turn?.hasAbortedRetry = true
            let id = requests.add(.abortRetry(turn.run), for: Self.commandLimit, at: now)
            return [.send(OppiFrames.abortRetry(place.native, id))]
        }
        self.turn?.stop = .asked(until: now + OppiTurn.stopPatience)
        self.turn?.stopTries += 1
        guard turn.stopTries < OppiTurn.stopTries else { return endSession(of: turn, place, at: now) }
        let id = requests.add(.stop(turn.run), for: Self.commandLimit, at: now)
        return [.send(OppiFrames.stop(place.native, id)), .denyAll]
    }

    /// Ends the session, the only way to end a run that ignores stops. The next
    /// message activates the session again, with its history.
    private mutating func endSession(of turn: OppiTurn, _ place: OppiPlace, at now: Instant) -> [Order] {
        let id = requests.add(.stop(turn.run), for: Self.commandLimit, at: now)
        return [
            .note("a run does not stop: its session is ended"), .send(OppiFrames.stopSession(place.native, id)),
            .denyAll,
        ]
    }

    /// The server confirmed a stop.
    mutating func stopConfirmed(_ root: FrameNode) {
        guard let turn, case .asked = turn.stop, OppiDecoder.foundIdle(root) else { return }
        guard decoder?.isBetweenAttempts == true || turn.state != .going else { return }
        // The stop came between two attempts, and is due for the next one.
        self.turn?.stop = .due
        self.turn?.hasAbortedRetry = false
    }

    mutating func retryAborted(_ run: RunID, isDone: Bool, at now: Instant) -> [Order] {
        guard let turn, turn.run == run, decoder?.retryUntil != nil else { return [] }
        guard isDone else { return [] }
        let until = now + OppiTurn.afterAbortedRetry
        decoder?.retriesUntil(until)
        self.turn?.look.due = until
        return []
    }

    /// Whether the run of a prompt that the server has, but no frame mentioned yet, may still begin.
    func mayYetBegin(_ turn: OppiTurn, at now: Instant) -> Bool {
        guard turn.state == .accepted, !turn.look.hasNewAgent else { return false }
        if decoder?.isCompacting(at: now) == true { return true }
        let written = turn.writtenAt ?? asked[turn.run]?.sentAt.map { link.epoch + .milliseconds($0) }
        let prepared = turn.preparesSince.map(link.hostTime)
        guard let since = [written, prepared].compactMap(\.self).max() else { return false }
        // A message behind another run is taken up within that, or not at all.
        let isShort = turn.isCommand || turn.waits == true
        return link.hostTime(now) - since < (isShort ? OppiTurn.shortStartPatience : OppiTurn.startPatience)
    }

    /// The agent prepares for our run.
    mutating func prepares(at now: Instant) {
        if turn?.state == .accepted { turn?.preparesSince = now }
    }

    /// Subscribes again, so that the server does not end a silent run as an idle session.
    mutating func renew(_ place: OppiPlace, at now: Instant) -> [Order] {
        turn?.agentShowsLife(at: now)
        guard let last = decoder?.lastSequence else { return [] }
        let id = requests.add(.renew, for: Self.subscribeLimit, at: now)
        return [.send(OppiFrames.subscribe(place.native, isFull: true, since: last, id))]
    }
}
