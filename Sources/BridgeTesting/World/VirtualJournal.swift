import BridgeCore
package import BridgeModel
import BridgeService

/// What one connection's journal keeps on the disk. It follows the real one's rules: a call that is kept is never replaced by
/// another body, a closed turn that is kept again is open again, a message that comes again opens its turn again.
package final class VirtualJournal: TurnJournal, @unchecked Sendable {
    private struct Turn {
        var record: [UInt8]?
        var calls: [JournalContents.Call] = []
    }

    private let disk: VirtualDisk
    private var turns: [TurnID: Turn] = [:]
    private var order: [TurnID] = []
    private var closed: Set<TurnID> = []
    private var messages: [MessageID: AcceptedMessage] = [:]
    private var accepted: [AcceptedMessage] = []
    private var stops: [(stop: JournalContents.Stop, wall: Int64)] = []
    private var settings: [String: [UInt8]] = [:]
    private var cards: [JournalContents.Card] = []
    /// The key of a call that is kept already with another body.
    package var takenKey: IdempotencyKey?

    package init(_ disk: VirtualDisk) { self.disk = disk }

    /// Nothing can be written.
    package var isFull: Bool {
        get { disk.isFull }
        set { disk.isFull = newValue }
    }
    package var fullFrom: Int? {
        get { disk.fullFrom }
        set { disk.fullFrom = newValue }
    }
    package var jobs: Int { disk.jobs }
    package var openTurns: [TurnID] { order }

    package func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        disk.write(durability) { [self] failure in
            let failure = failure ?? conflict(in: entries)
            if failure == nil { for entry in entries { apply(entry) } }
            done?(failure)
        }
    }

    package func accept(
        _ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void
    ) {
        disk.write(.synced) { [self] failure in
            if let failure { return done(.failure(failure)) }
            let isNew = messages[message.message] == nil
            if isNew {
                messages[message.message] = message
                accepted.append(message)
                closed.remove(message.turn)
            }
            done(.success(isNew ? .fresh : .known))
        }
    }

    /// A job is written whole or not at all.
    private func conflict(in entries: [JournalEntry]) -> JournalFailure? {
        for case .call(let call) in entries {
            let kept = turns[call.turn]?.calls.first { $0.call.key == call.key }?.call
            let isOther = kept.map { $0.path != call.path || $0.body != call.body } ?? false
            if call.key == takenKey || isOther { return JournalFailure(.conflict, "kept with another body") }
        }
        return nil
    }

    private func apply(_ entry: JournalEntry) {
        switch entry {
        case .turn(let turn, let record):
            closed.remove(turn)
            if turns[turn] == nil { order.append(turn) }
            turns[turn, default: Turn()].record = record
        case .call(let call): keep(call)
        case .tried(let attempt):
            guard attempt.isDelivered else { return }
            let index = turns[attempt.turn]?.calls.firstIndex { $0.call.key == attempt.key }
            if let index { turns[attempt.turn]?.calls[index].isDelivered = true }
        case .closed(let turn, _, _):
            closed.insert(turn)
            turns[turn] = nil
            order.removeAll { $0 == turn }
        case .stop(let session, let interaction, let wall):
            stops.append((.init(session: session, interaction: interaction), wall))
        case .setting(let name, let value): settings[name] = value
        case .event: break
        }
    }

    private func keep(_ call: StoredCall) {
        if case .taskStarted = RecordEnvelope.name(from: call.name) {
            cards.append(JournalContents.Card(turn: call.turn, name: call.name))
        }
        guard turns[call.turn]?.calls.contains(where: { $0.call.key == call.key }) == false else { return }
        turns[call.turn]?.calls.append(.init(call: call, isDelivered: false))
    }

    package func load() -> JournalContents {
        var contents = JournalContents()
        contents.turns = order.compactMap { id in
            turns[id].flatMap { turn in turn.record.map { .init(id: id, record: $0, calls: turn.calls) } }
        }
        contents.accepted = accepted.filter { turns[$0.turn]?.record == nil && !closed.contains($0.turn) }
            .map(\.opening)
        let oldest = disk.wallMilliseconds - 30 * 60_000
        contents.stops = stops.filter { $0.wall >= oldest }.map(\.stop)
        contents.settings = settings
        contents.cards = cards
        return contents
    }

    package func purge(before wall: Int64) {}
}
