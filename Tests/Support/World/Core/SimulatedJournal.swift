import BridgeCore
import FoundationEssentials
import Vocabulary

/// All that outlives a process: the records of its turns as bytes, and the stored calls.
struct SimulatedJournal {
    private struct Kept {
        var record: Data?
        var parts: [Data] = []
        var bodies: [IdempotencyKey: RelayCall] = [:]
        var deltas: [StoredDelta] = []
    }

    private var turns: [TurnID: Kept] = [:]
    private var owed: [Obligation: Instant] = [:]
    private var homes: [SessionID: ChatHome] = [:]
    /// Turns in the order of their first records.
    private var order: [TurnID] = []

    mutating func keep(_ record: TurnRecord) throws {
        if turns[record.id] == nil { order.append(record.id) }
        turns[record.id, default: Kept()].record = try JSONEncoder().encode(record)
        for part in record.parts.pending {
            while turns[record.id, default: Kept()].parts.count < part.number { turns[record.id]?.parts.append(Data()) }
            turns[record.id]?.parts[part.number - 1] = try JSONEncoder().encode(part)
        }
    }

    mutating func owe(_ obligation: Obligation, since: Instant) { owed[obligation] = since }
    mutating func fulfilled(_ obligation: Obligation) { owed[obligation] = nil }
    mutating func keep(_ home: ChatHome?, of chat: SessionID) { homes[chat] = home }

    mutating func store(_ attempt: CallAttempt, _ call: RelayCall) {
        guard let key = call.key else { return }
        turns[attempt.turn]?.bodies[key] = call
        if case .text(let end) = attempt.name, case .text(let text) = call.post {
            turns[attempt.turn]?.deltas.append(
                StoredDelta(key: key, text: text, endOffset: end, isAnswered: false))
        }
    }

    mutating func answered(_ attempt: CallAttempt) {
        guard attempt.name.isText, let count = turns[attempt.turn]?.deltas.count, count > 0 else { return }
        turns[attempt.turn]?.deltas[count - 1].isAnswered = true
    }

    func body(of key: IdempotencyKey, in turn: TurnID) -> RelayCall? { turns[turn]?.bodies[key] }

    mutating func forget(_ turn: TurnID) {
        turns[turn] = nil
        order.removeAll { $0 == turn }
    }

    func restore(_ bridge: inout Bridge, at now: Instant) throws {
        for (obligation, since) in owed { bridge.restore(obligation, since: since) }
        for (chat, home) in homes { bridge.restore(home, of: chat) }
        for turn in order {
            guard let kept = turns[turn], let bytes = kept.record else { continue }
            var record = try JSONDecoder().decode(TurnRecord.self, from: bytes)
            try record.join(
                kept.parts.prefix(record.partCount).map { try JSONDecoder().decode(KeptParts.Part.self, from: $0) })
            bridge.restore(record, deltas: kept.deltas, at: now)
        }
        bridge.restored(at: now)
    }
}
