/// The life of a link that has one socket at a time: dialling, handshake, live, lost, waiting for the next try
/// (DESIGN.md#links-and-watchdogs). The link of each far side holds one; what it sends and reads is its own.
///
/// - No I/O, no clock, no randomness: events come in with the time, and what follows from them is returned.
/// - `Greeting` is what is awaited of the far side during the handshake, `Live` what is true while the link is up and no longer.
/// - The back-off starts over only after a link that held for a minute, and each step has its time limit.
/// - A link that is live and silent is dead. The silence is counted by the reading clock (`read`), which stands while reading is paused;
///   all other times are of the runner's clock (`now`).
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
        /// The delay to the next try is not drawn yet: within one event only. Can transition to: waiting (`settle`), dialling.
        case lost(reason: String, Redial)
        /// Can transition to: dialling (the time is over, or the owner has reason to hurry), lost (the machine slept).
        case waiting(until: Instant)
    }

    /// How long a link is up, and how long it may be silent.
    package struct Uptime {
        fileprivate var since: Instant
        fileprivate var silence: Duration
    }

    /// What a deadline that has passed means.
    package enum Due {
        /// The socket did not open in time.
        case unopened
        /// The far side did not do in time what was awaited of it.
        case ungreeted(Greeting)
        case silent
        case redial
    }

    /// What follows a loss.
    package enum Next: Hashable {
        case dial(reason: String)
        case wait(reason: String, until: Instant)
    }

    private static var dialLimit: Duration { .seconds(30) }
    /// An OpenClaw gateway waits up to 15 s for us; each step of any handshake gets as long.
    package static var handshakeLimit: Duration { .seconds(15) }
    /// Whatever the far side says of its return.
    private static var leastDelay: Duration { .milliseconds(250) }
    /// A link that held this long was a good one, and the next loss starts the back-off over.
    private static var goodLink: Duration { .seconds(60) }
    package static var sleepReason: String { "the machine slept" }

    package private(set) var state = State.idle
    private var backOff = BackOff.link
    private var sleepWatch = SleepWatch()
    /// When the open socket last received a frame, by the reading clock. Beside the state, because each frame sets it.
    private var lastFrame = Instant.zero

    package init() {}

    package var isLive: Bool { if case .live = state { true } else { false } }

    package var live: Live? { if case .live(let live, _) = state { live } else { nil } }

    /// There is a socket to close, be it only on its way.
    package var hasSocket: Bool {
        switch state {
        case .dialling, .greeting, .live: true
        case .idle, .lost, .waiting: false
        }
    }

    /// When the link itself wants to be called.
    package var nextDeadline: Instant? {
        switch state {
        case .idle, .lost, .live: nil
        case .dialling(let until), .greeting(_, let until), .waiting(let until): until
        }
    }

    /// Likewise, by the reading clock: the link is silent for too long then.
    package var nextSilence: Instant? {
        if case .live(_, let uptime) = state { lastFrame + uptime.silence } else { nil }
    }

    /// The last wall clock reading, in milliseconds since 1970.
    package var wallMilliseconds: Int64? { sleepWatch.wallMilliseconds }

    // MARK: Up

    package mutating func dial(at now: Instant) { state = .dialling(until: now + Self.dialLimit) }

    /// False: no socket was being opened.
    package mutating func opened(awaiting greeting: Greeting, at now: Instant) -> Bool {
        guard case .dialling = state else { return false }
        state = .greeting(greeting, until: now + Self.handshakeLimit)
        return true
    }

    /// The handshake continues.
    package mutating func awaits(_ greeting: Greeting, at now: Instant) {
        guard case .greeting = state else { return }
        state = .greeting(greeting, until: now + Self.handshakeLimit)
    }

    /// The handshake is over. `silence`: after that long without a frame the link counts as dead.
    package mutating func greeted(_ live: Live, silence: Duration, at now: Instant, read: Instant) {
        guard case .greeting = state else { return }
        lastFrame = read
        state = .live(live, Uptime(since: now, silence: silence))
    }

    /// Something came on the socket. False: none is open.
    package mutating func heard(read: Instant) -> Bool {
        switch state {
        case .greeting, .live: break
        case .idle, .dialling, .lost, .waiting: return false
        }
        lastFrame = read
        return true
    }

    /// Nil: the link is not live.
    package mutating func withLive<Result>(_ change: (inout Live) -> Result) -> Result? {
        guard case .live(var live, let uptime) = state else { return nil }
        // What is changed has one owner, or its collections would be copied.
        state = .idle
        defer { state = .live(live, uptime) }
        return change(&live)
    }

    // MARK: Down

    /// The socket is left for good. What was true while it was live is handed back.
    package mutating func leave(at now: Instant) -> Live? {
        defer { state = .idle }
        guard case .live(let live, let uptime) = state else { return nil }
        if now - uptime.since >= Self.goodLink { backOff.succeeded() }
        return live
    }

    /// The link is lost, or still down; when to try again is drawn by `settle`.
    package mutating func lose(_ reason: String, _ redial: Redial, at now: Instant) -> Live? {
        defer { state = .lost(reason: reason, redial) }
        return leave(at: now)
    }

    /// Draws the delay of a loss that was decided in this event. To dial is the owner's.
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

    /// Whether the machine slept, as the clocks show. `due`: when the owner had asked to be called. A deadline of the live link counts from
    /// the greeting on: one that passed before, while no link was live, is late without a sleep.
    package mutating func noticesSleep(at now: Instant, wallMilliseconds: Int64, due: Instant?) -> Bool {
        let due = if case .live(_, let uptime) = state { due.map { max($0, uptime.since) } } else { due }
        return sleepWatch.notices(at: now, wallMilliseconds: wallMilliseconds, due: due)
    }

    /// The host reports a sleep. False: the clocks have shown the same one a moment ago.
    package mutating func hearsOfSleep(at now: Instant) -> Bool { sleepWatch.hears(at: now) }

    /// After a sleep a waiting link is tried at once. True: there was a socket, and it is dead without an error.
    package mutating func wokeUp() -> Bool {
        if case .waiting = state { state = .lost(reason: Self.sleepReason, .atOnce) }
        return hasSocket
    }
}
