import AgentKit
import BridgeModel

// Pictures of prompts, which are read before the prompt is written.
extension PiChat {
    /// Its prompt was not written yet.
    func isToWrite(_ run: RunID) -> Bool { errands.contains { $0.isPrompt(of: run) } }

    /// Of a prompt that was stopped meanwhile nothing is needed.
    mutating func loaded(_ loaded: FileLoads.Loaded, at now: Instant) -> [Order] {
        guard let index = errands.firstIndex(where: { $0.isPrompt(of: loaded.run) }),
            case .prompt(_, var prompt) = errands[index]
        else { return [] }
        prompt.take(loaded)
        errands[index] = .prompt(loaded.run, prompt)
        let missing: [Order] =
            loaded.missing.isEmpty ? [] : [.observed([.filesLeftOut(loaded.run, loaded.missing)])]
        return missing + advance(at: now)
    }
}
