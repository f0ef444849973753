import AgentKit
import Recording
import Vocabulary

/// The decoders of a recording: one for all of it, or one for each of its streams.
struct StreamDecoders {
    private let agent: any AgentPlugin
    private let areMany: Bool
    /// Decoder of the last frame: most frames follow another of their own stream.
    private var current: any AgentDecoder
    private var stream = 1
    private var others: [Int: any AgentDecoder] = [:]

    init(_ agent: any AgentPlugin) {
        self.agent = agent
        let first = agent.decoder(ofStream: stream)
        areMany = first != nil
        current = first ?? agent.decoder()
    }

    private var all: [any AgentDecoder] { [current] + others.keys.sorted().compactMap { others[$0] } }

    /// Unknown frames of all decoders.
    var unknown: UnknownTally {
        all.reduce(into: UnknownTally()) { sum, decoder in sum.add(decoder.unknown) }
    }

    mutating func observe(_ entry: RecordedEntry, at now: Instant) -> [Observation] {
        if areMany, entry.stream != stream { change(to: entry.stream) }
        return entry.direction == .incoming
            ? current.received(entry.frame, capacity: entry.capacity, at: now)
            : current.sent(entry.frame, capacity: entry.capacity, at: now)
    }

    private mutating func change(to other: Int) {
        others[stream] = current
        stream = other
        current = others.removeValue(forKey: other) ?? agent.decoder(ofStream: other) ?? agent.decoder()
    }

    var nextDeadline: Instant? {
        others.isEmpty ? current.nextDeadline : all.compactMap(\.nextDeadline).min()
    }

    mutating func deadlineHit(at now: Instant) -> [Observation] {
        var observations = current.deadlineHit(at: now)
        for other in others.keys.sorted() { observations += others[other]?.deadlineHit(at: now) ?? [] }
        return observations
    }
}
