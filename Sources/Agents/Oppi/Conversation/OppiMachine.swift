package import AgentKit
import JSONReading
import Links
package import Vocabulary

/// The link to one Oppi server (oppi.md): a main stream, a stream for each chat with a turn, and REST beside them.
///
/// States are those of `LinkLife`: a token (`OppiAccess`) precedes the dial of the main stream; `greeting` waits first for
/// `stream_connected`, then for the server's description over REST (`OppiServer`); `live` is the bridge's connected state.
///
/// Invariants:
/// - Chats (`OppiChat`) have sockets only while the main one is live: all are lost with it.
/// - Each chat's place at the server is a fact, stored before the last prompt there was sent.
/// - A permission that comes on several sockets is one approval (`OppiPermissions`); one of a
///   session without a chat is counted and left to other clients.
/// - A refused token does not end the link: it is retried each minute, with the current configuration.
/// - All sockets and calls of one link use one address and one token: a reload that changes either begins another link.
/// - A silent stream is probed: the server pings, but on its own terms.
package struct OppiMachine: AgentMachine {
    package typealias Settings = OppiSettings

    /// The step that the handshake waits for.
    enum Awaited { case stream, server }

    /// The purpose of a work.
    enum Errand: Hashable {
        /// Number of the beginning of `OppiAccess`.
        case access(Int)
        case ask(OppiServer.Question)
        case list
        case place(for: AgentSession)
        case make(AgentSession, workspace: String)
        case keep(AgentSession, OppiPlace)
        case call(AgentSession, OppiChat.Call)
        case forget
        case models(QueryID)
        /// The list of the server's sessions, for the chat that lacks a place.
        case places(for: AgentSession, without: Set<String>)
        /// Stops a session, by the server's name for it.
        case stop(String, for: AgentSession)

        /// Whether the next link repeats the errand.
        var isOfOneLink: Bool {
            switch self {
            case .ask, .list, .call, .places, .stop: true
            case .access, .place, .make, .keep, .forget, .models: false
            }
        }
    }

    static let mainChannel = ChannelID(1)
    /// The server pings every 30 s.
    static let quiet = Duration.seconds(40)
    static let silence = Duration.seconds(60)

    var settings: OppiSettings
    let parser = FrameParser()
    var access = OppiAccess()
    var life = LinkLife<Awaited, Void>()
    var server = OppiServer()
    var chats = OppiChats()
    var permissions = OppiPermissions()
    var errands = OppiErrands<Errand>()
    var loads = FileLoads()
    var main = Main()
    var check: OppiCheck?
    var orders: [AgentOrder] = []

    /// State of the main stream.
    struct Main {
        var lastHeard = Instant.zero
        var heardBeforeLoss = Instant.zero
        var hasAsked = false
        var unknown = UnknownTally()
        var report = UnknownReport()
        /// The main stream was live before in this process.
        var wasLive = false
        var requests = 0
        var follows = 0
        var followed = OppiFollowed()
        /// When sessions of chats were last active, by the server's names.
        var signs: [String: Instant] = [:]
        /// When a run ended complete in a session, without a later attempt.
        var ends: [String: Instant] = [:]
        /// Sessions in whose loop the agent reported an error, by the server's names.
        var failing: Set<String> = []
        /// Sessions that are being stopped for other chats.
        var stopping: Set<String> = []
        /// The server speaks the head dialect.
        var isHead = false
    }

    package init(_ settings: OppiSettings) { self.settings = settings }

    /// A machine for `doctor`.
    init(_ settings: OppiSettings, checkOf connection: String) {
        self.settings = settings
        check = OppiCheck(connection: connection)
    }

    package var nextDeadline: Instant? {
        let moments = [
            life.nextDeadline, permissions.nextDeadline, chats.nextExpiry, loads.nextDeadline, check?.deadline,
        ]
        return moments.compactMap(\.self).min()
    }
    package var nextReadingDeadline: Instant? {
        [life.nextSilence, questionDue, permissions.nextReadingDeadline, chats.nextDeadline].compactMap(\.self).min()
    }
    /// When a silent main stream is probed.
    var questionDue: Instant? { main.hasAsked ? nil : life.nextSilence.map { $0 - Self.silence + Self.quiet } }

    // MARK: The course

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        chats.begin(past.facts, mark: String(now.wallMilliseconds, radix: 36))
        for turn in past.turns { adopt(turn, now) }
        dial(now)
        return takeOrders()
    }

    private mutating func adopt(_ turn: EarlierTurn, _ now: Occasion) {
        for run in turn.runs {
            change(turn.session, now) {
                $0.adopt(run, isTaken: turn.isAccepted, isStopping: turn.isStopping, at: now.read)
            }
        }
        for past in turn.decisions {
            guard past.subject == .permission else {
                if past.subject == .dialog {
                    change(turn.session, now) {
                        $0.adopt(past)
                        return []
                    }
                }
                continue
            }
            let decision = OppiPermissions.Decision(past.decision, past.scope)
            permissions.adopt(
                past.approval, decision, fingerprint: past.fingerprint, expiresAt: past.expiresAt, at: now.now)
        }
    }

    package mutating func check(_ now: Occasion) -> [AgentOrder] {
        guard check != nil else { return [.done] }
        check?.begin(at: now.now)
        dial(now)
        return takeOrders()
    }

    package mutating func use(_ settings: OppiSettings, _ now: Occasion) -> [AgentOrder] {
        guard settings != self.settings else { return [] }
        let hasOtherToken = settings.tokenSource != self.settings.tokenSource
        let isReachedOtherwise = hasOtherToken || settings.trust != self.settings.trust
        self.settings = settings
        if hasOtherToken { access.refused() }
        if case .waiting = life.state {
            dial(now)
        } else if isReachedOtherwise, life.hasSocket, !access.isPairing {
            drop("the configuration of Oppi was changed", .atOnce, nil, now)
        }
        return takeOrders()
    }

    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        leave(now)
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "bridge stops"))) }
        _ = life.leave(at: now.now)
        return takeOrders()
    }

    // MARK: Commands

    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        switch command {
        case .send(_, let session, let run, let message):
            let (prompt, leftOut) = PicturePrompt.of(message, for: "Oppi", room: OppiSettings.pictureRoom)
            if !leftOut.isEmpty { orders.append(.observed([.filesLeftOut(run, leftOut)])) }
            if prompt.isNothing {
                orders.append(.observed([.sendAnswered(asked: run, PicturePrompt.nothingLeft)]))
            } else {
                change(session, now) { $0.send(run, prompt, at: now.read) }
            }
        case .abort(let session, let run, let reach):
            loads.drop(run)
            change(session, now) { $0.abort(run, reach: reach, at: now.read) }
        case .lookUp(let session, let run): change(session, now) { $0.lookUp(run, at: now.read) }
        case .resolve(let approval, let subject, let decision, let scope, let isUnanswered, let shown, _):
            if subject == .dialog {
                let isNo = decision == .deny
                resolveDialog(
                    approval, isNo && isUnanswered ? .cancelled : .confirmed(!isNo), shown: isNo ? nil : shown, now)
            } else {
                // The frame has no room for a reason (oppi.md#permissions).
                let decided = OppiPermissions.Decision(decision, scope)
                carryOut(permissions.decide(approval, decided, shown: shown, isUp: life.isLive, now), now)
                lookAtList(now)
            }
        case .answer(let question, let session, let answer, let shown):
            change(session, now) { $0.answer(question, answer, shown: shown, at: now.read) }
        case .release(let session, let isDeleted):
            change(session, now) { $0.release(isDeleted: isDeleted, at: now.read) }
        }
        return takeOrders()
    }

    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        if case .schedule = query { return [.replied(id, .hasNoSchedules("Oppi"))] }
        guard life.isLive else { return [.replied(id, .refused(message: "Oppi cannot be reached"))] }
        work(.models(id), rest.get("/models"))
        return takeOrders()
    }

    // MARK: The channels

    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        hear(on: channel, now)
        guard let root = parser.parse(frame, capacity: capacity), root.isObject, let type = root["type"]?.string else {
            main.unknown.countMalformed()
            report(now)
            orders += takeOrders()
            return
        }
        if !OppiPlugin.isKnown(type) { main.unknown.count("frame", type) }
        switch type {
        case "permission_request", "permission_expired", "permission_cancelled":
            permission(type, root, on: channel, now)
        case _ where channel == Self.mainChannel: receivedOnMain(type, root, now)
        default:
            if type == "session_ended" { permissionsEnd(root, on: channel, now) }
            // A decision behind a stop is sent, and answered, on the chat's own socket.
            if type == "rpc_result" || type == "command_result" { carryOut(permissions.answered(root) ?? [], now) }
            if type == "error" { carryOut(permissions.complained(root["error"]?.string ?? ""), now) }
            if let session = chats.session(on: channel) { change(session, now) { $0.received(root, at: now.read) } }
        }
        report(now)
        orders += takeOrders()
    }

    private mutating func hear(on channel: ChannelID, _ now: Occasion) {
        guard channel == Self.mainChannel else { return }
        _ = life.heard(read: now.read)
        main.lastHeard = now.now
        main.hasAsked = false
    }

    private mutating func report(_ now: Occasion) {
        if check == nil, let news = main.report.news(main.unknown, at: now.now) {
            orders.append(.note(.unknown(news)))
        }
    }

    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        if channel == Self.mainChannel { happenedToMain(event, now) } else { happenedToChat(event, channel, now) }
        return takeOrders()
    }

    private mutating func happenedToMain(_ event: ChannelEvent, _ now: Occasion) {
        switch event {
        case .opened: _ = life.opened(awaiting: .stream, at: now.now)
        case .heard: hear(on: Self.mainChannel, now)
        case .refused(401, _): unauthorised(isOver: true, now)
        case .refused(let status, _):
            lose("the server refused the stream with \(status)", .byBackOff, Self.remedy(ofRefusal: status), now)
        case .failed(let message, .foreignListener) where check != nil:
            conclude(.agentListener, .failed, message, .agentUnreachable, now)
        case .failed(let message, .untrusted): lose(message, OppiAccess.again, OppiAccess.untrusted, now)
        case .failed(let message, _): lose(message, .byBackOff, nil, now)
        case .closed(let code, let reason):
            // An orderly shutdown of the server, which may be back soon (oppi.md#frame-limits).
            lose("the stream was closed (\(code)\(reason.isEmpty ? "" : " \(reason)"))", .byBackOff, nil, now)
        case .spawned, .skipped, .exited, .waits, .wanted: break
        }
    }

    static func remedy(ofRefusal status: Int) -> LinkRemedy? {
        switch status {
        case 403: LinkRemedy("Oppi refused this machine's address; add it to allowedCidrs in Oppi's configuration")
        case 404: LinkRemedy("this address has no Oppi stream; check agent.url (OPPI_URL)")
        default: nil
        }
    }

    private mutating func happenedToChat(_ event: ChannelEvent, _ channel: ChannelID, _ now: Occasion) {
        guard let session = chats.session(on: channel) else { return }
        switch event {
        case .opened:
            orders.append(.mayPause(channel, true))
            change(session, now) {
                $0.opened(at: now.read)
                return []
            }
        case .refused(let status, _):
            chats.ended(channel)
            if status == 401 { return unauthorised(now) }
            change(session, now) { $0.lost("refused with \(status)", at: now.read) }
        case .failed(let message, _):
            chats.ended(channel)
            change(session, now) { $0.lost(message, at: now.read) }
        case .closed(let code, _):
            chats.ended(channel)
            change(session, now) { $0.lost("closed with \(code)", at: now.read) }
        case .heard, .spawned, .skipped, .exited, .waits, .wanted: break
        }
    }

    // MARK: Time

    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        let due = [nextDeadline, nextReadingDeadline.map(now.moment(ofReading:))].compactMap(\.self).min()
        if life.noticesSleep(at: now.now, wallMilliseconds: now.wallMilliseconds, due: due) { wakeUp(now) }
        watch(now)
        permissions.timePassed(now)
        orders += loads.timePassed(at: now.now)
        lookAtList(now)
        for session in chats.due(now) { change(session, now) { $0.timePassed(at: now.read) } }
        if let deadline = check?.deadline, deadline <= now.now {
            conclude(.agent, .failed, "Oppi did not answer within 20 seconds", .agentUnreachable, now)
        }
        return takeOrders()
    }

    package mutating func slept(_ now: Occasion) -> [AgentOrder] {
        if life.hearsOfSleep(at: now.now) { wakeUp(now) }
        return takeOrders()
    }

    // MARK: Orders

    mutating func takeOrders() -> [AgentOrder] {
        defer { orders = [] }
        return orders
    }

    mutating func work(_ errand: Errand, _ work: Work) {
        errands.add(errand, work)
        startWorks()
    }

    mutating func startWorks() {
        for start in errands.takeStarts() { orders.append(.work(start.id, start.work)) }
    }

    var rest: OppiRest { settings.trusting(access.pin).rest(access.token) }
}
