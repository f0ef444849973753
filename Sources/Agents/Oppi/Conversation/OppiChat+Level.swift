import AgentKit
import JSONReading
import Vocabulary

/// Thinking level of a chat's session (oppi.md#client--server-frames, `set_thinking_level`).
struct OppiLevel: Hashable {
    /// The level in the server's last state.
    var current: String?
    fileprivate var asking: RunID?
    fileprivate var settled: RunID?

    mutating func socketLost() { (asking, settled) = (nil, nil) }
}

extension OppiChat {
    /// Sets the level before the prompt leaves, on the same terms as its model: any answer releases the prompt.
    mutating func choose(
        _ choice: LevelChoice, for run: RunID, in place: OppiPlace, at now: Instant
    ) -> (orders: [Order], mayGo: Bool) {
        if choice == .unchanged || model.level.settled == run { return ([], true) }
        if model.level.asking != nil { return ([], false) }
        let word: String
        switch choice {
        case .unchanged: return ([], true)
        case .own(nil):
            return (settle(choice, run, .refused(message: "Oppi does not say which level was its own")), true)
        case .own(let own?): word = own
        // The server lists no levels. A model that lacks the level uses its highest one, which no frame reports.
        case .level(let wanted): word = ThoughtWords.ladder(for: wanted, from: "xhigh")[0]
        }
        if model.level.current == word { return (settle(choice, run, .set(before: word, instead: nil)), true) }
        model.level.asking = run
        let id = requests.add(.level(run, choice, word), for: Self.commandLimit, at: now)
        return ([.send(OppiFrames.setLevel(word, of: place.native, id))], false)
    }

    mutating func levelAnswered(
        _ run: RunID, _ choice: LevelChoice, _ word: String, isDone: Bool, _ error: String
    ) -> [Order] {
        guard isDone else { return settle(choice, run, .refused(message: error)) }
        let before = model.level.current
        model.level.current = word
        return settle(choice, run, .set(before: before, instead: nil))
    }

    mutating func levelUnanswered(_ run: RunID, _ choice: LevelChoice) -> [Order] {
        settle(choice, run, .unsettled(message: "Oppi did not answer"))
    }

    private mutating func settle(_ choice: LevelChoice, _ run: RunID, _ answer: LevelAnswer) -> [Order] {
        (model.level.asking, model.level.settled) = (nil, run)
        return [.observed([.levelAnswered(run, choice, answer)])]
    }

    mutating func levelIs(_ state: FrameNode?) {
        guard let place, state?["id"]?.equals(place.native) == true, let word = state?["thinkingLevel"]?.string else {
            return
        }
        model.level.current = word
    }
}
