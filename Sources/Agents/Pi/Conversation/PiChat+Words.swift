import AgentKit
import Vocabulary

// What a person says instead of a yes goes into the run that asked. pi says that it queued it; that it was taken is said by its message in
// the run. A message that the run has not taken would be in front of the next prompt, so its process ends first (pi.md#steering-and-queueing).
extension PiChat {
    /// Nil: it waits as any prompt does.
    mutating func steer(_ run: RunID, _ prompt: PicturePrompt, at now: Instant) -> [Order]? {
        guard prompt.steers, prompt.isReady, !prompt.text.hasPrefix("/"), turn?.state == .going, words == nil,
            !decoder.isCompacting
        else { return nil }
        words = Words(run: run, prompt: prompt)
        decoder.steers(run, prompt.frameText)
        let id = requests.add(.words(run), for: Self.answerLimit, at: now)
        return [.write(PiFrames.steer(prompt, id))]
    }

    /// The run has ended without it, or could not take it.
    mutating func promptsWords() {
        guard var left = words else { return }
        words = nil
        decoder.steers(nil, "")
        left.prompt.steers = false
        errands.insert(.prompt(left.run, left.prompt), at: 0)
    }

    mutating func wordsAnswered(_ run: RunID, isTaken: Bool) -> [Order] {
        // Nothing of it is queued.
        if !isTaken, words?.run == run { promptsWords() }
        return []
    }

    mutating func dropWords(of run: RunID) -> [Order]? {
        guard words?.run == run else { return nil }
        words = nil
        decoder.steers(nil, "")
        asked[run] = nil
        leavesQueue = true
        return [.observed([.abortAnswered(run)])]
    }
}
