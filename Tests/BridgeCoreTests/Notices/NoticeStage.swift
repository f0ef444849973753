import Vocabulary

@testable import BridgeCore

/// The machine with a journal and a clock at hand. Orders are carried out at once, or when the test says so.
struct NoticeStage {
    static let wall: Int64 = 1_770_000_000_000

    var machine: Notices
    var now = Instant.zero
    /// Wall time minus the monotonic clock of this process, in milliseconds.
    var offset: Int64 = 0
    /// Notices in the journal, by id.
    var kept: [String: Notice] = [:]
    var attempts: [Notice] = []
    var news: [NoticeNews] = []
    var matters: [WaitingMatter] = []
    var canWrite = true

    init(_ change: (inout NoticeSettings) -> Void = { _ in }) {
        var settings = NoticeSettings()
        settings.isOn = true
        change(&settings)
        machine = Notices(settings: settings)
    }

    var time: Notices.Time {
        Notices.Time(now, wall: Self.wall + offset + (now - Instant.zero).nanoseconds / 1_000_000)
    }

    mutating func tell(_ event: (inout Notices, Notices.Time) -> Void) {
        event(&machine, time)
        while true {
            let orders = machine.takeOrders()
            if orders.isEmpty { return }
            for order in orders { perform(order) }
        }
    }

    private mutating func perform(_ order: Notices.Order) {
        switch order {
        case .keep(let notice, let replaced):
            guard canWrite else { return machine.notKept(notice.id, at: time) }
            for id in replaced { kept[id] = nil }
            kept[notice.id] = notice
            machine.kept(notice.id, at: time)
        case .note(let notice): if canWrite { kept[notice.id] = notice }
        case .forget(let id): kept[id] = nil
        case .attempt(let notice): attempts.append(notice)
        case .report(let news): self.news.append(news)
        }
    }

    // MARK: Events

    mutating func wait(_ seconds: Int64) {
        let end = now + .seconds(seconds)
        while let wake = machine.nextWake, wake <= end {
            now = max(now, wake)
            tell { [matters] machine, time in machine.timePassed(matters, at: time) }
        }
        now = end
        tell { [matters] machine, time in machine.timePassed(matters, at: time) }
    }

    static func opening(_ turn: String, chat: String = "c1", at moment: Instant, text: String? = "Fix the tests")
        -> TurnOpening
    {
        let message = text.map {
            UserMessage(id: MessageID("m\(turn)"), session: SessionID(chat), interaction: nil, text: $0)
        }
        return TurnOpening(
            id: TurnID(turn), session: SessionID(chat), interaction: nil, agentSession: AgentSession(chat),
            run: RunID("r\(turn)"), message: message, receivedAt: moment, windowEnds: moment + .seconds(1_800))
    }

    /// A run without a phone message, unless there is a text. Without one no person is present.
    mutating func begins(_ turn: String, chat: String = "c1", text: String? = nil, isSealed: Bool = false) {
        var opening = Self.opening(turn, chat: chat, at: now, text: text)
        if isSealed { opening.sealing = .sealed(nil) }
        tell { machine, time in machine.turnBegan(opening, at: time) }
    }

    @discardableResult
    mutating func ends(_ turn: String, _ outcome: TurnOutcome = .answered, isSealed: Bool = false) -> Notice? {
        var made: Notice?
        tell { machine, time in
            made = machine.turnEnded(TurnID(turn), outcome, isSealed: isSealed, workspace: "site", at: time)
        }
        if canWrite, let made { kept[made.id] = made }
        return made
    }

    mutating func asks(_ name: String, of turn: String, chat: String = "c1", isSealed: Bool = false) {
        matters.append(
            WaitingMatter(
                name: WaitingName(turn: TurnID(turn), matter: name), chat: SessionID(chat), since: now,
                words: NoticeWords(workspace: "site", chat: "Fix the tests", wants: "rm -rf build"), isSealed: isSealed)
        )
        tell { [matters] machine, time in machine.waiting(matters, at: time) }
    }

    mutating func answered(_ name: String) {
        matters.removeAll { $0.name.matter == name }
        tell { [matters] machine, time in machine.waiting(matters, at: time) }
    }

    mutating func acts(in chat: String = "c1") {
        tell { [now] machine, time in machine.personActed(in: SessionID(chat), at: now, time) }
    }

    mutating func recipient(_ answer: NoticeAnswer = .told) {
        guard let last = attempts.last else { return }
        tell { machine, time in machine.answered(last.id, answer, at: time) }
    }

    mutating func refuses() { recipient(.failed(reason: "no")) }

    /// The process dies. The next one has the journal and the turns that the bridge restored.
    mutating func restarts(
        after seconds: Int64 = 1, turns: [TurnOpening] = [], localTime: (Instant) -> LocalTime? = { _ in nil }
    ) {
        offset += (now - Instant.zero).nanoseconds / 1_000_000 + seconds * 1_000 - 77_000
        let earlier = now
        now = .at(77)
        let begins = now - .seconds(seconds)
        let age = { (moment: Instant) in begins - (earlier - moment) }
        for index in matters.indices { matters[index].since = age(matters[index].since) }
        machine = Notices(settings: machine.settings)
        let settled = kept.values.sorted { $0.id < $1.id }.map { notice in
            var notice = notice
            notice.next = notice.next.map(age)
            return notice
        }
        tell { [matters] machine, time in
            machine.restore(settled, at: time)
            machine.use(localTime: localTime(time.instant), at: time)
            for var opening in turns {
                opening.receivedAt = age(opening.receivedAt)
                machine.turnBegan(opening, at: time)
            }
            machine.waiting(matters, at: time)
        }
    }

    var told: [NoticeNews] { news.filter { if case .told = $0 { true } else { false } } }
    var events: [NoticeEvent] { attempts.map(\.event) }

    func body(_ notice: Notice) -> String {
        let sender = NoticeSender(connection: "default", agent: "codex", host: "den")
        return String(decoding: notice.body(from: sender) { "t\($0)" }, as: UTF8.self)
    }
}
