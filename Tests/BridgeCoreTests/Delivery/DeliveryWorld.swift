import BridgeCore
import Vocabulary
import Worlds

/// A `Delivery` and a `VirtualRelay` on one virtual clock.
struct DeliveryWorld {
    enum Happening {
        case act((inout DeliveryWorld) -> Void)
        case arrives(CallAttempt, RelayCall, life: Int)
        case answered(CallAttempt, RelayAnswer, life: Int)
    }

    var delivery: Delivery
    var relay = VirtualRelay()
    var random: SeededGenerator
    private(set) var now = Instant.zero
    private(set) var reports: [TurnID: [PostReport]] = [:]
    private(set) var attempts: [(at: Instant, attempt: CallAttempt)] = []
    /// Times of opens and ends from the post to the relay's answer.
    private(set) var openWaits: [Duration] = []
    private(set) var endWaits: [TurnID: Duration] = [:]
    /// Time in which some lane waited for a delta token or for the shared pace.
    private(set) var secondsOfWaitingText = 0.0
    private(set) var mostUnderWay = 0
    private var since: [TurnID: [PostName: Instant]] = [:]
    private var bodies: [IdempotencyKey: RelayCall] = [:]
    private var timeline = EventQueue<Happening>()
    private var wake: Instant?
    private var life = 0
    private let settings: DeliverySettings
    private var windows: [TurnID: Instant] = [:]

    init(seed: UInt64 = 1, settings: DeliverySettings = DeliverySettings()) {
        self.settings = settings
        delivery = Delivery(settings: settings)
        random = SeededGenerator(seed: seed)
    }

    // MARK: - Script

    mutating func at(_ time: Duration, _ body: @escaping (inout DeliveryWorld) -> Void) {
        timeline.add(.act(body), at: Instant.zero + time)
    }

    mutating func open(_ name: String, window: Duration = .seconds(1800)) {
        let turn = TurnID(name)
        windows[turn] = now + window
        delivery.openLane(
            LaneAddress(turn: turn, session: SessionID("ses-\(name)"), interaction: InteractionID(name)),
            windowEnds: now + window)
        post(.open, on: name)
    }

    mutating func post(_ post: Post, on name: String) {
        let turn = TurnID(name)
        if post == .open { since[turn, default: [:]][.open] = now }
        if case .end = post { since[turn, default: [:]][.end] = now }
        delivery.post(post, on: turn, at: now)
    }

    mutating func end(_ name: String) { post(.end(EndOfTurn(text: "end of \(name)")), on: name) }

    /// The process died. The next one has the records, and knows nothing of the relay's buckets.
    mutating func restart() {
        life += 1
        let former = delivery
        delivery = Delivery(settings: settings)
        for (turn, window) in windows.sorted(by: { $0.key < $1.key }) {
            guard let record = former.record(of: turn) else { continue }
            delivery.restoreLane(record, windowEnds: window, at: now)
        }
    }

    func reports(of name: String) -> [PostReport] { reports[TurnID(name)] ?? [] }

    // MARK: - Time

    /// Plays until nothing remains, or until the limit.
    mutating func run(until limit: Duration = .seconds(7200)) {
        drain()
        while true {
            let next = timeline.nextAt
            guard let moment = [next, wake].compactMap({ $0 }).min(), moment <= Instant.zero + limit else { return }
            pass(to: max(moment, now))
            if let next, next <= moment, let happening = timeline.takeNext() { perform(happening) }
            drain()
        }
    }

    private mutating func pass(to moment: Instant) {
        if delivery.lanesWaiting(for: .delta) > 0 { secondsOfWaitingText += (moment - now).seconds }
        now = moment
    }

    private mutating func perform(_ happening: Happening) {
        switch happening {
        case .act(let body): body(&self)
        case .arrives(let attempt, let call, let life):
            let answer = relay.answer(to: attempt, call, at: now, using: &random)
            timeline.add(.answered(attempt, answer, life: life), at: now + oneWay())
        case .answered(let attempt, let answer, let life):
            // A killed process hears no answer.
            guard life == self.life else { return }
            for report in delivery.answered(attempt.call, with: answer, at: now, using: &random) { keep(report) }
        }
    }

    private mutating func drain() {
        while true {
            switch delivery.next(at: now) {
            case .attempt(let attempt): send(attempt)
            case .report(let report): keep(report)
            case .idle(let until):
                wake = until
                return
            }
        }
    }

    private mutating func send(_ attempt: CallAttempt) {
        attempts.append((now, attempt))
        mostUnderWay = max(mostUnderWay, delivery.callsUnderWay)
        let call: RelayCall?
        switch attempt.payload {
        case .fresh(let fresh):
            if attempt.durability != nil, let key = fresh.key { bodies[key] = fresh }
            call = fresh
        case .stored(let key): call = bodies[key]
        }
        guard let call else { return }
        timeline.add(.arrives(attempt, call, life: life), at: now + oneWay())
    }

    private mutating func oneWay() -> Duration {
        .microseconds(Int64.random(in: relay.latency, using: &random))
    }

    private mutating func keep(_ report: DeliveryReport) {
        guard case .post(let turn, let report) = report else { return }
        reports[turn, default: []].append(report)
        guard case .delivered(let name, _) = report, let posted = since[turn]?[name] else { return }
        if name == .open { openWaits.append(now - posted) }
        if name == .end { endWaits[turn] = now - posted }
    }
}
