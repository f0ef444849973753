package import BridgeCore
import Links
import Locking
package import Vocabulary

/// Runner of the machine `Notices`: tells it events under its lock, and carries its orders out in order.
///
/// Lock order: this lock is taken before the bridge's, so nothing here may be called under the bridge's lock.
package final class LiveNotices: Sendable {
    package struct Parts: Sendable {
        package var settings = NoticeSettings()
        package var recipient: NoticeRecipient?
        package var agent = ""
        package var host = ""
        package var port: (any NoticePort)?
        /// Makes the alarm once there is a recipient.
        package var alarm: @Sendable () throws -> any Alarm

        package init(alarm: @escaping @Sendable () throws -> any Alarm) { self.alarm = alarm }
    }

    /// Questions to the connection.
    struct Sources: Sendable {
        var journal: any TurnJournal
        var clock: any Clock
        var matters: @Sendable () -> [WaitingMatter]
        /// True if only the chat's phones may read its words.
        var isSealed: @Sendable (SessionID) -> Bool
        var tell: @Sendable (LiveEvent) -> Void
    }

    private struct State {
        var machine: Notices
        var recipient: NoticeRecipient?
        var work: [Notices.Order] = []
        var isPerforming = false
        var isStopped = false
        var alarm: (any Alarm)?
        var wake: Instant?
    }

    private let name: ConnectionName
    private let sender: NoticeSender
    private let port: (any NoticePort)?
    private let makeAlarm: @Sendable () throws -> any Alarm
    private let sources: Sources
    private let state: Locked<State>

    init(_ parts: Parts, of name: ConnectionName, _ sources: Sources) {
        self.name = name
        sender = NoticeSender(connection: name.text, agent: parts.agent, host: parts.host)
        port = parts.port
        makeAlarm = parts.alarm
        self.sources = sources
        state = Locked(State(machine: Notices(settings: parts.settings), recipient: parts.recipient))
    }

    var isOn: Bool { state.withLock { $0.machine.isOn } }
    package var figures: NoticeFigures { state.withLock { $0.machine.figures } }

    // MARK: Events

    /// Restores the notices of an earlier process and the turns it had open, before any of them can end. `look` follows once the bridge knows
    /// what waits. Without a recipient nothing is kept.
    func restore(_ settings: [String: [UInt8]], _ openings: [TurnOpening]) {
        tell { machine, time in
            machine.restore(NoticeRecord.restored(settings, at: time), at: time)
            guard machine.isOn else { return machine.use(NoticeSettings(), at: time) }
            machine.use(localTime: sources.clock.localTime, at: time)
            for opening in openings { machine.turnBegan(opening, at: time) }
        }
    }

    /// Applies another configuration; `openings` are those of the open turns.
    func use(_ settings: NoticeSettings, _ recipient: NoticeRecipient?, _ openings: [TurnOpening]) {
        state.withLock { $0.recipient = recipient }
        tell { machine, time in
            let wasOn = machine.isOn
            machine.use(settings, at: time)
            guard machine.isOn else { return }
            if !wasOn { for opening in openings { machine.turnBegan(opening, at: time) } }
            machine.use(localTime: sources.clock.localTime, at: time)
            machine.waiting(sources.matters(), at: time)
        }
    }

    func began(_ opening: TurnOpening) { tell { machine, time in machine.turnBegan(opening, at: time) } }

    /// Entries for the job of the journal that stores the turn's end. Other orders wait for `carryOn`.
    func entries(endingWith turn: TurnID, _ outcome: TurnOutcome, _ place: (SessionID) -> String?) -> [JournalEntry] {
        guard let chat = state.withLock({ $0.machine.chat(of: turn) }) else { return [] }
        let (isSealed, workspace) = (sources.isSealed(chat), place(chat))
        return state.withLock { state in
            let time = time
            let notice = state.machine.turnEnded(
                turn, outcome, isSealed: isSealed, workspace: workspace, at: time)
            return notice.map { [NoticeRecord.entry(of: $0, at: time)] } ?? []
        }
    }

    func carryOn() { tell { _, _ in } }

    /// The run of this turn gives no sign of life.
    func isStuck(_ turn: TurnID, _ place: (SessionID) -> String?) {
        guard let chat = state.withLock({ $0.machine.chat(of: turn) }) else { return }
        let (isSealed, workspace) = (sources.isSealed(chat), place(chat))
        tell { machine, time in machine.isStuck(turn, isSealed: isSealed, workspace: workspace, at: time) }
    }

    func personActed(in chat: SessionID, at moment: Instant) {
        tell { machine, time in machine.personActed(in: chat, at: moment, time) }
    }

    /// Looks again at what waits for a person, and at what is due.
    func look() {
        guard isOn else { return }
        tell { machine, time in machine.timePassed(sources.matters(), at: time) }
    }

    func lookAtLocalTime() {
        guard isOn else { return }
        tell { machine, time in machine.use(localTime: sources.clock.localTime, at: time) }
    }

    /// Leaves a try in flight to the next process, which repeats it.
    func stop() {
        let alarm = state.withLock { state in
            state.isStopped = true
            return state.alarm
        }
        alarm?.stop()
    }

    // MARK: Orders

    private var time: Notices.Time { Notices.Time(sources.clock.now, wall: sources.clock.wallMilliseconds) }

    private func tell(_ event: (inout Notices, Notices.Time) -> Void) {
        let mayPerform = state.withLock { state in
            guard !state.isStopped else { return false }
            event(&state.machine, time)
            state.work += state.machine.takeOrders()
            guard !state.isPerforming else { return false }
            state.isPerforming = true
            return true
        }
        guard mayPerform else { return }
        while true {
            let work = state.withLock { state in
                let work = state.work
                state.work = []
                if work.isEmpty {
                    state.isPerforming = false
                    setAlarm(&state)
                }
                return work
            }
            guard !work.isEmpty else { return }
            for order in work { perform(order) }
        }
    }

    private func setAlarm(_ state: inout State) {
        let moment = state.machine.nextWake
        guard moment != state.wake, !state.isStopped else { return }
        if state.alarm == nil {
            guard moment != nil else { return }
            do { state.alarm = try makeAlarm() } catch {
                return sources.tell(.note(name, "notices have no alarm, and go out late: \(error)"))
            }
        }
        state.wake = moment
        state.alarm?.set(moment) { [weak self] in
            self?.state.withLock { $0.wake = nil }
            self?.lookAtLocalTime()
            self?.look()
        }
    }

    private func perform(_ order: Notices.Order) {
        let journal = sources.journal
        switch order {
        case .keep(let notice, let replaced):
            let entries =
                [NoticeRecord.entry(of: notice, at: time)] + replaced.map { NoticeRecord.entry(forgetting: $0) }
            journal.submit(entries, .synced) { [weak self] failure in
                self?.tell { machine, time in
                    if failure == nil {
                        machine.kept(notice.id, at: time)
                    } else {
                        machine.notKept(notice.id, at: time)
                    }
                }
            }
        case .note(let notice): journal.submit([NoticeRecord.entry(of: notice, at: time)], .written, done: nil)
        case .forget(let id): journal.submit([NoticeRecord.entry(forgetting: id)], .written, done: nil)
        case .attempt(let notice): attempt(notice)
        case .report(let news): sources.tell(.notice(name, news))
        }
    }

    /// Seals the notice first if its chat has got a key since the notice was made.
    private func attempt(_ notice: Notice) {
        let sealed = Set(notice.items.filter { !$0.isSealed }.map(\.chat)).filter(sources.isSealed)
        let (newest, recipient) = state.withLock { state in
            for chat in sealed { state.machine.sealed(chat) }
            return (state.machine.notice(notice.id) ?? notice, state.recipient)
        }
        guard let port, let recipient else {
            return tell { machine, time in
                machine.answered(notice.id, .failed(reason: "no recipient is configured"), at: time)
            }
        }
        let body = newest.body(from: sender) { ISOTime.text($0) }
        port.tell(body, to: recipient) { [weak self] answer in
            self?.tell { machine, time in machine.answered(notice.id, answer, at: time) }
        }
    }
}
