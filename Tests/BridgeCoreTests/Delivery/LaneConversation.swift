import BridgeCore
import Vocabulary
import Worlds

/// One lane, driven by hand: posts in, calls out, answers in.
struct LaneConversation {
    static let turn = TurnID("int_1")
    static let bubble = MessageID("msg_1")

    var delivery: Delivery
    var now: Instant
    var random = SeededGenerator(seed: 1)

    init(
        window: Duration = .seconds(1800), settings: DeliverySettings = DeliverySettings(),
        sealing: TurnSealing = .open, at now: Instant = Instant(nanoseconds: 1_000_000_000_000)
    ) {
        self.now = now
        delivery = Delivery(settings: settings)
        var address = Self.address
        address.sealing = sealing
        delivery.openLane(address, windowEnds: now + window)
    }

    /// A lane restored from the journal.
    init(restoring record: LaneRecord) {
        now = Instant(nanoseconds: 1_000_000_000_000)
        delivery = Delivery()
        delivery.restoreLane(record, windowEnds: now + .seconds(1800), at: now)
    }

    static var address: LaneAddress {
        LaneAddress(turn: turn, session: SessionID("ses_1"), interaction: InteractionID("int_1"))
    }

    /// A lane with an open bubble and full buckets.
    static func opened(
        window: Duration = .seconds(1800), settings: DeliverySettings = DeliverySettings()
    ) -> LaneConversation {
        var lane = LaneConversation(window: window, settings: settings)
        lane.post(.open)
        _ = lane.deliver()
        return lane
    }

    mutating func post(_ post: Post) { delivery.post(post, on: Self.turn, at: now) }

    mutating func wait(_ duration: Duration) { now = now + duration }

    mutating func step() -> DeliveryStep { delivery.next(at: now) }

    /// The next call, after as long a wait as the lane requests, or nil if the lane only waits for answers.
    mutating func call() -> CallAttempt? {
        for _ in 0..<100 {
            switch step() {
            case .attempt(let attempt): return attempt
            case .report: continue
            case .idle(let until):
                guard let until else { return nil }
                now = max(now, until)
            }
        }
        return nil
    }

    /// False if nothing remains to send.
    mutating func takeNext(_ attempt: inout CallAttempt) -> Bool {
        guard let next = call() else { return false }
        attempt = next
        return true
    }

    struct NothingToSend: Error {}

    mutating func nextCall() throws -> CallAttempt {
        guard let attempt = call() else { throw NothingToSend() }
        return attempt
    }

    mutating func deliverNext() throws -> CallAttempt {
        let attempt = try nextCall()
        deliver(attempt)
        return attempt
    }

    @discardableResult
    mutating func answer(_ attempt: CallAttempt, _ outcome: RelayAnswer.Outcome, bucket: RelayBucket? = nil)
        -> [PostReport]
    {
        let named = bucket ?? attempt.name.kind.bucket
        let figures = BucketFigures.ofSheet(named)
        let rate = RateReading(bucket: named, limit: figures.capacity, remaining: figures.capacity - 1)
        return told(delivery.answered(attempt.call, with: RelayAnswer(outcome, rate: rate), at: now, using: &random))
    }

    @discardableResult
    mutating func deliver(_ attempt: CallAttempt) -> [PostReport] {
        answer(attempt, .delivered(RelayReceipt(message: attempt.name == .open ? Self.bubble : nil)))
    }

    /// Takes the next call and delivers it.
    @discardableResult
    mutating func deliver() -> CallAttempt? {
        guard let attempt = call() else { return nil }
        deliver(attempt)
        return attempt
    }

    @discardableResult
    mutating func refuse(_ attempt: CallAttempt, _ status: Int, _ code: RelayErrorCode, after: Duration? = nil)
        -> [PostReport]
    {
        answer(attempt, .refused(RelayRefusal(status: status, code: code, retryAfter: after)))
    }

    @discardableResult
    mutating func lose(_ attempt: CallAttempt) -> [PostReport] { answer(attempt, .unknown(reason: "reset")) }

    private func told(_ reports: [DeliveryReport]) -> [PostReport] {
        reports.compactMap { if case .post(_, let report) = $0 { report } else { nil } }
    }
}

extension CallAttempt {
    /// The call's key, fresh or stored.
    var key: String? {
        switch payload {
        case .fresh(let call): call.key?.text
        case .stored(let key): key.text
        }
    }

    var delta: String? {
        if case .text(let text) = post { text } else { nil }
    }

    var post: Post? { if case .fresh(let call) = payload { call.post } else { nil } }
    var interaction: InteractionID? { if case .fresh(let call) = payload { call.interaction } else { nil } }
}

extension Post {
    static func ending(_ text: String = "whole", form: Int = 1) -> Post { .end(EndOfTurn(text: text, form: form)) }

    static func card(_ id: String) -> Post {
        .approval(
            ApprovalCard(
                approval: ApprovalID(id), action: "shell.exec", title: "Run", message: "Run it?", severity: .medium))
    }

    static func start(_ id: String) -> Post { .taskStarted(TaskStart(task: TaskID(id), kind: "exec")) }

    static func progress(_ id: String, _ percent: Int, label: String? = nil) -> Post {
        .taskProgress(TaskProgress(task: TaskID(id), label: label, percent: percent))
    }

    static func finish(_ id: String) -> Post { .taskEnded(TaskEnd(task: TaskID(id), status: .completed)) }

    static func late(_ text: String = "late") -> Post { .message(WholeMessage(part: .late, text: text)) }
}
