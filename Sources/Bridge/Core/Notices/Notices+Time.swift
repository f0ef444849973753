package import Vocabulary

// The moments of notices: one try after the other, and the quiet hours.
extension Notices {
    /// Takes another configuration. Without a recipient, untried notices are dropped.
    package mutating func use(_ new: NoticeSettings, at time: Time) {
        settings = new
        guard isOn else {
            for index in entries.indices.reversed() {
                if entries[index].isUntried {
                    drop(index, tries: entries[index].notice.failures, "no recipient is configured")
                }
            }
            (turns, waits, acted) = ([:], [:], [:])
            return dropGone { _ in true }
        }
        settle(at: time)
    }

    /// Takes the local time again: the clock on the wall may have been set, or another half of the year begun.
    package mutating func use(localTime: LocalTime?, at time: Time) {
        self.localTime = localTime
        settle(at: time)
    }

    package mutating func timePassed(_ matters: [WaitingMatter], at time: Time) { waiting(matters, at: time) }

    /// The moment at which `timePassed` is due, should nothing else happen.
    package var nextWake: Instant? {
        guard isOn else { return nil }
        let again = entries.compactMap(\.keepsAgainAt)
        let hasWaits = settings.events.contains(.waiting) && waits.values.contains { $0.id == nil }
        if let quietUntil {
            let isAwaited = hasWaits || entries.contains { $0.stage == .held }
            return (again + (isAwaited ? [quietUntil] : [])).min()
        }
        if entries.contains(where: { $0.stage == .held }) { return .zero }
        let ready = hasWaits ? waits.values.filter { $0.id == nil }.map(ready) : []
        let isTrying = entries.contains { $0.stage == .trying }
        return (again + ready + (isTrying ? [] : entries.compactMap(due))).min()
    }

    /// The rest of the quiet hours, or nil outside of them.
    func quietLeft(at now: Instant) -> Duration? {
        guard let quiet = settings.quiet, let second = localTime?.secondOfDay(at: now) else { return nil }
        return quiet.left(atSecondOfDay: second)
    }

    /// `takes`: the open waits are known as of this moment.
    mutating func settle(at time: Time, takes: Bool = false) {
        guard isOn else { return }
        for index in entries.indices {
            guard let again = entries[index].keepsAgainAt, again <= time.instant else { continue }
            entries[index].keepsAgainAt = nil
            order(.keep(entries[index].notice, dropping: entries[index].replaces))
        }
        let left = quietLeft(at: time.instant)
        quietUntil = left.map { time.instant + $0 }
        if left != nil { return hold() }
        if takes { release(overdue(at: time)) } else if entries.contains(where: { $0.stage == .held }) { return }
        attempt(at: time)
    }

    /// The quiet hours have begun, or last.
    private mutating func hold() {
        gathers = true
        for index in entries.indices.reversed() {
            guard case .due = entries[index].stage else { continue }
            guard entries[index].notice.items.contains(where: \.event.outlastsQuiet) else {
                drop(index, tries: entries[index].notice.failures, "quiet hours began")
                continue
            }
            entries[index].notice.items.removeAll { !$0.event.outlastsQuiet }
            entries[index].stage = .held
            entries[index].notice.isHeld = true
            order(.note(entries[index].notice))
        }
    }

    /// Releases notices that were held and new ones: as one after quiet hours, otherwise each by itself.
    private mutating func release(_ fresh: [NoticeItem]) {
        defer { gathers = false }
        let held = entries.filter { $0.stage == .held }
        let items = held.flatMap(\.notice.items) + fresh
        guard !items.isEmpty else { return }
        guard gathers, held.count + fresh.count > 1 else {
            for index in entries.indices where entries[index].stage == .held {
                entries[index].stage = .due(.zero)
                entries[index].notice.isHeld = false
            }
            for item in fresh { append(Entry(notice: Notice(item), stage: .due(.zero))) }
            return
        }
        entries.removeAll { $0.stage == .held }
        append(Entry(notice: .gathering(items), stage: .due(.zero), replaces: held.map(\.notice.id)))
    }

    private mutating func attempt(at time: Time) {
        guard !entries.contains(where: { $0.stage == .trying }) else { return }
        let next = entries.firstIndex { entry in due(entry).map { $0 <= time.instant } ?? false }
        guard let next else { return }
        entries[next].stage = .trying
        entries[next].notice.next = nil
        order(.attempt(entries[next].notice))
    }

    /// The moment at which the notice may be tried, or nil if it may not be tried for now.
    private func due(_ entry: Entry) -> Instant? {
        guard entry.isKept, !entry.awaitsLook, case .due(let moment) = entry.stage else { return nil }
        let chats = entry.notice.chats
        guard chats.count == 1, let chat = chats.first, let last = acted[chat] else { return moment }
        return max(moment, last + settings.presence)
    }
}
