import Vocabulary

/// The slots of the turns' lanes.
///
/// Invariants: a turn has one slot at most, and a slot one turn; a slot that is left is given again before a new one is.
struct LaneSlots: Sendable {
    private var ofTurn: [TurnID: Int] = [:]
    private var free: [Int] = []
    private var given = 0

    var count: Int { ofTurn.count }

    subscript(turn: TurnID) -> Int? { ofTurn[turn] }

    /// Nil if the turn has a slot already. A new slot is the next one behind all others.
    mutating func take(for turn: TurnID) -> Int? {
        guard ofTurn[turn] == nil else { return nil }
        let slot: Int
        if let left = free.popLast() {
            slot = left
        } else {
            slot = given
            given += 1
        }
        ofTurn[turn] = slot
        return slot
    }

    mutating func leave(_ turn: TurnID) {
        if let slot = ofTurn.removeValue(forKey: turn) { free.append(slot) }
    }
}

/// The state of the token of outgoing calls.
///
/// Invariant: a call counts as sent with an earlier token until its first answer.
struct DeliveryToken: Sendable {
    /// The code that stopped all sending, or nil while calls may leave.
    private(set) var stopped: RelayErrorCode?
    /// A refusal of the token is final now: no call is kept for another token.
    private var isLeaving = false
    /// Slots of calls under way that left with an earlier token.
    private var withOldToken: Set<Int> = []

    mutating func refused(_ code: RelayErrorCode) { stopped = code }

    /// The first reason to stop wins.
    mutating func stop(_ code: RelayErrorCode) { stopped = stopped ?? code }

    mutating func resume(leaving: Bool, underWay: Set<Int>) {
        stopped = nil
        isLeaving = leaving
        if !leaving { withOldToken = underWay }
    }

    /// Whether the call that comes back left with an earlier token.
    mutating func comesBack(from slot: Int) -> Bool { withOldToken.remove(slot) != nil }

    /// Judges an answer that refuses the token. A refusal of an earlier token says nothing of the present one.
    func meaning(of decision: RetryDecision, hadOldToken: Bool, isAbandoned: Bool) -> RetryDecision {
        if isLeaving || hadOldToken && isAbandoned { return .deadLetter }
        return hadOldToken ? .retry(after: .zero) : decision
    }
}

/// The calls under way, and the numbers that calls and turns get.
///
/// Invariants: no more calls are under way than `settings.connections`, and those that do not draw from `msg` leave `settings.reserved` of
/// them free; numbers only rise.
struct DeliveryTraffic: Sendable {
    private(set) var underWay = 0
    private var ordinary = 0
    private var calls: UInt64 = 0
    private var turns: UInt64 = 0

    func hasConnection(for bucket: RelayBucket, _ settings: DeliverySettings) -> Bool {
        guard underWay < settings.connections else { return false }
        return bucket == .msg || ordinary < settings.connections - settings.reserved
    }

    /// Counts the call as under way, and returns the number of its lane's turn.
    mutating func leaves(_ bucket: RelayBucket) -> UInt64 {
        underWay += 1
        if bucket != .msg { ordinary += 1 }
        turns += 1
        return turns
    }

    mutating func comesBack(_ bucket: RelayBucket) {
        underWay -= 1
        if bucket != .msg { ordinary -= 1 }
    }

    /// The id of a new call. A call that is tried again keeps the id that it has.
    mutating func call(from slot: Int, isNew: Bool) -> CallID {
        if isNew { calls += 1 }
        return CallID(number: calls, slot: slot)
    }

}

/// Rates of calls: a bucket for each kind, and the pace that the deltas of all turns share.
struct DeliveryRates: Sendable {
    /// In the order of `RelayBucket.index`.
    private var buckets: [TokenBucket]
    private var sharedPace: SharedPace

    /// The relay's buckets are unknown at first.
    init(_ settings: DeliverySettings) {
        buckets = RelayBucket.inOrder.map { TokenBucket(settings.figures[$0] ?? .ofSheet($0)) }
        sharedPace = SharedPace(share: settings.deltaShare)
    }

    mutating func level(of bucket: RelayBucket, at now: Instant) -> Double { buckets[bucket.index].level(at: now) }

    mutating func isLow(_ bucket: RelayBucket, at now: Instant) -> Bool { buckets[bucket.index].isLow(at: now) }

    mutating func readyAt(_ bucket: RelayBucket, rank: DeliveryRank, at now: Instant) -> Instant? {
        guard let ready = buckets[bucket.index].readyAt(now) else { return nil }
        // A turn's first text, and text that holds back something more urgent, skip the pace that all share.
        guard bucket == .delta, rank >= .text else { return ready }
        return max(ready, sharedPace.readyAt(now, refill: buckets[bucket.index].figures.refill))
    }

    /// Takes a token. Returns the number of the try in its bucket.
    mutating func take(from bucket: RelayBucket, at now: Instant) -> UInt64 {
        let number = buckets[bucket.index].take(at: now)
        if bucket == .delta { sharedPace.sent(at: now, refill: buckets[bucket.index].figures.refill) }
        return number
    }

    /// The call never reached the relay, as far as is known.
    mutating func cameToNothing(_ number: UInt64, in bucket: RelayBucket, at now: Instant) {
        buckets[bucket.index].answered(number, responded: false, reading: nil, at: now)
    }

    /// Takes the buckets' readings from an answer.
    mutating func settle(_ number: UInt64, in own: RelayBucket, _ answer: RelayAnswer, at now: Instant) {
        var responded = answer.rate != nil
        if case .unknown = answer.outcome {} else { responded = true }
        let reading = answer.rate?.bucket == own ? answer.rate : nil
        buckets[own.index].answered(number, responded: responded, reading: reading, at: now)
        if let rate = answer.rate, let other = rate.bucket, other != own { buckets[other.index].observe(rate, at: now) }
    }

    /// A 429 puts its bucket to sleep; one that names none puts all to sleep.
    mutating func rest(_ named: RelayBucket?, until: Instant, at now: Instant) {
        for bucket in RelayBucket.inOrder where named == nil || named == bucket {
            buckets[bucket.index].sleep(until: until, at: now)
        }
    }

    mutating func renew(at now: Instant) {
        for index in buckets.indices { buckets[index].renew(at: now) }
    }
}

/// Bytes in memory, counted as for `HeldBytes`.
struct DeliveryHeld: Sendable {
    /// Bytes of all lanes.
    var lanes = 0
    /// Bytes of turns besides; the lanes' cards give way to them.
    var beside = 0
    /// Slots of lanes that have changed since they had nothing left to cut.
    var cuttable: Set<Int> = []

    /// Half of the limit is the lanes' own: otherwise a long text would cut cards that the relay takes at once.
    func bound(of limit: Int) -> Int { max(limit / 2, limit - beside) }
}
