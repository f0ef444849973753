import AgentKit
import JSONReading
import Links
import Vocabulary

// The main stream: dial, greeting, loss.
extension OppiMachine {
    // MARK: Up

    mutating func dial(_ now: Occasion) {
        life.saw(now.now, wallMilliseconds: now.wallMilliseconds)
        life.dial(at: now.now)
        errands.linkBegins { $0.isOfOneLink }
        if access.token != nil { return open(now) }
        beginAccess(now)
    }

    private mutating func beginAccess(_ now: Occasion) {
        if let step = access.begin(settings) { take(step, now) }
    }

    mutating func take(_ step: OppiAccess.Step, _ now: Occasion) {
        if case .work(let work) = step {
            // `doctor` must not use up the invite link.
            if check != nil, case .http = work { return concludeUnpaired(now) }
            return self.work(.access(access.beginnings), work)
        }
        if case .ready(let token, let remedy) = step {
            orders.append(.cover(token))
            if let remedy, check == nil { orders.append(.note(.remedy(remedy))) }
        }
        // Pairing continues while the link waits for its next try, which finds the result.
        guard case .dialling = life.state else { return }
        guard access.isOf(settings) else {
            access.refused()
            return beginAccess(now)
        }
        if case .failed(let reason, let remedy, let redial) = step { return lose(reason, redial, remedy, now) }
        open(now)
    }

    private mutating func open(_ now: Occasion) {
        guard let token = access.token, case .dialling = life.state else { return }
        orders.append(.open(Self.mainChannel, .socket(settings.trusting(access.pin).streamPlan(token))))
    }

    mutating func receivedOnMain(_ type: String, _ root: FrameNode, _ now: Occasion) {
        switch type {
        case "stream_connected":
            guard case .greeting(.stream, _) = life.state else { return }
            life.awaits(.server, at: now.now)
            for question in server.asks(at: now.now) { work(.ask(question), rest.get(OppiServer.path(question))) }
        case "rpc_result", "command_result":
            if type == "command_result" { main.isHead = true }
            if check != nil { return concludeWell(isHead: type == "command_result", now) }
            carryOut(permissions.answered(root) ?? [], now)
        case "agent_start":
            showsLife(root, now)
            followed(root, now) { chat, _ in
                chat.beganElsewhere()
                return []
            }
        case "agent_end":
            showsLife(root, now)
            followed(root, now) { chat, hasFailed in
                chat.endedElsewhere(root["seq"]?.integer(in: .counts) ?? 0, hasFailed: hasFailed, at: now.read)
            }
        case "error":
            carryOut(permissions.complained(root["error"]?.string ?? ""), now)
            if root["seq"] != nil, let native = root["sessionId"]?.string, chats.session(of: native) != nil {
                main.failing.insert(native)
            }
        case "session_ended":
            if let session = root["sessionId"]?.string.flatMap({ chats.session(of: $0) }) {
                carryOut(permissions.sessionEnded(session), now)
                change(session, now) { $0.othersAreOver() }
            }
        default: break
        }
    }

    /// A loop of a followed session began or ended. The flag: the agent reported an error in the loop before.
    private mutating func followed(
        _ root: FrameNode, _ now: Occasion, _ body: (inout OppiChat, Bool) -> [OppiChat.Order]
    ) {
        guard let native = root["sessionId"]?.string, let session = chats.session(of: native) else { return }
        let hasFailed = main.failing.remove(native) != nil
        change(session, now) { body(&$0, hasFailed) }
    }

    mutating func answered(_ question: OppiServer.Question, _ answer: OppiRest.Answer, _ now: Occasion) {
        guard case .greeting(.server, _) = life.state else { return }
        switch answer {
        case .body(let body) where OppiServer.isAnswer(body, to: question): break
        // The server lacks this route.
        case .refused(404, _) where question != .workspaces: break
        case .body: return drop("\(OppiServer.path(question)) says something else", .byBackOff, nil, now)
        case .refused(let status, let error):
            let reason = "\(OppiServer.path(question)) was refused: \(status) \(error)"
            return drop(reason, .byBackOff, Self.remedy(ofRefusal: status), now)
        case .failed(let reason): return drop("its REST routes do not answer: \(reason)", .byBackOff, nil, now)
        }
        guard server.answered(question, answer.body, at: now.now), server.isKnown else { return }
        life.greeted((), silence: Self.silence, at: now.now, read: now.read)
        greeted(now)
    }

    private mutating func greeted(_ now: Occasion) {
        orders.append(.mayPause(Self.mainChannel, true))
        // The answer shows the server's dialect.
        if check != nil { return askForLife() }
        orders += [.state(.up(version: server.version, scopes: nil)), .observed([.linkBack])]
        if case .none(let sentence) = server.choice(settings.workspace) { orders.append(.note(.remedy(sentence))) }
        let hasRestarted = main.wasLive && server.hasRestarted(since: main.heardBeforeLoss)
        main.wasLive = true
        main.followed = OppiFollowed()
        (main.signs, main.ends, main.stopping, main.failing) = ([:], [:], [], [])
        list(now)
        for session in chats.sorted {
            change(session, now) { $0.linkUp(hasRestarted: hasRestarted, at: now.read) }
        }
        // Head accepts 30 subscriptions in five seconds, more than these (oppi.md#level-rules).
        for session in chats.newestAtRest(OppiFollowed.limit) { follow(session) }
    }

    // MARK: Down

