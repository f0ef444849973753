import BridgeCore
import BridgeService
package import Vocabulary

/// One connection's journal on the disk, under the rules of the real one: a kept call never gets another body, a
/// closed turn that is kept again is open again, and a turn has one message.
package final class VirtualJournal: TurnJournal, @unchecked Sendable {
    private struct Turn {
        var record: [UInt8]?
        var place: TurnPlace?
        var parts: [[UInt8]] = []
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
    private var marks: [String: [UInt8]] = [:]
    private var cards: [JournalContents.Card] = []
    /// Called with the entries of each written job.
    package var wrote: (([JournalEntry]) -> Void)?
    /// Key that counts as already kept with another body.
    package var takenKey: IdempotencyKey?

    private var deferred: [(life: Int, entries: [JournalEntry])] = []

    package init(_ disk: VirtualDisk) { self.disk = disk }

    /// Every job fails.
    package var isFull: Bool {
        get { disk.isFull }
        set { disk.isFull = newValue }
    }
    package var fullFrom: Int? {
        get { disk.fullFrom }
        set { disk.fullFrom = newValue }
    }
    package var jobs: Int { disk.jobs }
    package var openTurns: [TurnID] {
        order + accepted.filter { turns[$0.turn] == nil && !closed.contains($0.turn) }.map(\.turn)
    }
    /// Whether the message would survive a power cut.
    package func holds(_ message: MessageID) -> Bool { messages[message] != nil }

    /// Whether a setting besides the installation's name and notices remains: an abort, a refusal, a chat.
    package var owes: Bool { settings.keys.contains { $0 != "installation" && !$0.hasPrefix("notice:") } }

    /// Notices stored, by id.
    package var notices: [String: [UInt8]] {
        let names = settings.filter { $0.key.hasPrefix("notice:") }
        return Dictionary(uniqueKeysWithValues: names.map { (String($0.key.dropFirst(7)), $0.value) })
    }

    package func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        disk.write(durability) { [self] failure in
            if failure == nil { applyDeferred() }
            let failure = failure ?? conflict(in: entries)
            if failure == nil { for entry in entries { apply(entry) } }
            if failure == nil { wrote?(entries) }
            guard let done else { return failure.map { deferIfTransient(entries, $0) } ?? () }
            done(failure)
        }
    }

    /// The journal retries a job without a completion before later jobs. Its process takes it along.
    private func deferIfTransient(_ entries: [JournalEntry], _ failure: JournalFailure) {
        guard failure.code != .conflict, !entries.isEmpty else { return }
        deferred.removeAll { $0.life != disk.life }
        deferred.append((disk.life, entries))
        if deferred.count == 1 { tryAgain(after: .seconds(1)) }
    }

    private func tryAgain(after delay: Duration) {
        let mine = disk.life
        disk.after(delay) { [self] in
            guard mine == disk.life, !deferred.isEmpty else { return }
            disk.write(.written) { [self] failure in
                if failure == nil { applyDeferred() } else { tryAgain(after: min(delay * 2, .seconds(30))) }
            }
        }
    }

    private func applyDeferred() {
        let entries = deferred
        deferred = []
        for (life, entries) in entries where life == disk.life { for entry in entries { apply(entry) } }
    }

    package func accept(
        _ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void
    ) {
        var done = done
        if EdgeFaults.acknowledgesEarly, message.markSetting == nil, messages[message.message] == nil,
            !messages.values.contains(where: { $0.turn == message.turn })
        {
            done(.success(.fresh))
            done = { _ in }
        }
        disk.write(.synced) { [self, done] failure in
            if let failure { return done(.failure(failure)) }
            applyDeferred()
            let isNew = messages[message.message] == nil
            if isNew, messages.values.contains(where: { $0.turn == message.turn }) {
                return done(.success(EdgeFaults.losesSecondMessages ? .known : .turnIsTaken))
            }
            if isNew, let mark = message.markSetting {
                if let kept = marks[mark.name], message.isReplayed(kept, since: .min) {
                    return done(.success(.replayed))
                }
                marks[mark.name] = mark.value
            }
            if isNew {
                messages[message.message] = message
                accepted.append(message)
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
        case .turn(let turn, let record, let place):
            closed.remove(turn)
            if turns[turn] == nil { order.append(turn) }
            turns[turn, default: Turn()].record = record
            turns[turn]?.place = place
        case .part(let turn, let number, let content):
            if turns[turn] == nil { order.append(turn) }
            while turns[turn, default: Turn()].parts.count < number { turns[turn]?.parts.append([]) }
            turns[turn]?.parts[number - 1] = content
        case .call(let call): keep(call)
        case .tried(let attempt):
            guard attempt.isDelivered else { return }
            let index = turns[attempt.turn]?.calls.firstIndex { $0.call.key == attempt.key }
            if let index { turns[attempt.turn]?.calls[index].isDelivered = true }
        case .closed(let turn, _, _):
            closed.insert(turn)
            turns[turn] = nil
            order.removeAll { $0 == turn }
        case .stop(let session, let interaction, let wall, let made, let reach):
            stops.append((.init(session: session, interaction: interaction, made: made, reach: reach), wall))
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
            turns[id].flatMap { turn in
                turn.record.map { record in
                    let record = CoreFaults.kept(EdgeFaults.kept(record))
                    var open = JournalContents.OpenTurn(id: id, record: record, calls: turn.calls, place: turn.place)
                    open.parts = turn.parts
                    return open
                }
            }
        }
        contents.accepted = accepted.filter { turns[$0.turn]?.record == nil && !closed.contains($0.turn) }
            .map {
                .init(turn: $0.turn, opening: $0.opening, session: $0.session, interaction: $0.interaction)
            }
        let oldest = disk.wallMilliseconds - 30 * 60_000
        let unbegun = Set(contents.accepted.map(\.turn.text))
        contents.stops = stops.filter { $0.wall >= oldest || unbegun.contains($0.stop.interaction.text) }.map(\.stop)
        contents.settings = settings.filter { !EdgeFaults.forgets($0.key) }
        contents.cards = cards
        return contents
    }

    package func purge(before wall: Int64) {}

    /// Corrupts the stored records.
    package func spoil(openings: Bool) {
        for id in turns.keys where turns[id]?.record != nil { turns[id]?.record = Array("{\"version\":2".utf8) }
        guard openings else { return }
        for index in accepted.indices { accepted[index].opening = [] }
    }
}
