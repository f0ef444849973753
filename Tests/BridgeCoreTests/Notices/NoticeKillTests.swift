import Testing
import Vocabulary
import Worlds

@testable import BridgeCore

@Suite("Notices through kills at any moment")
struct NoticeKillTests {
    @Test("each event is delivered, under an id that is never another's", arguments: UInt64(1)...40)
    func kills(seed: UInt64) {
        var course = NoticeCourse(seed: seed)
        course.run()
        #expect(course.faults.isEmpty, "\(course.faults.prefix(4))")
        #expect(course.kills >= 50 && course.delivered.count > 10)
    }
}

/// A machine, a journal that writes job after job, a recipient that accepts a notice at the fourth try at the latest,
/// and processes that die between any two of these.
private struct NoticeCourse {
    private struct Job {
        var notices: [String: Notice?] = [:]
        var closes: TurnID?
        var keeps: String?
    }

    private struct Ask {
        var turn: TurnID
        var since: Int64
        var answeredAt: Int64?
    }

    private var machine = Notices()
    private var random: SeededGenerator
    /// Milliseconds of wall time, and the wall time at which this process's clock began.
    private var wall: Int64 = 1_770_000_000_000
    private var base: Int64 = 0
    private var journal: [String: Notice] = [:]
    private var jobs: [Job] = []
    private var open: [TurnID: Int64] = [:]
    /// Turns with an end that is not kept yet. The next process ends them, too.
    private var ending: [TurnID: TurnOutcome] = [:]
    private var closed: [TurnID: NoticeEvent] = [:]
    private var asks: [String: Ask] = [:]
    private var trying: Notice?
    private var refused: [String: Int] = [:]
    private var names = 0

