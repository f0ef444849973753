import AgentKit
import JSONReading
import Vocabulary

// Words that a person says instead of a yes go into the turn that asked (codex.md#stop-steer-busy). The answer to `turn/steer`
// confirms that they are queued, and their item in the turn that they were taken. Codex drops queued words when the turn is
// interrupted or ends:
// they become the next prompt.
extension CodexChat {
    /// The thread has no active turn that a prompt would steer.
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

    /// Codex did not take the turn's words: they become the chat's next prompt.
    mutating func promptsWords() {
        guard var words = turn?.words else { return }
        turn?.words = nil
        words.steers = false
        errands.insert(.prompt(words), at: 0)
    }

    /// Codex may have the words although the connection is lost: the turn's items decide.
    mutating func wordsAreInDoubt(at now: Instant) {
        guard var words = turn?.words else { return }
        turn?.words = nil
        words.steers = false
        behind.insert(CodexTurn(words, .doubtful, at: now), at: 0)
    }

    /// A waiting message is in the thread's turn: Codex had queued it, and the turn continued after the bridge left it. The rest of
    /// the turn answers the message.
    mutating func followsWaiting(_ label: RunID, at now: Instant) {
        guard turn == nil, let id = thread.turn?.id else { return }
        follows(at: now) { $0 == label }
        turn?.id = id
    }

    /// Finds a waiting message in a list of turns.
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

    /// Takes a message of ours in the turn of another one, or nil if none was waiting for that.
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
