import AgentKit
import JSONReading
import Vocabulary

/// How long the model of the process that runs thinks (pi.md#commands-stdin, `set_thinking_level`).
struct PiLevels: Hashable {
    enum Step: Hashable {
        /// `get_available_thinking_levels`, which early versions do not have.
        case words
        /// `get_state`, before a level is set.
        case look
        case set(String)
        /// `get_state`: pi takes another level without a word where the model lacks the one that was set.
        case check(String)
    }

    /// As pi said last; nil: not said since the model was changed.
    var current: String?
    private var hasLooked = false
    /// Those of its model; empty: this pi lists none.
    fileprivate var words: [String]?
    fileprivate var asking: RunID?
    fileprivate var settled: RunID?
    fileprivate var deaths = 0

    fileprivate var mustLook: Bool { current == nil && !hasLooked }

    mutating func isSaid(_ state: FrameNode?) {
        hasLooked = true
        current = state?["thinkingLevel"]?.string ?? current
    }

    mutating func modelChanged() { (current, hasLooked, words) = (nil, false, nil) }

    /// Another process has its own. The prompt for which none is asked again, because two ended over it.
    fileprivate mutating func processEnded() -> RunID? {
        let asked = asking
        let deaths = asked == nil ? 0 : self.deaths + 1
        self = PiLevels()
        self.deaths = deaths
        guard let asked, deaths >= 2 else { return nil }
        (settled, self.deaths) = (asked, 0)
        return asked
    }
}

extension PiChat {
    /// As for its model: the prompt leaves when pi has answered, whatever it answered.
    mutating func choose(_ choice: LevelChoice, for run: RunID, at now: Instant) -> (orders: [Order], mayGo: Bool) {
        if choice == .unchanged || home.levels.settled == run { return ([], true) }
        if home.levels.asking != nil { return ([], false) }
        if home.levels.mustLook { return (ask(.look, choice, run, at: now), false) }
        switch choice {
        case .unchanged: return ([], true)
        case .own(nil):
            return (settle(choice, run, .refused(message: "pi does not say which level was its own")), true)
        case .own(let word?): return set(word, choice, run, instead: nil, at: now)
        case .level(let level):
            guard let words = home.levels.words else { return (ask(.words, choice, run, at: now), false) }
            guard !words.isEmpty else {
                return (ask(.set(ThoughtWords.ladder(for: level, from: "xhigh")[0]), choice, run, at: now), false)
            }
            guard let found = ThoughtWords.word(for: level, among: words) else {
                return (settle(choice, run, .refused(message: "its model has no levels that the bridge knows")), true)
            }
            return set(found.word, choice, run, instead: found.isLower ? found.word : nil, at: now)
        }
    }

    private mutating func set(
        _ word: String, _ choice: LevelChoice, _ run: RunID, instead: String?, at now: Instant
    ) -> (orders: [Order], mayGo: Bool) {
        guard home.levels.current != word else {
            return (settle(choice, run, .set(before: word, instead: instead)), true)
        }
        return (ask(.set(word), choice, run, at: now), false)
    }

    private mutating func ask(_ step: PiLevels.Step, _ choice: LevelChoice, _ run: RunID, at now: Instant) -> [Order] {
        home.levels.asking = run
        let id = requests.add(.level(run, choice, step), for: Self.answerLimit, at: now)
        switch step {
        case .words: return [.write(PiFrames.levels(id))]
        case .look, .check: return [.write(PiFrames.state(id))]
        case .set(let word): return [.write(PiFrames.setLevel(word, id))]
        }
    }

    mutating func levelAnswered(
        _ root: FrameNode, _ run: RunID, _ choice: LevelChoice, _ step: PiLevels.Step, at now: Instant
    ) -> [Order] {
        home.levels.asking = nil
        let isDone = root["success"]?.flag == true
        let data = root["data"]
        switch step {
        case .words:
            home.levels.words = isDone ? (data?["levels"]?.elements ?? data?.elements ?? []).compactMap(\.string) : []
            return []
        case .look:
            home.levels.isSaid(data)
            return []
        case .set(let word):
            guard isDone else {
                return settle(choice, run, .refused(message: root["error"]?.string ?? "no reason given"))
            }
            guard case .level(let level) = choice, let words = home.levels.words, !words.isEmpty else {
                return ask(.check(word), choice, run, at: now)
            }
            let before = home.levels.current
            home.levels.current = word
            let isLower = ThoughtWords.word(for: level, among: words)?.isLower == true
            return settle(choice, run, .set(before: before, instead: isLower ? word : nil))
        case .check(let word):
            let before = home.levels.current
            let taken = data?["thinkingLevel"]?.string ?? word
            home.levels.current = taken
            guard case .level(let level) = choice, let found = ThoughtWords.word(for: level, among: [taken]) else {
                return settle(choice, run, .set(before: before, instead: nil))
            }
            return settle(choice, run, .set(before: before, instead: found.isLower ? taken : nil))
        }
    }

    mutating func levelUnanswered(_ run: RunID, _ choice: LevelChoice, _ step: PiLevels.Step) -> [Order] {
        home.levels.asking = nil
        if step == .words {
            home.levels.words = []
            return []
        }
        home.levels.modelChanged()
        return settle(choice, run, .unsettled(message: "pi did not answer"))
    }

    private mutating func settle(_ choice: LevelChoice, _ run: RunID, _ answer: LevelAnswer) -> [Order] {
        (home.levels.asking, home.levels.settled, home.levels.deaths) = (nil, run, 0)
        return [.observed([.levelAnswered(run, choice, answer)])]
    }

    mutating func levelOfEndedProcess() -> [Order] {
        guard let run = home.levels.processEnded() else { return [] }
        let choice = errands.lazy.compactMap { errand -> LevelChoice? in
            guard case .prompt(run, let prompt) = errand else { return nil }
            return prompt.level
        }.first
        guard let choice else { return [] }
        return [.observed([.levelAnswered(run, choice, .refused(message: "pi ended when it was asked for it"))])]
    }
}
