import AgentKit
import Vocabulary

// Pictures of prompts, which are read before the prompt is written.
extension PiChat {
    /// Its prompt was not written yet.
    func isToWrite(_ run: RunID) -> Bool { errands.contains { $0.isPrompt(of: run) } }

    /// Of a prompt that was stopped meanwhile nothing is needed.
    mutating func loaded(_ loaded: FileLoads.Loaded, at now: Instant) -> [Order] {
        guard let index = errands.firstIndex(where: { $0.isPrompt(of: loaded.run) }),
            case .prompt(_, var prompt) = errands[index]
        else { return [] }
        let leftOut = prompt.take(loaded)
        errands[index] = .prompt(loaded.run, prompt)
        let said: [Order] = leftOut.isEmpty ? [] : [.observed([.filesLeftOut(loaded.run, leftOut)])]
        return said + (prompt.isNothing ? leavesOut(loaded.run, PicturePrompt.nothingLeft, at: now) : advance(at: now))
    }

    /// Its files are not to be had, so that it is not written.
    mutating func leavesOut(_ run: RunID, _ answer: SendAnswer, at now: Instant) -> [Order] {
        guard isToWrite(run) else { return [] }
        errands.removeAll { $0.isPrompt(of: run) }
        asked[run] = nil
        return [.observed([.sendAnswered(asked: run, answer)])] + advance(at: now)
    }
}
