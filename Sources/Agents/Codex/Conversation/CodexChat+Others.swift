import JSONReading
import Vocabulary

// Other clients of the server prompt in the same thread (codex.md#one-writer-several-clients). A prompt sent during an active turn
// steers that turn, and the agent's output behind our message in it is our answer.
extension CodexChat {
    /// Run of a listed turn that another client began.
    static func run(of listed: FrameNode) -> RunID? { listed["id"]?.string.map { run(of: $0) } }

    /// Our message steers a turn of another client and is not among its items yet.
    var isTakenIn: Bool { turn?.id != nil && turn?.id == thread.turn?.id && thread.turn?.message == .others }

    mutating func reportBeginning(of id: String) -> [Order] {
        if turn?.id == id { return goesOn() }
        // The prompt's answer, or the turn's first message, says whether our prompt began this turn.
        guard turn == nil || turn?.id != nil else { return [] }
        thread.isReported()
        return [observed(.started, of: Self.run(of: id))]
    }

    mutating func goesOn() -> [Order] {
        guard let turn, turn.state != .going else { return [] }
        self.turn?.state = .going
        return [observed(.started, of: turn.run)]
    }

    /// Reads an item of the turn that is a client's message.
    mutating func message(_ params: FrameNode, at now: Instant) -> [Order] {
        guard let item = params["item"], item["type"]?.holds("userMessage") == true, let id = thread.turn?.id,
            params["turnId"]?.equals(id) == true
        else { return [] }
        let label = CodexThread.label(of: item)
        if let label { followsWaiting(label, at: now) }
        let orders = recognize(label.map { [$0] } ?? [])
        guard let turn, turn.id == id, !isTakenIn else { return orders + (isBeyondStop ? advance(at: now) : []) }
        return orders + accept() + goesOn() + advance(at: now)
    }

    /// Reads the clients' messages of the turn, in order. Our message ends the run of the client that began the turn.
    mutating func recognize(_ labels: [RunID]) -> [Order] {
        guard let id = thread.turn?.id else { return [] }
        var orders = isUsed()
        for label in labels {
            if turn?.run == label {
                // The answer to a prompt may name a turn that never begins.
                turn?.id = id
                turn?.wasAccepted = true
                orders += thread.hasOurs().map { observed($0, of: Self.run(of: id)) }
            } else if let taken = takesWords(label) {
                orders.append(taken)
            } else {
                thread.hasOthers()
            }
        }
        if isTakenIn, turn?.state == .going { turn?.state = .accepted }
        return orders
    }

    /// Records that the thread has a turn. The loss of an unused thread is not reported.
    private mutating func isUsed() -> [Order] {
        guard case .kept(var place) = home, !place.hasTurns else { return [] }
        place.hasTurns = true
        home = .kept(place)
        return [.record(place)]
    }

    /// Finds another client's newest turn, and the outcome of one followed before.
    mutating func noticeOthers(in turns: [FrameNode]) -> [Order] {
        let going = turns.first { $0["status"]?.holds("inProgress") == true }?["id"]?.string
        if thread.turn == nil, let going {
            thread.begins(turn: going, isAdopted: true)
        } else if let going, let turn, turn.id == thread.turn?.id, turn.id != going {
            // Ours has ended then, and stands on another page.
            self.turn?.watch.other = going
        } else if turn == nil, let foreign = thread.turn {
            guard let listed = turns.first(where: { $0["id"]?.equals(foreign.id) == true }) else {
                // A turn that has just begun is in no list until its message is written.
                if link.status == .active { return [] }
                let ended = endForeignTurn()
                thread.abandonTurn()
                return ended
            }
            let run = owner
            let lacksItems = CodexThread.isShort(listed)
            if listed["status"]?.holds("inProgress") != true {
                return heard(thread.caughtUp(listed, lacksItems: lacksItems), of: run)
            }
        }
        return []
    }

    /// Ends the bubble of another client's turn, whose end was lost, with the text read so far.
    func endForeignTurn() -> [Order] {
        guard let foreign = thread.turn, foreign.isReported, foreign.message != .ours, foreign.id != turn?.id else {
            return []
        }
        return [observed(.finished(RunEnd()), of: Self.run(of: foreign.id))]
    }

    /// Fails our message: the turn that it steered has ended without it.
    mutating func endLeftOut() -> [Order] {
        failTurn("Another program's turn in this chat's thread ended without this message. Please send it again.")
    }
}
