import AgentKit
import JSONReading
import Vocabulary

// What a person says instead of a yes goes into the turn that asked (codex.md#stop-steer-busy). The answer to `turn/steer` says that it is
// queued; its item in the turn confirms that it was taken. Codex drops what it has queued when the turn is interrupted or ends: then it
// is the next prompt.
extension CodexChat {
    /// The thread has no active turn, which a prompt would steer.
    var isFree: Bool { thread.turn == nil }

    mutating func steers() -> [Order]? {
        guard let place, let turn, let id = turn.id, turn.state == .going, !turn.isStopping, turn.words == nil,
            thread.turn?.id == id, thread.turn?.message == .ours,
            let index = errands.firstIndex(where: { $0.prompt?.steers == true }),
            case .prompt(let prompt) = errands[index]
        else { return nil }
        errands.remove(at: index)
        self.turn?.words = prompt
        return [.request(.steer(prompt.run), "turn/steer", CodexFrames.steer(place.thread, id, prompt))]
    }

    /// The turn ended, cannot be steered, or is another by now.
    mutating func steerRefused(_ run: RunID, at now: Instant) -> [Order] {
        guard turn?.words?.run == run else { return [] }
        promptsWords()
        return advance(at: now)
    }

    /// The turn's words were not taken, and are the chat's next prompt.
    mutating func promptsWords() {
        guard var words = turn?.words else { return }
        turn?.words = nil
        words.steers = false
        errands.insert(.prompt(words), at: 0)
    }

    /// The connection is gone, and Codex may have them: the turn's items say it.
    mutating func wordsAreInDoubt(at now: Instant) {
        guard var words = turn?.words else { return }
        turn?.words = nil
        words.steers = false
        behind.insert(CodexTurn(words, .doubtful, at: now), at: 0)
    }

    /// A message that waits for the thread's turn to end is in that turn: Codex had queued it, and the turn did not end when it was left.
    /// The rest of the turn is the answer to it.
    mutating func followsWaiting(_ label: RunID, at now: Instant) {
        guard turn == nil, let id = thread.turn?.id else { return }
        follows(at: now) { $0 == label }
        turn?.id = id
    }

    /// The same as a list says it.
    mutating func followsWaiting(in turns: [FrameNode], at now: Instant) {
        guard turn == nil, errands.contains(where: { $0.prompt != nil }) else { return }
        let labels = Set(turns.flatMap { CodexThread.labels(of: $0) })
        follows(at: now) { labels.contains($0) }
    }

    private mutating func follows(at now: Instant, _ isTaken: (RunID) -> Bool) {
        guard let index = errands.firstIndex(where: { $0.prompt.map { isTaken($0.run) } ?? false }),
            let prompt = errands.remove(at: index).prompt
        else { return }
        turn = CodexTurn(prompt, .doubtful, at: now)
    }

    /// A message of ours is in the turn of another one. Nil: none that was to be.
    mutating func takesWords(_ label: RunID) -> Order? {
        guard let turn, turn.run != label, turn.id == thread.turn?.id, thread.turn?.message == .ours,
            turn.words?.run == label || isBehind(label) || isWaiting(label)
        else { return nil }
        self.turn?.words = turn.words?.run == label ? nil : turn.words
        behind.removeAll { $0.run == label }
        errands.removeAll { $0.prompt?.run == label }
        return .observed([.sendAnswered(asked: label, .accepted(run: turn.run))])
    }
}
