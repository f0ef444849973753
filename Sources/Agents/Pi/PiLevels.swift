import AgentKit
package import ConversationEngine
import JSONReading
package import Vocabulary

/// Thinking level of one process's model (pi.md#commands-stdin, `set_thinking_level`).
struct PiLevels: Hashable {
    fileprivate enum Step: Hashable {
        /// `get_available_thinking_levels`, which early versions lack.
        case words
        /// `get_state`, before a level is set.
        case look
        case set(String)
        /// `get_state`: pi silently takes another level if the model lacks the one that was set.
        case check(String)
    }

    /// The level that pi named last, or nil after a change of the model.
    fileprivate var current: String?
    private var hasLooked = false
    /// Levels of the model. Empty if this pi lists none.
    fileprivate var words: [String]?
    fileprivate var asked: Step?

    fileprivate var mustLook: Bool { current == nil && !hasLooked }

    mutating func isSaid(_ state: FrameNode?) {
        hasLooked = true
        current = state?["thinkingLevel"]?.string ?? current
    }

    mutating func modelChanged() { (current, hasLooked, words) = (nil, false, nil) }
}

extension PiDialect {
    package func choose(
        _ choice: LevelChoice, _ heard: Heard, _ reading: inout PiReading, _ here: Here
    ) -> ConversationEngine.Step<LevelAnswer> {
        let asked = reading.levels.asked
        reading.levels.asked = nil
        switch heard {
        case .begin, .result: break
        case .answer(let root):
            if let asked, let step = reading.levels.answered(root, to: asked, choice, here) { return step }
        case .timeIsOver where asked == .words: reading.levels.words = []
        case .timeIsOver:
            reading.levels.modelChanged()
            return .done(.unsettled(message: "pi did not answer"))
        }
        return reading.levels.next(choice, here)
    }
}

extension PiLevels {
    fileprivate mutating func next(_ choice: LevelChoice, _ here: Here) -> ConversationEngine.Step<LevelAnswer> {
        if mustLook { return ask(.look, here) }
        switch choice {
        case .unchanged: return .done(.set(before: current, instead: nil))
        case .own(nil): return .done(.refused(message: "pi does not say which level was its own"))
        case .own(let word?): return set(word, instead: nil, here)
        case .level(let level):
            guard let words else { return ask(.words, here) }
            guard !words.isEmpty else {
                return ask(.set(ThoughtWords.ladder(for: level, from: "xhigh")[0]), here)
            }
            guard let found = ThoughtWords.word(for: level, among: words) else {
                return .done(.refused(message: "its model has no levels that the bridge knows"))
            }
            return set(found.word, instead: found.isLower ? found.word : nil, here)
        }
    }

    private mutating func set(
        _ word: String, instead: String?, _ here: Here
    ) -> ConversationEngine.Step<LevelAnswer> {
        current == word ? .done(.set(before: word, instead: instead)) : ask(.set(word), here)
    }

    private mutating func ask(_ step: Step, _ here: Here) -> ConversationEngine.Step<LevelAnswer> {
        asked = step
        return switch step {
        case .words: .ask(PiFrames.levels(here.request))
        case .look, .check: .ask(PiFrames.state(here.request))
        case .set(let word): .ask(PiFrames.setLevel(word, here.request))
        }
    }

    /// Nil if the answer leads to another step.
    fileprivate mutating func answered(
        _ root: FrameNode, to step: Step, _ choice: LevelChoice, _ here: Here
    ) -> ConversationEngine.Step<LevelAnswer>? {
        let isDone = root["success"]?.flag == true
        let data = root["data"]
        switch step {
        case .words:
            words = isDone ? (data?["levels"]?.elements ?? data?.elements ?? []).compactMap(\.string) : []
            return nil
        case .look:
            isSaid(data)
            return nil
        case .set(let word):
            guard isDone else { return .done(.refused(message: root["error"]?.string ?? "no reason given")) }
            guard case .level(let level) = choice, let words, !words.isEmpty else { return ask(.check(word), here) }
            let before = current
            current = word
            let isLower = ThoughtWords.word(for: level, among: words)?.isLower == true
            return .done(.set(before: before, instead: isLower ? word : nil))
        case .check(let word):
            let before = current
            let taken = data?["thinkingLevel"]?.string ?? word
            current = taken
            guard case .level(let level) = choice, let found = ThoughtWords.word(for: level, among: [taken]) else {
                return .done(.set(before: before, instead: nil))
            }
            return .done(.set(before: before, instead: found.isLower ? taken : nil))
        }
    }
}
