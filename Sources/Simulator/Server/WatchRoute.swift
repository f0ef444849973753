import LocalServer
import Locking
import RelayRules

/// Watchers of the relay's work: the developer panel of the page, or `curl -N`.
///
/// Every change of the relay sends all watchers the same news. Levels of buckets, which move by themselves, are sent at most five times
/// a second and once more when all are full again. Without watchers, nothing is compared and nothing encoded.
struct WatchFeed {
    /// Shortest pause between two reports of the levels.
    static let bucketMilliseconds = 200

    private var streams: [Int: EventStream] = [:]
    private var lastName = 0
    var isWatched: Bool { !streams.isEmpty }

    /// Last reports to the watchers.
    var calls: UInt64 = 0
    var breaches = 0
    var warnings: UInt64 = 0
    var standing: BridgeStanding?
    var faults: FaultReport?
    var buckets: [BucketReport] = []
    var bucketsAt = Moment(milliseconds: 0)
    /// Whether a timer is set for the levels.
    var isTimerSet = false

    mutating func nameForWatcher() -> Int {
        lastName += 1
        return lastName
    }

    mutating func add(_ stream: EventStream, as name: Int) { streams[name] = stream }
    mutating func remove(_ name: Int) { streams[name] = nil }

    func push(_ event: WatchEvent) {
        let bytes = ServerSentEvents.bytes(of: event)
        for stream in streams.values { stream.push(bytes) }
    }

    func comment() {
        for stream in streams.values { stream.push(ServerSentEvents.comment) }
    }
}

extension RelaySimulator {
    /// Number of past calls and breaches for a new watcher.
    static let watchedCalls = 200
    /// Bytes that may wait for a watcher. At the bound it is cut, and may come back.
    private static let watchLimit = 4 << 20
    private static let watcherLimit = 32

    /// `GET /v1/simulator/watch`: the current state, the last calls and breaches, and then every event.
    func watch(_ request: LocalRequest) -> LocalAnswer {
        if let refusal = refusesControl(request) { return .whole(refusal) }
        let now = clock.now()
        let (name, count) = state.withLock { ($0.watch.nameForWatcher(), $0.watch.count) }
        guard count < Self.watcherLimit else {
            return .whole(
                ControlReply.failure(503, "temporarily_unavailable", "\(count) watch already; end one of them first."))
        }
        let stream = EventStream(limit: Self.watchLimit) { [weak self] in
            guard let self else { return }
            state.withLock { $0.watch.remove(name) }
        }
        change { $0.beginWatching(stream, as: name, at: now) }
        return .stream(
            LocalResponse(
                status: 200,
                headers: [LocalHeader("Content-Type", "text/event-stream"), LocalHeader("Cache-Control", "no-store")]),
            stream)
    }

    /// Polls the levels, which rise with time alone.
    func lookAtBuckets(after milliseconds: Int) {
        clock.after(milliseconds) { [weak self] in
            guard let self, state.withLock({ $0.isRunning }) else { return }
            change { $0.watch.isTimerSet = false }
        }
    }
}

extension SimulatorState {
    mutating func beginWatching(_ stream: EventStream, as name: Int, at now: Moment) {
        if !watch.isWatched {
            watch.calls = relay.lastCallNumber
            watch.breaches = relay.breaches.count
            watch.warnings = relay.lastWarningNumber
            watch.standing = relay.bridgeStanding
            watch.faults = relay.faultReport
            watch.buckets = relay.bucketReports(at: now)
            watch.bucketsAt = now
        }
        var events: [WatchEvent] = [.buckets(relay.bucketReports(at: now), at: now), .bridge(relay.bridgeStanding)]
        let faults = relay.faultReport
        if !faults.isEmpty { events.append(.faults(faults)) }
        events += relay.calls(after: 0).suffix(RelaySimulator.watchedCalls).map { .call($0) }
        events += relay.breaches.suffix(RelaySimulator.watchedCalls).map { .breach($0) }
        events += relay.warnings.map { .warning($0) }
        for event in events { stream.push(ServerSentEvents.bytes(of: event)) }
        watch.add(stream, as: name)
    }

    /// Announces all news. Returns the delay in milliseconds after which the caller must poll the levels again.
    mutating func tellWatchers(at now: Moment) -> Int? {
        guard watch.isWatched else { return nil }
        for call in relay.calls(after: watch.calls) { watch.push(.call(call)) }
        watch.calls = relay.lastCallNumber
        for breach in relay.breaches.dropFirst(watch.breaches) { watch.push(.breach(breach)) }
        watch.breaches = relay.breaches.count
        for warning in relay.warnings(after: watch.warnings) { watch.push(.warning(warning)) }
        watch.warnings = relay.lastWarningNumber
        let standing = relay.bridgeStanding
        if standing != watch.standing {
            watch.standing = standing
            watch.push(.bridge(standing))
        }
        let faults = relay.faultReport
        if faults != watch.faults {
            watch.faults = faults
            watch.push(.faults(faults))
        }
        return tellLevels(at: now)
    }

    private mutating func tellLevels(at now: Moment) -> Int? {
        guard !watch.isTimerSet else { return nil }
        let buckets = relay.bucketReports(at: now)
        guard buckets != watch.buckets else { return nil }
        let since = now.milliseconds - watch.bucketsAt.milliseconds
        // A wall clock that jumped back must not silence the feed.
        if (0..<Int64(WatchFeed.bucketMilliseconds)).contains(since) {
            watch.isTimerSet = true
            return WatchFeed.bucketMilliseconds - Int(since)
        }
        watch.buckets = buckets
        watch.bucketsAt = now
        watch.push(.buckets(buckets, at: now))
        guard buckets.contains(where: { !$0.isFull }) else { return nil }
        watch.isTimerSet = true
        return WatchFeed.bucketMilliseconds
    }
}

extension WatchFeed {
    var count: Int { streams.count }
}