    /// Closes a main stream that the server did not close.
    mutating func drop(_ reason: String, _ redial: Redial, _ remedy: LinkRemedy?, _ now: Occasion) {
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "reconnecting"))) }
        lose(reason, redial, remedy, now)
    }

    mutating func lose(_ reason: String, _ redial: Redial, _ remedy: LinkRemedy?, _ now: Occasion) {
        if check != nil { return concludeBadly(reason, remedy, now) }
        leave(now)
        _ = life.lose(reason, redial, at: now.now)
        var random = SeededGenerator(seed: now.random)
        switch life.settle(at: now.now, using: &random) {
        case .dial: dial(now)
        case .wait(let reason, let until):
            orders.append(.state(.waiting(reason: reason, retryAt: until, remedy: remedy)))
            // A person may have changed the configuration meanwhile.
            if remedy?.exitCode == .agentTokenMissing { orders.append(.readSettings) }
        case nil: break
        }
    }

    /// Drops the state of the main stream.
    mutating func leave(_ now: Occasion) {
        guard life.isLive else { return }
        main.heardBeforeLoss = main.lastHeard
        permissions.linkDown()
        for session in chats.sorted { change(session, now) { $0.linkDown() } }
        orders.append(.observed([.linkLost]))
    }

    /// `isOver`: the main stream has ended too.
    mutating func unauthorised(isOver: Bool = false, _ now: Occasion) {
        access.refused()
        let remedy = LinkRemedy("pair again: \(OppiAccess.remedy)", exitCode: .agentTokenMissing)
        for session in chats.sorted { change(session, now) { $0.tokenRefused(remedy.words) } }
        let reason = "Oppi refused the token"
        if isOver {
            lose(reason, OppiAccess.again, remedy, now)
        } else {
            drop(reason, OppiAccess.again, remedy, now)
        }
    }

    // MARK: Time

    mutating func watch(_ now: Occasion) {
        switch life.due(at: now.now, read: now.read) {
        case .unopened: drop("the server did not answer the call", .byBackOff, nil, now)
        case .ungreeted(.stream): drop("the server did not greet", .byBackOff, nil, now)
        case .ungreeted(.server): drop("the server did not say what it is", .byBackOff, nil, now)
        case .silent: drop("the server fell silent", .byBackOff, nil, now)
        case .redial: dial(now)
        case nil: break
        }
        if let due = questionDue, due <= now.read { askForLife() }
    }

    /// Sends a frame that changes nothing and is always answered.
    private mutating func askForLife() {
        main.hasAsked = true
        main.requests += 1
        orders.append(.send(Self.mainChannel, OppiFrames.unsubscribe("none", "alive-\(main.requests)")))
    }

    mutating func wakeUp(_ now: Occasion) {
        guard life.wokeUp() else {
            if case .lost = life.state { dial(now) }
            return
        }
        drop(LinkLife<Awaited, Void>.sleepReason, .atOnce, nil, now)
    }

    // MARK: Doctor

    mutating func conclude(
        _ kind: DoctorFinding.Check, _ outcome: DoctorFinding.Outcome, _ words: String, _ code: ExitCode?,
        remedy: String? = nil, _ now: Occasion
    ) {
        guard let connection = check?.connection else { return }
        orders.append(
            .finding(
                DoctorFinding(kind, outcome, words, remedy: remedy, connection: connection, exitCode: code)))
        end(now)
    }

    private mutating func end(_ now: Occasion) {
        check?.deadline = nil
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "that is all"))) }
        _ = life.leave(at: now.now)
        orders.append(.done)
    }

    private mutating func concludeUnpaired(_ now: Occasion) {
        conclude(
            .agentToken, .skipped, "the invite link for \(settings.base) was not used yet; run pairs with it", nil, now)
    }

    private mutating func concludeBadly(_ reason: String, _ remedy: LinkRemedy?, _ now: Occasion) {
        let isToken = remedy?.exitCode == .agentTokenMissing
        conclude(
            isToken ? .agentToken : .agent, .failed, "Oppi at \(settings.base) cannot be used: \(reason)",
            isToken ? .agentTokenMissing : .agentUnreachable,
            remedy: remedy?.words ?? "check that Oppi runs there, and agent.url (OPPI_URL)", now)
    }

    private mutating func concludeWell(isHead: Bool, _ now: Occasion) {
        guard let connection = check?.connection, check?.deadline != nil else { return }
        func well(_ kind: DoctorFinding.Check, _ words: String) {
            orders.append(.finding(DoctorFinding(kind, .ok, words, connection: connection)))
        }
        well(.agent, "Oppi \(server.version) answers at \(settings.base) (\(isHead ? "newer" : "older") frames)")
        well(.agentToken, "Oppi takes the token")
        switch server.choice(settings.workspace) {
        case .workspace(let id):
            let name = server.workspaces.first { $0.id == id }?.name ?? id
            well(.scopes, "new chats begin in the workspace \(name)")
            end(now)
        case .none(let sentence):
            conclude(.scopes, .failed, sentence, .agentNotInitialised, now)
        }
    }
}

/// The check of the server for `doctor`: connects as `run` does, but pairs, makes and stores nothing.
struct OppiCheck {
    private static let limit = Duration.seconds(20)

    let connection: String
    /// Nil before and after the check.
    var deadline: Instant?

    init(connection: String) { self.connection = connection }

    mutating func begin(at now: Instant) { deadline = now + Self.limit }
}
