import AgentKit
import JSONReading
import Links
import Vocabulary

// The way to the server: process, socket, handshake and loss.
extension CodexMachine {
    // MARK: Up

    mutating func dial(_ now: Occasion) {
        life.saw(now.now, wallMilliseconds: now.wallMilliseconds)
        life.dial(at: now.now)
        guard let own = settings.own else { return openSocket() }
        guard own.socket != nil else { return troubled(.noPlaceForSocket, now) }
        if server.isStarting { return openSocket() }
        guard !works.has(.version) else { return }
        work(.version, .run(own.versionPlan, input: [], outputLimit: 4_096, deadline: .seconds(20)))
    }

    private mutating func openSocket() {
        guard case .dialling = life.state else { return }
        orders.append(.open(Self.mainChannel, .socket(settings.socketPlan)))
    }

    mutating func versionIs(_ result: WorkResult, _ now: Occasion) {
        guard case .dialling = life.state else { return }
        server.fault = nil
        switch result {
        case .ran(.exited(0), let output, _):
            let text = String(decoding: output, as: UTF8.self)
            let version = CodexTrouble.version(in: text)
            if let version, !CodexTrouble.isTooOld(version) {
                server.version = version
            } else {
                server.fault =
                    version.map { .tooOld($0) }
                    ?? .notInstalled("\(settings.name) --version says “\(text.prefix(80))”")
            }
        case .ran(let end, _, let errors):
            server.fault = .notInstalled("of `\(settings.name) --version`: \(end.words(errors))")
        case .failed(let failure): server.fault = .notInstalled(failure.message)
        default: break
        }
        // Try the socket whatever the program said: a running server may have open turns.
        openSocket()
    }

    mutating func happenedToMain(_ event: ChannelEvent, _ now: Occasion) {
        switch event {
        case .opened:
            guard life.opened(awaiting: .initialize, at: now.now) else { return }
            requests = CodexRequests()
            let params = CodexFrames.initialize(version: settings.version)
            ask(.initialize, "initialize", params, for: LinkLife<Awaited, Void>.handshakeLimit, now)
        case .heard: _ = life.heard(read: now.read)
        case .refused(let status, _):
            let isToken = status == 401
            let remedy = isToken ? LinkRemedy("check CODEX_TOKEN", exitCode: .agentTokenMissing) : nil
            lose("the server refused the connection with \(status)", isToken ? .byLongBackOff : .byBackOff, remedy, now)
        // A lost connection does not mean a dead server, which cuts slow clients without a word (codex.md#known-bugs).
        case .failed(let message, _) where life.isLive || life.hasGreeting: lose(message, .byBackOff, nil, now)
        case .failed(let message, .absent): notOpened(message, now)
        case .failed(let message, .foreignListener) where settings.own != nil:
            // The server started in the meantime could not listen on this socket.
            if server.isStarting { server.process = .unknown }
            troubled(.foreignSocket(message), now)
        // The server may be alive and overloaded: replacing it would end its turns.
        case .failed(let message, _):
            server.tries.doesNotAnswer(at: now.now)
            lose(message, .byBackOff, nil, now)
        case .closed(let code, _): lose("the server closed the connection (\(code))", .byBackOff, nil, now)
        case .spawned, .skipped, .exited, .waits, .wanted: break
        }
    }

    mutating func initialized(_ result: FrameNode, _ now: Occasion) {
        guard case .greeting(.initialize, _) = life.state else { return }
        mind.version = result["userAgent"]?.string.flatMap { CodexTrouble.version(in: $0) } ?? Self.unknownVersion
        orders.append(.send(Self.mainChannel, CodexFrames.initialized))
        life.awaits(.account, at: now.now)
        // Warnings about the configuration come before the answer to `account/read`.
        if case .configuration = mind.trouble { mind.trouble = nil }
        ask(.account, "account/read", CodexFrames.none, for: LinkLife<Awaited, Void>.handshakeLimit, now)
    }

    mutating func accountIs(_ result: FrameNode, _ now: Occasion) {
        guard case .greeting(.account, _) = life.state else { return }
        server.tries.greeted(at: now.now)
        if settings.own != nil { server.process = .running }
        life.greeted((), silence: Self.silence, at: now.now, read: now.read)
        orders.append(.mayPause(Self.mainChannel, true))
        mind.decisions.waitAgain(at: now.read)
        // A broken configuration comes before the login: the defaults that it leaves have an account of their own, or none.
        if mind.version != Self.unknownVersion, CodexTrouble.isTooOld(mind.version) {
            troubled(.tooOld(mind.version), now)
        } else if case .configuration(let details) = mind.trouble {
            troubled(.configuration(details), now)
        } else if CodexTrouble.isLoggedOut(result) {
            troubled(.loggedOut, now)
        } else {
            mended(now)
        }
        join(now)
        restartIfOutdated(now)
    }

    /// Joins suspect threads one after the other, to find the one that ends the server.
    private mutating func join(_ now: Occasion) {
        var delay: Duration?
        for session in chats.sorted {
            let isSuspect = (chats.awake[session]?.link.losses ?? 0) >= CodexChat.lossesOfWhole
            change(session, now) { $0.linkUp(after: isSuspect ? delay : nil, at: now.read) }
            if isSuspect { delay = (delay ?? .zero) + Self.joinPause }
        }
    }

