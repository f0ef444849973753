import AgentKit
import BridgeModel
import JSONReading

/// How long the model of a chat's session thinks (oppi.md#client--server-frames, `set_thinking_level`).
struct OppiLevel: Hashable {
    /// As the server's last state has it.
    var current: String?
    fileprivate var asking: RunID?
    fileprivate var settled: RunID?
    /// What was set, until the next state says what the session's model took of it.
    fileprivate var unchecked: Unchecked?

    fileprivate struct Unchecked: Hashable {
        var run: RunID
        var level: ThoughtLevel
        var before: String?
    }

    mutating func socketLost() { (asking, settled, unchecked) = (nil, nil, nil) }
}

extension OppiChat {
    /// As for its model: the prompt leaves when the server has answered, whatever it answered.
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
        // The server lists no levels, and takes the highest one that the model has in place of a higher one.
        case .level(let wanted): word = ThoughtWords.ladder(for: wanted, from: "xhigh")[0]
        }
        if model.level.current == word { return (settle(choice, run, .set(before: word, instead: nil)), true) }
        model.level.asking = run
        let id = requests.add(.level(run, choice, word), for: Self.commandLimit, at: now)
        return ([.send(OppiFrames.setLevel(word, of: place.native, id))], false)
    }

    mutating func levelAnswered(
        _ run: RunID, _ choice: LevelChoice, _ word: String, in place: OppiPlace, isDone: Bool, _ error: String
    ) -> [Order] {
        guard isDone else { return settle(choice, run, .refused(message: error)) }
        let before = model.level.current
        model.level.current = word
        guard case .level(let wanted) = choice else { return settle(choice, run, .set(before: before, instead: nil)) }
        model.level.unchecked = OppiLevel.Unchecked(run: run, level: wanted, before: before)
        return settle(choice, run, .set(before: before, instead: nil))
            + [.send(OppiFrames.state(place.native, "\(session)-level"))]
    }

    mutating func levelUnanswered(_ run: RunID, _ choice: LevelChoice) -> [Order] {
        settle(choice, run, .unsettled(message: "Oppi did not answer"))
    }

    private mutating func settle(_ choice: LevelChoice, _ run: RunID, _ answer: LevelAnswer) -> [Order] {
        (model.level.asking, model.level.settled) = (nil, run)
        return [.observed([.levelAnswered(run, choice, answer)])]
    }

    mutating func levelIs(_ state: FrameNode?) -> [Order] {
        guard let place, state?["id"]?.equals(place.native) == true, let word = state?["thinkingLevel"]?.string else {
            return []
        }
        model.level.current = word
        guard let checked = model.level.unchecked else { return [] }
        model.level.unchecked = nil
        guard ThoughtWords.word(for: checked.level, among: [word])?.isLower == true else { return [] }
        let answer = LevelAnswer.set(before: checked.before, instead: word)
        return [.observed([.levelAnswered(checked.run, .level(checked.level), answer)])]
    }
}
