import BridgeCore
import FoundationEssentials
import Sealing
import Vocabulary

/// Contents of the journal as values. A turn with an unreadable record is ended from its plain columns; a record of a newer version
/// is left to that version. `faults` reports both.
struct JournalRestoring: Sendable {
    struct Turn: Sendable {
        var record: TurnRecord
        var deltas: [StoredDelta]
        var keptAt: [IdempotencyKey: Instant]
    }

    private(set) var turns: [Turn] = []
    private(set) var unreadable: [UnreadableTurn] = []
    private(set) var openings: [TurnOpening] = []
    /// Calls that the restored turns will ask for by key.
    private(set) var storedCalls: [StoredCall] = []
    /// Started cards: a card's name is used once, also after a restart.
    private(set) var cards: [(task: TaskID, turn: TurnID)] = []
    /// Obligations of Stops that the agent has not answered.
    private(set) var owed: [(obligation: Obligation, since: Instant)] = []
    private(set) var faults: [String] = []

    private struct DeltaBody: Decodable {
        var delta: String?
        var sealed: String?

        enum CodingKeys: String, CodingKey {
            case delta = "delta"
            case sealed = "delta_ct"
        }
    }

    init(_ contents: JournalContents, clock: any Clock, sealer: TurnSealer? = nil) {
        let now = clock.now
        let wall = clock.wallMilliseconds
        let since = { (kept: Int64) in now - .milliseconds(max(0, wall.subtractingReportingOverflow(kept).partialValue))
        }
        for turn in contents.turns {
            var deltas: [StoredDelta] = []
            do {
                var record = try RecordEnvelope.turn(from: turn.record, now: now, wall: wall, sealer: sealer)
                let parts = turn.parts.prefix(max(0, record.partCount))
                try record.join(parts.map { try RecordEnvelope.part(from: $0, sealer: sealer) })
                deltas = Self.deltas(of: turn.calls, record.opening, sealer)
                let keptAt = turn.calls.map { ($0.call.key, since($0.call.wall)) }
                turns.append(
                    Turn(record: record, deltas: deltas, keptAt: Dictionary(keptAt) { first, _ in first }))
                // Keep the calls that the turn still asks for: cards that were delivered would stay in memory with their payloads.
                var asking = record
                asking.catchUp(with: deltas)
                let asked = Set(asking.unanswered)
                storedCalls += turn.calls.map(\.call).filter { asked.contains($0.key) }
            } catch let failure as JournalFailure {
                faults.append("the record of \(turn.id) is left in the journal: \(failure)")
            } catch {
                faults.append("the record of \(turn.id) cannot be read, so its bubble is ended: \(error)")
                let calls = turn.calls.compactMap { entry in
                    RecordEnvelope.name(from: entry.call.name).map {
                        UnreadableTurn.Call(
                            name: $0, key: entry.call.key, isDelivered: entry.isDelivered,
                            keptAt: since(entry.call.wall))
                    }
                }
                storedCalls += turn.calls.filter { !$0.isDelivered || $0.call.endOffset == nil }.map(\.call)
                var ended = UnreadableTurn(
                    id: turn.id, place: turn.place, calls: calls, deltas: Self.deltas(of: turn.calls, nil, nil))
                ended.isSealed =
                    RecordEnvelope.isSealed(turn.record) || turn.calls.contains { Self.isSealed($0.call.body) }
                unreadable.append(ended)
            }
        }
        for (name, value) in contents.settings {
            if let known = OwedRecord.obligation(name: name, value: value, now: now, wall: wall) { owed.append(known) }
        }
        for card in contents.cards {
            guard case .taskStarted(let task) = RecordEnvelope.name(from: card.name) else { continue }
            cards.append((task, card.turn))
        }
        for accepted in contents.accepted {
            do {
                let opening = try RecordEnvelope.opening(from: accepted.opening, now: now, wall: wall)
                openings.append(Self.opened(opening, sealer))
            } catch let failure as JournalFailure {
                faults.append("the message of \(accepted.turn) is left in the journal: \(failure)")
            } catch {
                faults.append("the message of \(accepted.turn) cannot be read, so its bubble is ended: \(error)")
                let place = TurnPlace(session: accepted.session, interaction: accepted.interaction)
                var ended = UnreadableTurn(id: accepted.turn, place: place)
                ended.isSealed = RecordEnvelope.isSealed(accepted.opening)
                unreadable.append(ended)
            }
        }
    }

    /// `opening` is that of the calls' turn, or nil if its record could not be read.
    private static func deltas(
        of calls: [JournalContents.Call], _ opening: TurnOpening?, _ sealer: TurnSealer?
    ) -> [StoredDelta] {
        calls.compactMap { entry in
            guard let end = entry.call.endOffset,
                let body = try? JSONDecoder().decode(DeltaBody.self, from: Data(entry.call.body)),
                body.delta != nil || body.sealed != nil
            else { return nil }
            var text = body.delta
            if let sealed = body.sealed, let opening, case .sealed(let key?) = opening.sealing {
                text = sealer?.text(ofDelta: sealed, in: opening.session, under: key)
            }
            return StoredDelta(key: entry.call.key, text: text, endOffset: end, isAnswered: entry.isDelivered)
        }
    }

    /// The quotation marks of this pattern cannot occur unescaped in a text.
    private static func isSealed(_ body: [UInt8]) -> Bool { String(decoding: body, as: UTF8.self).contains("_ct\":\"") }

    /// Opens an accepted message again, under the chat's current key; no answer to it has begun.
    private static func opened(_ opening: TurnOpening, _ sealer: TurnSealer?) -> TurnOpening {
        guard opening.refusal == nil, let sealed = opening.sealedText else { return opening }
        var opening = opening
        guard let read = sealer?.open(sealed, opening.session) else {
            opening.sealing = .sealed(nil)
            return opening
        }
        opening.sealing = .sealed(read.key)
        switch read.text {
        case .text(let text): opening.message?.text = text
        case .waitsForKey: opening.sealing = .sealed(nil)
        case .unreadable: opening.refusal = .unreadable
        }
        return opening
    }
}
