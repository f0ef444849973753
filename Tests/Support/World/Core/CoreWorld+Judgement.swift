import BridgeCore
import RelayRules
import Vocabulary

/// The judge: checks the bridge from outside, by the relay's books and the commands that the agent received.
extension CoreWorld {
    mutating func violation(_ sentence: String) {
        result.violations.append("at \(now - Instant.zero): \(sentence)")
    }

    mutating func judge(_ openTurns: Int) {
        result.deltaTokensTaken = relay.tally.tokensTaken["delta"] ?? 0
        for breach in relay.breaches.prefix(5) {
            violation("breach \(breach.code) in \(breach.method): \(breach.sentence)")
        }
        if openTurns > 0 { violation("\(openTurns) turns are still open") }
        let isPrompt = plan.expectsPromptness && plan.faultRate == 0 && plan.restarts.isEmpty
        let longest = result.endWaits.max() ?? .zero
        if isPrompt, longest > .seconds(8) { violation("an end waited \(longest)") }
        if isPrompt, result.longestTextWait > .seconds(4) {
            violation("a text waited \(result.longestTextWait), longer than its share of the bucket explains")
        }
        for session in relay.sessions {
            for task in session.tasks where task.status == nil { violation("task \(task.id) was never finished") }
        }
        for (index, known) in progress.sorted(by: { $0.key < $1.key }) { judge(index, known) }
    }

    mutating func judge(_ index: Int, _ known: Progress) {
        let script = plan.messages[index].script
        let name = "message \(index) (\(script.kind))"
        let session = relay.sessions.first { $0.id == known.session }
        let answers = session?.messages.filter { $0.role == .agent && $0.interaction == known.interaction } ?? []
        guard answers.count == 1, let answer = answers.first else {
            return violation("\(name) has \(answers.count) bubbles")
        }
        guard answer.isFinal else { return violation("\(name) was never ended") }
        judgeQuestion(index, known)
        if let expected = script.finalText {
            let isLong = expected.utf8.count > 60_000
            if isLong
                ? !expected.utf8.starts(with: answer.text.utf8)
                : script.asking == nil
                    ? answer.text != expected : ownWords(of: answer.text, index) != ownWords(of: expected, index)
            {
                violation(
                    "\(name) ended with \(answer.text.suffix(60).debugDescription) instead of \(expected.suffix(60).debugDescription)"
                )
            }
        }
        if answer.text.isEmpty { violation("\(name) ended empty") }
        if script.streamsPrefix, !script.isStopped, !answer.text.utf8.starts(with: answer.streamed.utf8) {
            violation(
                "\(name) streamed what its end does not begin with: \(answer.streamed.suffix(60).debugDescription)")
        }
    }
}
