import BridgeCore
import BridgeModel
import FoundationEssentials

/// What the journal holds, as values again. What cannot be read is left where it is, and said.
struct JournalRestoring: Sendable {
    struct Turn: Sendable {
        var record: TurnRecord
        var deltas: [StoredDelta]
    }

    private(set) var turns: [Turn] = []
    private(set) var openings: [TurnOpening] = []
    /// By the keys that the restored turns will ask for.
    private(set) var storedCalls: [StoredCall] = []
    /// A card's name is used once, also after a restart.
    private(set) var cards: [(task: TaskID, turn: TurnID)] = []
    private(set) var faults: [String] = []

    private struct DeltaBody: Decodable { var delta: String }

    init(_ contents: JournalContents, clock: any Clock) {
        let now = clock.now
        let wall = clock.wallMilliseconds
        for turn in contents.turns {
            do {
                let record = try RecordEnvelope.turn(from: turn.record, now: now, wall: wall)
                turns.append(Turn(record: record, deltas: Self.deltas(of: turn.calls)))
                storedCalls += turn.calls.filter { !$0.isDelivered || $0.call.endOffset == nil }.map(\.call)
            } catch {
                faults.append("the record of \(turn.id) cannot be read, and is left in the journal: \(error)")
            }
        }
        for card in contents.cards {
            guard case .taskStarted(let task) = RecordEnvelope.name(from: card.name) else { continue }
            cards.append((task, card.turn))
        }
        for bytes in contents.accepted {
            do {
                openings.append(try RecordEnvelope.opening(from: bytes, now: now, wall: wall))
            } catch {
                faults.append("an accepted message cannot be read, and is left in the journal: \(error)")
            }
        }
    }

    private static func deltas(of calls: [JournalContents.Call]) -> [StoredDelta] {
        calls.compactMap { entry in
            guard let end = entry.call.endOffset,
                let body = try? JSONDecoder().decode(DeltaBody.self, from: Data(entry.call.body))
            else { return nil }
            return StoredDelta(key: entry.call.key, text: body.delta, endOffset: end, isAnswered: entry.isDelivered)
        }
    }
}
