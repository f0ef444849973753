/// The life of a link that has one socket at a time: dialling, handshake, live, lost, waiting for the next try
/// (DESIGN.md#links-and-watchdogs). Each far side's link holds one and does the sending and reading itself.
///
/// - No I/O, no clock, no randomness: events arrive with the time, and the methods return the consequences.
/// - `Greeting` is the step of the handshake that the far side owes. `Live` is the state of a live link alone.
/// - The back-off starts over only after a link that held for a minute, and each step has its time limit.
/// - A live and silent link is dead. The reading clock (`read`) counts the silence and stands
///   while reading is paused; all other times are the runner's (`now`).
package struct LinkLife<Greeting, Live> {
    package enum State {
        /// Not begun, shut down, or given up. Can transition to: dialling (`dial`).
        case idle
        /// The runner opens a socket. Can transition to: greeting (`opened`), lost, idle.
        case dialling(until: Instant)
        /// The socket is open. Can transition to: greeting (`awaits`), live (`greeted`), lost, idle.
        case greeting(Greeting, until: Instant)
        /// Can transition to: lost, idle.
        case live(Live, Uptime)
        /// No delay to the next try is drawn yet; lasts within one event only. Can transition to: waiting (`settle`), dialling.
        case lost(reason: String, Redial)
        /// Can transition to: dialling (the delay has passed, or the owner has reason to hurry), lost (the machine slept).
        case waiting(until: Instant)
    }

    /// Beginning of a live link, and the longest silence that it may have.
    package struct Uptime {
        fileprivate var since: Instant
        fileprivate var silence: Duration
    }

    /// Meaning of a passed deadline.
    package enum Due {
        /// The socket did not open in time.
        case unopened
        /// The far side missed this step of the handshake.
        case ungreeted(Greeting)
        case silent
        case redial
    }

    /// The step after a loss.
    package enum Next: Hashable {
        case dial(reason: String)
        case wait(reason: String, until: Instant)
    }

    private static var dialLimit: Duration { .seconds(30) }
    /// An OpenClaw gateway waits up to 15 s for us; each step of any handshake gets as long.
    package static var handshakeLimit: Duration { .seconds(15) }
    /// Shortest delay, even if the far side promises an earlier return.
    private static var leastDelay: Duration { .milliseconds(250) }
    /// Life of a good link: the next loss starts the back-off over.
    private static var goodLink: Duration { .seconds(60) }
    package static var sleepReason: String { "the machine slept" }

    package private(set) var state = State.idle
    private var backOff = BackOff.link
    private var sleepWatch = SleepWatch()
    /// Reading-clock time of the last frame on the open socket. Kept beside the state, because each frame sets it.
    private var lastFrame = Instant.zero

    package init() {}

    package var isLive: Bool { if case .live = state { true } else { false } }

    package var live: Live? { if case .live(let live, _) = state { live } else { nil } }

    /// Whether there is a socket to close, open or still connecting.
    package var hasSocket: Bool {
        switch state {
        case .dialling, .greeting, .live: true
        case .idle, .lost, .waiting: false
        }
    }

    /// Next deadline of the link itself.
    package var nextDeadline: Instant? {
        switch state {
        case .idle, .lost, .live: nil
        case .dialling(let until), .greeting(_, let until), .waiting(let until): until
        }
    }

    /// Moment of the reading clock at which the link has been silent for too long.
    package var nextSilence: Instant? {
        if case .live(_, let uptime) = state { lastFrame + uptime.silence } else { nil }
    }

    /// The last wall clock reading, in milliseconds since 1970.
    package var wallMilliseconds: Int64? { sleepWatch.wallMilliseconds }

    // MARK: Up

    package mutating func dial(at now: Instant) { state = .dialling(until: now + Self.dialLimit) }

    /// False if no socket was being opened.
    package mutating func opened(awaiting greeting: Greeting, at now: Instant) -> Bool {
        guard case .dialling = state else { return false }
        state = .greeting(greeting, until: now + Self.handshakeLimit)
        return true
    }

    /// Next step of the handshake.
    package mutating func awaits(_ greeting: Greeting, at now: Instant) {
        guard case .greeting = state else { return }
        state = .greeting(greeting, until: now + Self.handshakeLimit)
    }

    /// Ends the handshake. After `silence` without a frame the link counts as dead.
    package mutating func greeted(_ live: Live, silence: Duration, at now: Instant, read: Instant) {
        guard case .greeting = state else { return }
        lastFrame = read
        state = .live(live, Uptime(since: now, silence: silence))
    }

    /// Notes a frame on the socket. False if none is open.
    package mutating func heard(read: Instant) -> Bool {
        switch state {
        case .greeting, .live: break
        case .idle, .dialling, .lost, .waiting: return false
        }
        lastFrame = read
        return true
    }

    /// Nil if the link is not live.
    package mutating func withLive<Result>(_ change: (inout Live) -> Result) -> Result? {
        guard case .live(var live, let uptime) = state else { return nil }
        // Leave one owner of `live`, or the change would copy its collections.
        state = .idle
        defer { state = .live(live, uptime) }
        return change(&live)
    }

    // MARK: Down

    /// Leaves the socket for good, and returns the state of a live link.
    package mutating func leave(at now: Instant) -> Live? {
        defer { state = .idle }
        guard case .live(let live, let uptime) = state else { return nil }
        if now - uptime.since >= Self.goodLink { backOff.succeeded() }
        return live
    }

    /// The link is lost or still down. `settle` draws the time of the next try.
    package mutating func lose(_ reason: String, _ redial: Redial, at now: Instant) -> Live? {
        defer { state = .lost(reason: reason, redial) }
        return leave(at: now)
    }

    /// Draws the delay of a loss within the same event. The owner does the dialling.
    package mutating func settle(at now: Instant, using random: inout some RandomNumberGenerator) -> Next? {
        guard case .lost(let reason, let redial) = state else { return nil }
        let delay: Duration
        switch redial {
        case .atOnce: return .dial(reason: reason)
        case .after(let said): delay = max(said, Self.leastDelay)
        case .byBackOff: delay = backOff.next(using: &random)
        case .byLongBackOff: delay = backOff.nextForPerson(using: &random)
        case .notBefore(let said): delay = max(said, backOff.next(using: &random))
        }
        state = .waiting(until: now + delay)
        return .wait(reason: reason, until: now + delay)
    }

    // MARK: Time

    package func due(at now: Instant, read: Instant) -> Due? {
        switch state {
        case .dialling(let until): until <= now ? .unopened : nil
        case .greeting(let greeting, let until): until <= now ? .ungreeted(greeting) : nil
        case .live: nextSilence.map { $0 <= read } == true ? .silent : nil
        case .waiting(let until): until <= now ? .redial : nil
        case .idle, .lost: nil
        }
    }

    // MARK: Sleep

    package mutating func saw(_ now: Instant, wallMilliseconds: Int64) {
        sleepWatch.saw(now, wallMilliseconds: wallMilliseconds)
    }

    /// Whether the clocks show that the machine slept. `due` is the time that the owner wanted to be called at. A deadline of the live
    /// link counts from the greeting on: one that passed earlier, without a live link, is late without a sleep.
    package mutating func noticesSleep(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        let due = if case .live(_, let uptime) = state { due.map { max($0, uptime.since) } } else { due }
        return sleepWatch.notices(at: now, wallMilliseconds: wallMilliseconds, due: due)
    }

    /// The host reports a sleep. False if the clocks showed the same sleep a moment ago.
    package mutating func hearsOfSleep(at now: Instant) -> Bool { sleepWatch.hears(at: now) }

    /// A waiting link dials at once after a sleep. True if there was a socket, which is dead without an error.
    package mutating func wokeUp() -> Bool {
        if case .waiting = state { state = .lost(reason: Self.sleepReason, .atOnce) }
        return hasSocket
    }
}
