import BridgeModel

/// A journal that writes after a moment, and loses with its process what it had not written by then.
final class VirtualJournal: TurnJournal, @unchecked Sendable {
    private struct Turn {
        var record: [UInt8]?
        var calls: [JournalContents.Call] = []
    }

    private let time: VirtualTime
    private var waiting: [() -> Void] = []
    private var life = 0
    /// Nothing can be written.
    var isFull = false
    /// The disk is full from this job on, counted from 1, for five seconds.
    var fullFrom: Int?
    /// The key of a call that is kept already with another body.
    var takenKey: IdempotencyKey?
    /// How many were asked for and whether or not they could be written.
    private(set) var jobs = 0

    private var turns: [TurnID: Turn] = [:]
    private var order: [TurnID] = []
    private var closed: Set<TurnID> = []
    private var messages: [MessageID: AcceptedMessage] = [:]
    private var accepted: [AcceptedMessage] = []
    private var stops: [JournalContents.Stop] = []
    private var settings: [String: [UInt8]] = [:]

    init(_ time: VirtualTime) { self.time = time }

    /// The process is gone.
    func kill() {
        life += 1
        waiting = []
    }

    /// Each job by itself, so that a process can die between any two.
    private func write(_ job: @escaping () -> Void) {
        if waiting.isEmpty { writeNext(after: .milliseconds(2)) }
        waiting.append(job)
    }

    private func writeNext(after delay: Duration) {
        let mine = life
        time.after(delay) { [self] in
            guard mine == life else { return }
            let job = waiting.removeFirst()
            if !waiting.isEmpty { writeNext(after: .microseconds(100)) }
            jobs += 1
            if jobs == fullFrom {
                isFull = true
                time.after(.seconds(5)) { [self] in isFull = false }
            }
            job()
        }
    }

    /// A job is written whole or not at all.
    private func failure(of entries: [JournalEntry]) -> JournalFailure? {
        if isFull { return JournalFailure(.full, "the disk is full") }
        let takesKey = entries.contains { if case .call(let call) = $0 { call.key == takenKey } else { false } }
        return takesKey ? JournalFailure(.conflict, "kept with another body") : nil
    }

    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        write { [self] in
            let failure = failure(of: entries)
            if failure == nil { for entry in entries { apply(entry) } }
            done?(failure)
        }
    }

    private func apply(_ entry: JournalEntry) {
        switch entry {
        case .turn(let turn, let record):
            guard !closed.contains(turn) else { return }
            if turns[turn] == nil { order.append(turn) }
            turns[turn, default: Turn()].record = record
        case .call(let call): turns[call.turn]?.calls.append(.init(call: call, isDelivered: false))
        case .tried(let attempt):
            guard attempt.isDelivered else { return }
            let index = turns[attempt.turn]?.calls.firstIndex { $0.call.key == attempt.key }
            if let index { turns[attempt.turn]?.calls[index].isDelivered = true }
        case .closed(let turn, _, _):
            closed.insert(turn)
            turns[turn] = nil
            order.removeAll { $0 == turn }
        case .stop(let session, let interaction, _): stops.append(.init(session: session, interaction: interaction))
        case .setting(let name, let value): settings[name] = value
        case .event: break
        }
    }

    func accept(
        _ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void
    ) {
        write { [self] in
            if let failure = failure(of: []) { return done(.failure(failure)) }
            let isNew = messages.updateValue(message, forKey: message.message) == nil
            if isNew { accepted.append(message) }
            done(.success(isNew ? .fresh : .known))
        }
    }

    func load() -> JournalContents {
        var contents = JournalContents()
        contents.turns = order.compactMap { id in
            turns[id].flatMap { turn in turn.record.map { .init(id: id, record: $0, calls: turn.calls) } }
        }
        contents.accepted = accepted.filter { turns[$0.turn]?.record == nil && !closed.contains($0.turn) }
            .map(\.opening)
        contents.stops = stops
        contents.settings = settings
        return contents
    }

    func purge(before wall: Int64) {}
}