    var faults: [String] = []
    var kills = 0
    /// Events whose notice the recipient accepted.
    var delivered: Set<String> = []
    private var owners: [String: String] = [:]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        base = wall - 500
        machine = Notices(settings: Self.settings)
    }

    private static var settings: NoticeSettings {
        var settings = NoticeSettings()
        settings.isOn = true
        settings.presence = .zero
        return settings
    }

    private func instant(_ wall: Int64) -> Instant { .zero + .milliseconds(wall - base) }
    private var time: Notices.Time { Notices.Time(instant(wall), wall: wall) }
    private var matters: [WaitingMatter] {
        asks.filter { $0.value.answeredAt == nil }.sorted { $0.key < $1.key }.map { name, ask in
            WaitingMatter(
                name: WaitingName(turn: ask.turn, matter: name), chat: SessionID("c"), since: instant(ask.since),
                words: NoticeWords(), isSealed: false)
        }
    }

    mutating func run() {
        while kills < 50 {
            step()
            if random.happens(0.04) { kill() }
        }
        // Nothing dies from here on, and everything owed goes out.
        let asking = Set(asks.values.filter { $0.answeredAt == nil }.map(\.turn))
        for turn in open.keys.sorted() where ending[turn] == nil && !asking.contains(turn) { ending[turn] = .failed }
        for _ in 0..<6_000 where !isAtRest { step(calm: true) }
        judge()
    }

    private var isAtRest: Bool { machine.figures.waiting == 0 && jobs.isEmpty && ending.isEmpty && trying == nil }

    private mutating func step(calm: Bool = false) {
        wall += Int64.random(in: 1...20_000, using: &random)
        tell { [matters] machine, time in machine.timePassed(matters, at: time) }
        if !jobs.isEmpty, random.happens(0.7) { write() }
        if let notice = trying, random.happens(0.6) { answer(notice) }
        if let (turn, outcome) = ending.min(by: { $0.key < $1.key }), open[turn] != nil, random.happens(0.5) {
            end(turn, outcome)
        }
        guard !calm else { return }
        if random.happens(0.15) { begin() }
        if let turn = open.keys.sorted().first(where: { ending[$0] == nil }), random.happens(0.1) {
            ending[turn] = random.pick([.answered, .failed, .lost])
        }
        if let turn = open.keys.sorted().last, random.happens(0.1) {
            names += 1
            asks["a\(names)"] = Ask(turn: turn, since: wall)
        }
        if let name = matters.first?.name.matter, random.happens(0.05) { asks[name]?.answeredAt = wall }
    }

    private mutating func begin() {
        names += 1
        let turn = TurnID("t\(names)")
        open[turn] = wall
        tell { machine, time in
            machine.turnBegan(NoticeStage.opening(turn.text, at: time.instant, text: nil), at: time)
        }
    }

    /// The end and its notice are one job. A turn whose end was not written is open again in the next process.
    private mutating func end(_ turn: TurnID, _ outcome: TurnOutcome) {
        let notice = machine.turnEnded(turn, outcome, isSealed: false, workspace: nil, at: time)
        var job = Job(closes: turn)
        if let notice { job.notices[notice.id] = .some(notice) }
        jobs.append(job)
        open[turn] = nil
        for name in asks.keys where asks[name]?.turn == turn {
            let known = asks[name]?.answeredAt
            asks[name]?.answeredAt = known ?? wall
        }
        tell { _, _ in }
    }

    private mutating func tell(_ event: (inout Notices, Notices.Time) -> Void) {
        event(&machine, time)
        for order in machine.takeOrders() {
            switch order {
            case .keep(let notice, let replaced):
                var job = Job(keeps: notice.id)
                for id in replaced { job.notices[id] = .some(nil) }
                job.notices[notice.id] = .some(notice)
                jobs.append(job)
            case .note(let notice): jobs.append(Job(notices: [notice.id: notice]))
            case .forget(let id): jobs.append(Job(notices: [id: nil]))
            case .attempt(let notice):
                if journal[notice.id] == nil { faults.append("\(notice.id) is tried, and not kept") }
                if trying != nil { faults.append("two are tried at once") }
                trying = notice
            case .report(.dropped(let id, _, _, let reason)): faults.append("\(id) was dropped: \(reason)")
            case .report: break
            }
        }
    }

    private mutating func write() {
        let job = jobs.removeFirst()
        for (id, notice) in job.notices { journal[id] = notice }
        if let turn = job.closes, let outcome = ending.removeValue(forKey: turn) {
            closed[turn] = outcome == .answered ? .ended : .failed
        }
        if let id = job.keeps { tell { machine, time in machine.kept(id, at: time) } }
    }

    private mutating func answer(_ notice: Notice) {
        trying = nil
        let arrives = refused[notice.id, default: 0] == 3 || random.happens(0.5)
        if arrives { got(notice) } else { refused[notice.id, default: 0] += 1 }
        let answer: NoticeAnswer = arrives ? .told : .failed(reason: "no")
        tell { machine, time in machine.answered(notice.id, answer, at: time) }
    }

    private mutating func got(_ notice: Notice) {
        for item in notice.items {
            let event = "\(item.event) \(item.matter ?? item.turn.text)"
            if let owner = owners.updateValue(event, forKey: item.id), owner != event {
                faults.append("\(item.id) is about \(owner) and about \(event)")
            }
            delivered.insert(event)
            guard let ask = item.matter.flatMap({ asks[$0] }) else { continue }
            if let answered = ask.answeredAt, answered - ask.since < 60_000 {
                faults.append("\(event) was answered before its minute")
            }
        }
    }

    private mutating func kill() {
        kills += 1
        // The recipient may have the notice, and its answer is lost.
        if let notice = trying, random.happens(0.5) { got(notice) }
        (trying, jobs) = (nil, [])
        for turn in ending.keys where open[turn] == nil && closed[turn] == nil { open[turn] = wall - 3_600_000 }
        wall += Int64.random(in: 0...90_000, using: &random)
        base = wall - Int64.random(in: 1...1_000_000, using: &random)
        machine = Notices(settings: Self.settings)
        let kept = journal.values.sorted { $0.id < $1.id }
        tell { [open, matters, base] machine, time in
            machine.restore(
                kept.map { notice in
                    var notice = notice
                    // A moment of another process means nothing in this one.
                    notice.next = notice.next.map { _ in time.instant + .seconds(5) }
                    return notice
                }, at: time)
            for (turn, began) in open.sorted(by: { $0.key < $1.key }) {
                let began = Instant.zero + .milliseconds(began - base)
                machine.turnBegan(NoticeStage.opening(turn.text, at: began, text: nil), at: time)
            }
            machine.waiting(matters, at: time)
        }
    }

    private mutating func judge() {
        if !isAtRest { faults.append("it never came to rest") }
        // A run that ended quickly has no notice. Only failed ones are certain.
        for (turn, event) in closed where event == .failed && !delivered.contains("failed \(turn)") {
            faults.append("\(turn) failed, and was never delivered")
        }
        for (name, ask) in asks where ask.answeredAt == nil && wall - ask.since > 61_000 {
            if !delivered.contains("waiting \(name)") { faults.append("\(name) waits, and was never delivered") }
        }
        if journal.values.contains(where: { !$0.isSettled }) { faults.append("a notice is left in the journal") }
    }
}
