import AgentKit
import Vocabulary

// The owner of a person's message within a loop (oppi.md#retries-compaction-queue).
extension OppiDecoder.Session {
    private static let unheardLimit = 16

    mutating func steers(_ message: OppiDecoder.Prompted) {
        if message.mark != .command { ours?.append(message) }
        unheard.append(message)
        if unheard.count > Self.unheardLimit { unheard.removeFirst() }
    }

    /// True: it is one of ours. The agent writes a skill or a template out, so that the next message of unknown words is that.
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
    /// A skill of ours that waited behind the run of another client, written out by the agent.
    func isOurCommand(_ prompted: Prompted, _ text: String, _ id: AgentSession) -> Bool {
        prompted.waits && prompted.text.hasPrefix("/skill:") && text.hasPrefix("<skill ")
            && sessions[id]?.isOurs == false
    }

    /// The last loop of this run ended so while nobody listened: another attempt may follow, as after a loss of the socket.
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
