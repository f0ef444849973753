package import Vocabulary

/// The second channel to a person: a notice when a run ended, failed, is stuck, or waits for a person.
///
/// Events go in with the time, orders come out of `takeOrders()`; `nextWake` is the moment at which `timePassed` is due at the latest.
///
/// States of a notice:
/// - `held`: quiet hours. Can transition to a part of a gathering when they end, or to nothing (a person came; it was answered).
/// - `due`: kept in the journal, or about to be. Can transition to `trying` when it is kept, its moment has come and no other is tried;
///   `held` (quiet hours began); nothing (a person came; it was answered; too many wait).
/// - `trying`: the recipient has it. Can transition to `settled` (delivered; the last try failed), `due` (a try failed).
/// - `settled`: its event lasts, and gets no other notice. The entry is removed when the event ends.
///
/// Invariants:
/// - An event has one notice and one id, in this process and the next ones; no other event ever has that id. The id is made of the turn
///   and of the event, so that the same event has the same id wherever it is seen again.
/// - A notice is in the journal before it is tried. It is tried until it is delivered, four times at most; dropped notices are counted.
/// - One notice is tried at a time.
/// - No notice goes out about a chat in which a person acted within the last minute. A run that ended or failed then was seen, and gets
///   none later either; an open wait is looked at again.
/// - A wait that was answered before its minute has no notice.
/// - A notice of a sealed chat holds none of its words, neither here nor in the journal.
package struct Notices: Sendable {
    package enum Order: Hashable, Sendable {
        /// Write into the journal, synced, in place of those others. Answered by `kept` or `notKept`.
        case keep(Notice, dropping: [String])
        /// Write into the journal with the next chance.
        case note(Notice)
        case forget(String)
        /// Try now. Answered by `answered`.
        case attempt(Notice)
        case report(NoticeNews)
    }

    /// A moment by both clocks.
    package struct Time: Hashable, Sendable {
        package var instant: Instant
        package var wall: Int64

        package init(_ instant: Instant, wall: Int64) {
            self.instant = instant
            self.wall = wall
        }

        func wall(of moment: Instant) -> Int64 { wall - (instant - moment).nanoseconds / 1_000_000 }
    }

    enum Stage: Hashable {
        case held
        case due(Instant)
        case trying
        case settled
    }

    struct Entry {
        var notice: Notice
        var stage: Stage
        var isKept = false
        /// An earlier process left the notice: the first look shows whether its event lasts.
        var awaitsLook = false
        /// The moment to ask the journal again, after it could not write.
        var keepsAgainAt: Instant?
        /// Records that this one replaces.
        var replaces: [String] = []

        var isOpen: Bool { stage != .settled }
        var isUntried: Bool { isOpen && stage != .trying }
    }

    /// An open turn.
    struct Begun {
        var chat: SessionID
        var words: String?
        var isSealed: Bool
        /// The bridge answers the message itself, without a run.
        var isOwnWord: Bool
        var at: Instant
    }

    struct Wait {
        var matter: WaitingMatter
        /// The id of its notice, or nil before it has one.
        var id: String?
    }

    static let keepsAgainAfter = Duration.seconds(5)

    var settings: NoticeSettings
    var localTime: LocalTime?
    var entries: [Entry] = []
    var turns: [TurnID: Begun] = [:]
    var waits: [WaitingName: Wait] = [:]
    var acted: [SessionID: Instant] = [:]
    /// Notices that quiet hours held up go out as one. A process that begins may have missed the end of the hours.
    var gathers: Bool
    private var hasLooked = false
    var quietUntil: Instant?
    private var told = 0
    private var dropped = 0
    private var orders: [Order] = []

    package init(settings: NoticeSettings = NoticeSettings()) {
        self.settings = settings
        gathers = settings.quiet != nil
    }

    // MARK: Orders

    package mutating func takeOrders() -> [Order] {
        defer { orders = [] }
        return orders
    }

    package var isOn: Bool { settings.isOn }
    package var isIdle: Bool { entries.isEmpty && waits.isEmpty }
    package var figures: NoticeFigures {
        NoticeFigures(told: told, dropped: dropped, waiting: entries.count(where: \.isOpen))
    }

    // MARK: From the bridge

    /// Restores the journal's notices. Called before anything else but the settings.
    package mutating func restore(_ notices: [Notice], at time: Time) {
        for notice in notices where !entries.contains(where: { $0.notice.id == notice.id }) {
            let stage: Stage =
                notice.isSettled
                ? .settled : notice.isHeld ? .held : .due(max(notice.next ?? time.instant, time.instant))
            entries.append(Entry(notice: notice, stage: stage, isKept: true, awaitsLook: !hasLooked))
        }
    }

    package mutating func turnBegan(_ opening: TurnOpening, at time: Time) {
        guard isOn else { return }
        let isSealed = opening.sealing.isSealed || opening.sealedText != nil
        let words = isSealed ? nil : opening.message.flatMap { NoticeWords.chat($0.text) }
        turns[opening.id] = Begun(
            chat: opening.session, words: words, isSealed: isSealed, isOwnWord: opening.ownWord != nil,
            at: opening.receivedAt)
        guard opening.message != nil else { return }
        personActed(in: opening.session, at: opening.made?.instant ?? opening.receivedAt, time)
    }

    /// The turn has ended. Its notice is kept together with its end: neither without the other.
    package mutating func turnEnded(
        _ id: TurnID, _ outcome: TurnOutcome, isSealed: Bool, workspace: String?, at time: Time
    ) -> Notice? {
        guard let turn = turns.removeValue(forKey: id) else { return nil }
        for name in waits.keys where name.turn == id { waits[name] = nil }
        dropGone { $0.turn == id && ($0.event == .waiting || $0.event == .stuck) }
        guard let event = Self.event(outcome, turn, long: settings.long, at: time) else { return nil }
        return add(event, of: id, turn, isSealed: isSealed, workspace: workspace, at: time)
    }

    private static func event(_ outcome: TurnOutcome, _ turn: Begun, long: Duration, at time: Time) -> NoticeEvent? {
        switch outcome {
        case .answered: !turn.isOwnWord && time.instant - turn.at >= long ? .ended : nil
        case .failed, .lost: .failed
        case .neverSent: turn.isOwnWord ? nil : .failed
        // A person's own Stop, a chat that is gone, a message of another bridge.
        case .aborted, .gone, .anothers: nil
        }
    }

    /// A stuck run has one notice, however often it is reported.
    package mutating func isStuck(_ id: TurnID, isSealed: Bool, workspace: String?, at time: Time) {
        guard let turn = turns[id] else { return }
        _ = add(.stuck, of: id, turn, isSealed: isSealed, workspace: workspace, at: time)
        settle(at: time)
    }

    private mutating func add(
        _ event: NoticeEvent, of id: TurnID, _ turn: Begun, isSealed: Bool, workspace: String?, at time: Time
    ) -> Notice? {
        guard isOn, settings.events.contains(event), !isSeen(turn.chat, at: time.instant) else { return nil }
        if quietLeft(at: time.instant) != nil, !event.outlastsQuiet { return nil }
        let name = StableHash.text(of: "\(event.rawValue) \(id)")
        guard !entries.contains(where: { $0.notice.items.contains { $0.id == name } }) else { return nil }
        var item = NoticeItem(
            id: name, event: event, turn: id, chat: turn.chat,
            words: NoticeWords(workspace: workspace, chat: turn.words), isSealed: false, wall: time.wall)
        if turn.isSealed || isSealed { item.seal() }
        var notice = Notice(item)
        notice.isHeld = quietLeft(at: time.instant) != nil
        append(Entry(notice: notice, stage: notice.isHeld ? .held : .due(time.instant)))
        return notice
    }

    /// A message, a decision or a Stop of a person. `moment`: when it was made.
    package mutating func personActed(in chat: SessionID, at moment: Instant, _ time: Time) {
        guard isOn else { return }
        let moment = min(moment, time.instant)
        guard moment + settings.presence > time.instant else { return }
        for (other, last) in acted where last + settings.presence <= time.instant { acted[other] = nil }
        acted[chat] = max(acted[chat] ?? moment, moment)
        dropGone(isOpen: true) { $0.chat == chat && $0.event != .waiting }
        settle(at: time)
    }

    func isSeen(_ chat: SessionID, at now: Instant) -> Bool {
        acted[chat].map { $0 + settings.presence > now } ?? false
    }

    /// The chat has a key: from here on none of its words leaves in the open.
    package mutating func sealed(_ chat: SessionID) {
        for id in turns.keys where turns[id]?.chat == chat {
            turns[id]?.isSealed = true
            turns[id]?.words = nil
        }
        for index in entries.indices {
            var notice = entries[index].notice
            for item in notice.items.indices where notice.items[item].chat == chat { notice.items[item].seal() }
            guard notice != entries[index].notice else { continue }
            entries[index].notice = notice
            order(.note(notice))
        }
    }

    /// The chat of an open turn, or nil if the turn is closed or began while no recipient was configured.
    package func chat(of turn: TurnID) -> SessionID? { turns[turn]?.chat }
    package func notice(_ id: String) -> Notice? { entries.first { $0.notice.id == id }?.notice }

    // MARK: Open waits

    /// Everything that waits for a person now. Called at any time, and before the time itself at every alarm, so that no answered wait
    /// counts as open.
    package mutating func waiting(_ matters: [WaitingMatter], at time: Time) {
        defer { hasLooked = true }
        let present = Dictionary(matters.map { ($0.name, $0) }) { first, _ in first }
        for (name, wait) in waits where present[name]?.since != wait.matter.since { waits[name] = nil }
        for matter in matters {
            let known = waits[matter.name]
            // Waits of an earlier process are known by their names: its clock was another one.
            let id = known?.id ?? (hasLooked ? nil : restored(matter.name))
            waits[matter.name] = Wait(matter: matter, id: id)
        }
        let living = Set(waits.values.compactMap(\.id))
        // A run that was stuck may have ended with an earlier process.
        dropGone { [turns, hasLooked] item in
            item.event == .waiting
                ? !living.contains(item.id) : item.event == .stuck && !hasLooked && turns[item.turn] == nil
        }
        for index in entries.indices { entries[index].awaitsLook = false }
        settle(at: time, takes: true)
    }

    private func restored(_ name: WaitingName) -> String? {
        entries.lazy.flatMap(\.notice.items).first { $0.key == name }?.id
    }

    /// Waits whose time has come, as events.
    mutating func overdue(at time: Time) -> [NoticeItem] {
        guard settings.events.contains(.waiting) else { return [] }
        let due = waits.filter { $0.value.id == nil && ready($0.value) <= time.instant }
        return due.values.sorted { ($0.matter.since, $0.matter.name.matter) < ($1.matter.since, $1.matter.name.matter) }
            .map { wait in
                let matter = wait.matter
                let wall = time.wall(of: matter.since)
                let id = StableHash.text(of: "waiting \(matter.name.turn) \(matter.name.matter) \(wall)")
                waits[matter.name]?.id = id
                var item = NoticeItem(
                    id: id, event: .waiting, turn: matter.name.turn, matter: matter.name.matter, chat: matter.chat,
                    words: matter.words, isSealed: false, wall: wall)
                if matter.isSealed || turns[matter.name.turn]?.isSealed == true { item.seal() }
                return item
            }
    }

    func ready(_ wait: Wait) -> Instant {
        let own = wait.matter.since + settings.waiting
        return acted[wait.matter.chat].map { max(own, $0 + settings.presence) } ?? own
    }

    // MARK: From the journal and the recipient

    package mutating func kept(_ id: String, at time: Time) {
        guard let index = entries.firstIndex(where: { $0.notice.id == id }) else { return }
        entries[index].isKept = true
        entries[index].keepsAgainAt = nil
        settle(at: time)
    }

    package mutating func notKept(_ id: String, at time: Time) {
        guard let index = entries.firstIndex(where: { $0.notice.id == id && !$0.isKept }) else { return }
        entries[index].keepsAgainAt = time.instant + Self.keepsAgainAfter
    }

    package mutating func answered(_ id: String, _ answer: NoticeAnswer, at time: Time) {
        guard let index = entries.firstIndex(where: { $0.notice.id == id && $0.stage == .trying }) else { return }
        let notice = entries[index].notice
        let tries = notice.failures + 1
        switch answer {
        case .told:
            told += 1
            order(.report(.told(id: id, notice.event, tries: tries)))
            close(index)
        case .failed(let reason, let retryAfter):
            guard NoticeSettings.pauses.indices.contains(notice.failures) else {
                drop(index, tries: tries, reason)
                break
            }
            let pause = min(
                max(NoticeSettings.pauses[notice.failures], retryAfter ?? .zero), NoticeSettings.longestPause)
            entries[index].notice.failures = tries
            entries[index].notice.next = time.instant + pause
            entries[index].stage = .due(time.instant + pause)
            order(.note(entries[index].notice))
            order(.report(.failed(id: id, notice.event, reason: reason, retryIn: pause)))
            // An event that ended meanwhile needs no further try.
            dropGone { [waits, turns] in
                $0.matter != nil ? !waits.values.map(\.id).contains($0.id) : $0.event == .stuck && turns[$0.turn] == nil
            }
        }
        settle(at: time)
    }

    // MARK: Within

    mutating func order(_ order: Order) { orders.append(order) }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        order(.keep(entry.notice, dropping: entry.replaces))
        while entries.count(where: \.isOpen) > settings.limit, let oldest = entries.firstIndex(where: \.isUntried) {
            drop(oldest, tries: entries[oldest].notice.failures, "too many notices wait")
        }
    }

    mutating func drop(_ index: Int, tries: Int, _ reason: String) {
        dropped += 1
        let notice = entries[index].notice
        order(.report(.dropped(id: notice.id, notice.event, tries: tries, reason: reason)))
        close(index)
    }

    /// Closes a notice. One whose event lasts is kept, so that the event gets no second one.
    private mutating func close(_ index: Int) {
        var notice = entries[index].notice
        let living = Set(waits.values.compactMap(\.id))
        notice.items.removeAll { item in
            item.event == .stuck ? turns[item.turn] == nil : !(item.event == .waiting && living.contains(item.id))
        }
        guard !notice.items.isEmpty else {
            order(.forget(notice.id))
            entries.remove(at: index)
            return
        }
        for item in notice.items.indices { notice.items[item].words = nil }
        notice.isSettled = true
        entries[index].notice = notice
        entries[index].stage = .settled
        order(.note(notice))
    }

    /// Drops events that have ended, or that a person saw. A notice that the recipient may have stays as it is.
    mutating func dropGone(isOpen: Bool = false, _ isGone: (NoticeItem) -> Bool) {
        for index in entries.indices.reversed()
        where isOpen ? entries[index].isUntried : entries[index].stage != .trying {
            var notice = entries[index].notice
            notice.items.removeAll(where: isGone)
            guard notice.items.count < entries[index].notice.items.count else { continue }
            entries[index].notice = notice
            if notice.items.isEmpty {
                order(.forget(notice.id))
                entries.remove(at: index)
            } else {
                order(.note(notice))
            }
        }
    }
}
