import AgentKit
import Vocabulary

// The owner of a user's message within a loop (oppi.md#retries-compaction-queue).
extension OppiDecoder.Session {
    private static let unheardLimit = 16

    mutating func steers(_ message: OppiDecoder.Prompted) {
        if message.mark != .command { ours?.append(message) }
        unheard.append(message)
        if unheard.count > Self.unheardLimit { unheard.removeFirst() }
    }

    /// True if the message is ours. The agent expands a skill or a template, so a
    /// message of unknown words counts as the pending command.
    mutating func hears(_ text: String) -> Bool {
        if let index = unheard.firstIndex(where: { $0.mark != .command && $0.isSaid(by: text) }) {
            unheard.remove(at: index)
            return true
        }
        if ours?.contains(where: { $0.isSaid(by: text) }) == true { return true }
        guard let index = unheard.firstIndex(where: { $0.mark == .command }) else { return false }
        unheard.remove(at: index)
        return true
    }
}

extension OppiDecoder {
    /// Whether the message is a skill of ours that waited behind another client's run, as the agent expands it.
    func isOurCommand(_ prompted: Prompted, _ text: String, _ id: AgentSession) -> Bool {
        prompted.waits && prompted.text.hasPrefix("/skill:") && text.hasPrefix("<skill ")
            && sessions[id]?.isOurs == false
    }

    /// The last loop of this run ended while no socket was open: another attempt may follow, as after a lost socket.
    mutating func holds(
        _ run: RunID, _ text: String, steered marks: [OppiMark], _ told: OppiTold, said texts: [String],
        at now: Instant
    ) {
        guard let native = live?.native else { return }
        takeUp(run, text, steered: marks)
        knows(texts)
        live?.known = []
        let whole = texts.joined(separator: "\n\n")
        let event: RunEvent =
            told.failure.map { .failed(RunFailure(message: $0, text: whole.isEmpty ? nil : whole)) }
            ?? .finished(RunEnd())
        sessions[native]?.mayBeWithin = false
        sessions[native]?.lastError = told.failure
        sessions[native]?.held = Held(event, looksWell: told.end == .well, lacksRetry: true, at: now)
    }
}
