import AgentKit
import JSONReading
package import Vocabulary

/// The link to one OpenClaw gateway: events come in with their time, and orders come out.
///
/// - No I/O, no clock, no randomness: the runner owns the socket and one timer
///   (`nextDeadline`), and calls `takeOrders` after each event.
/// - One socket at a time. After an order to close, no event of that socket is
///   reported, so a late one cannot pass for the next socket's.
/// - `linkBack` is observed once the gateway has greeted the bridge and its
///   events are subscribed, `linkLost` once for each `linkBack`.
/// - A lost socket drops no request of the core: sends, stops and decisions are kept until the gateway
///   answers, the run ends or their time runs out, and each of these is reported to the core.
/// - A message whose answer never came is sent again under the same key only while the gateway must still know
///   that key; later the history is requested first (openclaw.md#disconnects). So nothing runs twice.
/// - No refusal is final: a cause that only a person can mend is retried (`ConnectVerdict`).
/// - A frame is parsed once. The decoder reads its news of runs; this type reads only the members that the link needs.
package struct OpenClawSession: ~Copyable {
    /// The frame that the handshake waits for.
    enum Awaited {
        /// The gateway's challenge.
        case challenge
        /// The answer to `connect`, which was sent at `askedAt`.
        case hello(request: String, askedAt: Instant)
    }

    /// State of one socket, from its greeting to its loss.
    struct Greeted {
        let gateway: Gateway
        private var lastSequence: Int?
        private var followed: Set<AgentSession> = []
        /// The gateway does not accept `maxChars`.
        var refusesLength = false

        init(by gateway: Gateway) { self.gateway = gateway }

        /// The number of broadcasts missed before this one (openclaw.md#four-different-counters).
        mutating func lost(before sequence: Int) -> Int {
            defer { lastSequence = max(sequence, lastSequence ?? 0) }
            guard let lastSequence, sequence > lastSequence + 1 else { return 0 }
            return sequence - lastSequence - 1
        }

        /// True if the session was not followed before.
        mutating func follows(_ session: AgentSession) -> Bool { followed.insert(session).inserted }

        /// False if the session is not followed.
        mutating func leaves(_ session: AgentSession) -> Bool { followed.remove(session) != nil }
    }

    static let oldestProtocol = 3
    static let newestProtocol = 4
    static let role = "operator"

    var introduction: Introduction
    var life = LinkLife<Awaited, Greeted>()
    /// How long the socket was not read, in total (`reading`). Set before each event.
    package var unread = Duration.zero
    var orders: [Order] = []
    let parser = FrameParser()
    var decoder = OpenClawDecoder(live: ())

    var outage = Outage()
    var unknownReport = UnknownReport()
    var requests = GatewayRequests()
    var runs = GatewayRuns()
    var lookUps = LookUps()
    var approvals = GatewayApprovals()
    var uploads = Uploads()
    var sessionNames = SessionNames()
    /// Ends of heartbeats whose prompts were requested from the history.
    var heartbeats: [RunID: RunEnd] = [:]

    package init(_ settings: OpenClawSettings) { introduction = Introduction(settings) }

    /// Unknown parts of frames since the beginning.
    package var unknown: UnknownTally { decoder.unknown }

    package mutating func takeOrders() -> [Order] {
        defer { orders = [] }
        return orders
    }

    var isLive: Bool { life.isLive }

    /// Nil while the link is not live.
    var gateway: Gateway? { life.live?.gateway }

    // MARK: What happened

    /// Dials, or retries at once.
    package mutating func start(at now: Instant) {
        switch life.state {
        case .idle, .waiting: dial(at: now)
        case .dialling, .greeting, .live, .lost: return
        }
    }

    /// Says goodbye. Kept requests stay kept for a later `start`.
    package mutating func shutDown(at now: Instant) {
        if life.hasSocket { orders.append(.close(code: 1000, reason: "bridge stops")) }
        leftSocket(life.leave(at: now), at: now)
    }

    /// Applies other credentials to the next socket. A waiting link retries at once; a live one stays unchanged.
    package mutating func use(_ new: OpenClawSettings, at now: Instant) {
        guard introduction.use(new) else { return }
        if case .waiting = life.state { dial(at: now) }
    }

    /// The WebSocket is open.
    package mutating func opened(at now: Instant) { _ = life.opened(awaiting: .challenge, at: now) }

    /// A frame arrived. `capacity`: bytes from its beginning that may be read.
    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard life.heard(read: reading(now)) else { return }
        guard let root = parser.parse(frame, capacity: capacity), let type = root["type"] else {
            decoder.countMalformed()
            return reportUnknown(at: now)
        }
        read(root, type, at: now)
        reportUnknown(at: now)
        settle(at: now, using: &random)
    }

    private mutating func reportUnknown(at now: Instant) {
        if let news = unknownReport.news(decoder.unknown, at: now) { orders.append(.note(.unknown(news))) }
    }

    /// The gateway or the network closed the socket.
    package mutating func closed(
        code: Int, reason: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        switch life.state {
        case .idle, .lost, .waiting: return
        case .dialling, .greeting: closedBeforeHello(code, reason, at: now)
        case .live: closedWhileLive(code, reason, at: now)
        }
        settle(at: now, using: &random)
    }

    /// The upgrade to a WebSocket got another answer.
    package mutating func refused(
        status: Int, body: [UInt8], at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard case .dialling = life.state else { return }
        upgradeRefused(status, at: now)
        settle(at: now, using: &random)
    }

    /// The connection failed, or broke without a close frame.
    package mutating func failed(
        message: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) {
        guard life.hasSocket else { return }
        lose(message, .byBackOff, at: now)
        settle(at: now, using: &random)
    }

    /// A command of the core. `wallMilliseconds` is the time since 1970.
    package mutating func command(_ command: AgentCommand, at now: Instant, wallMilliseconds: Int64) {
        life.saw(now, wallMilliseconds: wallMilliseconds)
        switch command {
        case .send(_, let session, _, _), .abort(let session, _, _), .lookUp(let session, _):
            sessionNames.learn(session)
        case .resolve, .answer, .release: break
        }
        switch command {
        case .send(_, let session, let run, let message):
            send(message, in: session, as: run, at: now, wallMilliseconds: wallMilliseconds)
        case .abort(let session, let run, let reach): abort(runs.current(run), in: session, reach: reach, at: now)
        case .resolve(let approval, let subject, let decision, let scope, _, let shown, _):
            resolve(approval, subject, decision, scope, shown: shown, at: now)
        case .lookUp(let session, let run): coreLooksUp(runs.current(run), in: session, at: now)
        case .release(let session, _): release(session, at: now)
        // A gateway raises no questions besides approvals, so no answer can be for it.
        case .answer: break
        }
    }

    /// A deadline may be due.
    package mutating func timePassed(
        at now: Instant, wallMilliseconds: Int64, using random: inout some RandomNumberGenerator
    ) {
        let due = [nextDeadline, nextReadingDeadline.map { $0 + unread }].compactMap(\.self).min()
        if life.noticesSleep(at: now, wallMilliseconds: wallMilliseconds, due: due) { wokeUp(at: now) }
        watch(at: now)
        if isLive {
            sendDue(at: now)
            expireRequests(at: now)
            lookUpQuietRuns(at: now)
            advanceEnds(at: now)
            advanceUploads(at: now)
        }
        forgetOld(at: now)
        settle(at: now, using: &random)
    }

    /// The machine slept.
    package mutating func slept(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard life.hearsOfSleep(at: now) else { return }
        wokeUp(at: now)
        settle(at: now, using: &random)
    }

    // MARK: Within

    private mutating func read(_ root: FrameNode, _ type: FrameNode, at now: Instant) {
        if type.holds("event") {
            noticeSequence(root, at: now)
            noticeRun(root["event"], root["payload"], at: now)
            noticeModel(root["event"], root["payload"])
            noticeSession(root["event"], root["payload"], at: now)
            if root["event"]?.holds("connect.challenge") == true { return challenged(root, type, at: now) }
            if root["event"]?.holds("shutdown") == true {
                outage.announced(restart: ConnectRefusal.delay(root["payload"]?["restartExpectedMs"]))
            }
        }
        let said = decoder.read(root, type, at: now)
        if type.holds("res"), let id = root["id"]?.string {
            if case .greeting(.hello(let request, let askedAt), _) = life.state, id == request {
                return introduced(root, askedAt: askedAt, at: now)
            }
            // An unknown id is a second or a late answer, dropped silently (openclaw.md#frames).
            noteArrival(of: id, at: now)
            guard let request = requests.answered(id) else { return }
            answered(request, root, said, at: now)
            return advanceUploads(at: now)
        }
        take(said, at: now)
    }

    /// Reports the decoder's observations to the core, except the echo of our own
    /// commands. `isListing`: they are from the list of open questions.
    mutating func take(_ said: [Observation], isListing: Bool = false, at now: Instant) {
        var told: [Observation] = []
        for observation in said {
            switch observation {
            case .prompt, .stopSent, .decisionSent, .answerSent: continue
            case .signal(var signal):
                signal.session = signal.session.map { sessionNames.ours(for: $0) }
                guard let ours = whose(signal, at: now) else { continue }
                signal = ours
                if isNoEnd(signal, at: now) || holdsEnd(signal, at: now) { continue }
                notice(signal, isListing: isListing, at: now)
                told.append(.signal(signal))
            case .jobStarted(let job): told.append(.jobStarted(spelt(job)))
            case .jobFinished(let job): told.append(.jobFinished(spelt(job)))
            case .sendAnswered, .modelAnswered, .levelAnswered, .filesLeftOut, .conversationLost, .told, .abortAnswered,
                .lookedUp, .linkLost,
                .linkBack:
                told.append(observation)
            }
        }
        observed(told)
        for approval in approvals.takeShown() { sendDecision(approval, at: now) }
    }

    /// The job with its session spelt as in the frames of its run, which may use another form (openclaw.md#session-keys).
    private func spelt(_ job: AgentJob) -> AgentJob {
        var job = job
        job.session = job.session.map { sessionNames.ours(for: $0) }
        return job
    }

    mutating func observed(_ observations: [Observation]) {
        if !observations.isEmpty { orders.append(.observed(observations)) }
    }
}