    /// From here on the core hands messages over.
    private mutating func announce(_ now: Occasion) {
        if let trouble = mind.trouble {
            orders.append(.note(.remedy("\(trouble.reason); \(trouble.remedy)")))
            mind.nextLook = now.now + Self.lookAgain
        }
        guard !mind.isAnnounced else { return }
        mind.isAnnounced = true
        orders += [.state(.up(version: mind.version, scopes: nil)), .observed([.linkBack])]
    }

    // MARK: Trouble

    /// Refuses waiting prompts. An open turn is followed to its end if the server is reachable; otherwise it fails with the second
    /// look.
    mutating func troubled(_ trouble: CodexTrouble, _ now: Occasion) {
        if !life.isLive, !life.hasGreeting { _ = life.leave(at: now.now) }
        let isNews = mind.trouble != trouble
        mind.trouble = trouble
        if !life.isLive, life.hasGreeting { return }
        if isNews { orders.append(.note(.words(trouble.reason))) }
        let isOver = !life.isLive && mind.lookUntil != nil
        refuseWaiting()
        for session in chats.sorted {
            change(session, now) { $0.refusePrompts(trouble.sentence) + (isOver ? $0.failTurns(trouble.reason) : []) }
        }
        announce(now)
    }

    private mutating func mended(_ now: Occasion) {
        mind.trouble = nil
        mind.nextLook = nil
        mind.lookUntil = nil
        let waiting = mind.waiting
        mind.waiting = []
        announce(now)
        for one in waiting { change(one.session, now) { $0.send(one.prompt, at: now.read) } }
    }

    private mutating func refuseWaiting() {
        guard let trouble = mind.trouble else { return }
        mind.lookUntil = nil
        for one in mind.waiting {
            let answer = SendAnswer.notSent(sentence: trouble.sentence)
            orders.append(.observed([.sendAnswered(asked: one.prompt.run, answer)]))
        }
        mind.waiting = []
    }

    /// Checks whether a person has mended the trouble.
    mutating func look(_ now: Occasion) {
        mind.nextLook = nil
        guard mind.trouble != nil, mind.lookUntil == nil else { return }
        mind.lookUntil = now.now + Self.lookLimit
        guard life.isLive else {
            if !life.hasSocket { dial(now) }
            return
        }
        // A running server never reads its files again: end it.
        if settings.own != nil, chats.areIdle, server.name != nil { return endIfIdle(.look, now) }
        drop("Codex is looked at again", .atOnce, now)
    }

    mutating func concludeLook(_ now: Occasion) {
        refuseWaiting()
        mind.lookUntil = nil
        if mind.trouble != nil { mind.nextLook = now.now + Self.lookAgain }
    }

    // MARK: Down

    mutating func drop(_ reason: String, _ redial: Redial, _ now: Occasion) {
        guard server.process != .ending else { return }
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "reconnecting"))) }
        lose(reason, redial, nil, now)
    }

    mutating func lose(_ reason: String, _ redial: Redial, _ remedy: LinkRemedy?, _ now: Occasion) {
        if let own = settings.own, server.isStarting {
            return server.isLate(at: now.now) ? neverAnswers(own, "answer its clients", now) : tryAgain(now)
        }
        leaveLive(now)
        let soon = server.tries.isLost(at: now.now)
        _ = life.lose(reason, settings.own == nil ? redial : soon, at: now.now)
        if server.tries.isWedged(at: now.now), server.name != nil {
            server.tries.isForgiven()
            orders.append(.note(.words("Codex's server does not answer and is ended")))
            return restart(now)
        }
        var random = SeededGenerator(seed: now.random)
        switch life.settle(at: now.now, using: &random) {
        case .dial: dial(now)
        case .wait(let reason, let until):
            if mind.trouble == nil || mind.isAnnounced {
                withdraw()
                orders.append(.state(.waiting(reason: reason, retryAt: until, remedy: remedy)))
            }
        case nil: break
        }
    }

    /// Clears all that belongs to one connection.
    mutating func leaveLive(_ now: Occasion) {
        for purpose in requests.takeAll() {
            if case .models(let query) = purpose {
                orders.append(.replied(query, .refused(message: "the connection to Codex is lost")))
            }
        }
        efforts = nil
        server.rest.connectionLost()
        guard life.isLive else { return }
        for session in chats.sorted { change(session, now) { $0.linkDown(at: now.read) } }
        withdraw()
    }

    private mutating func withdraw() {
        guard mind.isAnnounced else { return }
        mind.isAnnounced = false
        orders.append(.observed([.linkLost]))
    }

    // MARK: Time

    mutating func watch(_ now: Occasion) {
        switch life.due(at: now.now, read: now.read) {
        case .unopened:
            server.tries.doesNotAnswer(at: now.now)
            drop("the server did not take the connection", .byBackOff, now)
        case .ungreeted:
            server.tries.doesNotAnswer(at: now.now)
            drop("the server did not greet", .byBackOff, now)
        case .silent: drop("the server fell silent", .byBackOff, now)
        case .redial: dial(now)
        case nil: break
        }
    }

    mutating func wakeUp(_ now: Occasion) {
        guard life.wokeUp() else {
            if case .lost = life.state { dial(now) }
            return
        }
        drop(LinkLife<Awaited, Void>.sleepReason, .atOnce, now)
    }
}

extension LinkLife {
    /// A handshake is under way.
    var hasGreeting: Bool { if case .greeting = state { true } else { false } }
}
