import AgentKit
import Links
import Vocabulary

// The process of the own server: started if its socket does not open, ended if it is outdated or does not answer.
extension CodexMachine {
    mutating func notOpened(_ message: String, _ now: Occasion) {
        guard let own = settings.own else { return lose(message, .byBackOff, nil, now) }
        switch server.process {
        case .starting where server.isLate(at: now.now): neverAnswers(own, "listen on its socket", now)
        case .starting: tryAgain(now)
        case .queued:
            tryAgain(now)
            queue(own, now)
        case .unknown, .running:
            if let fault = server.fault { return troubled(fault, now) }
            server.process = .queued(until: now.now + CodexServer.queueLimit)
            server.isOrdered = false
            tryAgain(now)
            queue(own, now)
        case .ending: tryAgain(now)
        }
    }

    /// Ends the started server, which has no client and thus no turn.
    mutating func neverAnswers(_ own: CodexSettings.Own, _ what: String, _ now: Occasion) {
        server.process = .unknown
        server.name = nil
        orders.append(.close(Self.serverChannel, .child(atOnce: true)))
        leaveLive(now)
        _ = life.leave(at: now.now)
        troubled(.cannotStart("it does not \(what); its log is \(own.log)"), now)
    }

    private mutating func queue(_ own: CodexSettings.Own, _ now: Occasion) {
        guard let lock = own.lock else { return keepServer(now) }
        if !works.has(.lock(lock)) { work(.lock(lock), .lock(path: lock)) }
    }

    /// Another process holds the start lock: retry at the next socket poll, and start unlocked after `queueLimit`.
    mutating func lockIs(_ path: String, _ result: WorkResult, _ now: Occasion) {
        if case .done = result { server.locks.append(path) }
        guard case .queued(let until) = server.process else { return }
        if case .failed(let failure) = result, failure.code == .full, until > now.now { return }
        keepServer(now)
    }

    private mutating func keepServer(_ now: Occasion) {
        guard let own = settings.own else { return }
        server.process = .starting(until: now.now + CodexServer.startLimit)
        let mark = server.mark(own)
        server.startedWith = mark
        work(.keepServer, .keep([Fact(Self.serverFact, Array(mark.utf8))]))
    }

    /// Releases the start locks once no start is in flight, successful or not.
    mutating func letOthersStart() {
        guard !server.isStarting else { return }
        for lock in server.locks { work(.aside, .unlock(path: lock)) }
        server.locks = []
    }

    mutating func tryAgain(_ now: Occasion) {
        leaveLive(now)
        _ = life.lose("Codex's server is starting", .after(CodexServer.tryAgain), at: now.now)
        var random = SeededGenerator(seed: now.random)
        _ = life.settle(at: now.now, using: &random)
    }

    mutating func serverIsNotKept(_ now: Occasion) {
        // The start was never ordered: the next dial begins anew.
        server.process = .unknown
        troubled(.cannotStart("the journal cannot be written"), now)
    }

    /// Finds which servers of earlier bridges still run.
    mutating func serversAre(_ result: WorkResult) {
        guard case .alive(let alive) = result, server.child == nil, server.process != .ending else { return }
        server.name = alive.max { $0.startTicks < $1.startTicks }
    }

    mutating func openServer() {
        guard server.isStarting, let own = settings.own else { return }
        server.logStart = nil
        work(.logStart, .read(path: own.log, from: 0, limit: 0))
    }

    /// The size now separates the new server's last words from older text.
    mutating func logStartIs(_ result: WorkResult) {
        // No log exists before the first start.
        if case .read(_, let size) = result { server.logStart = size } else { server.logStart = 0 }
        guard case .starting = server.process, let own = settings.own, !server.isOrdered else { return }
        server.isOrdered = true
        orders.append(.open(Self.serverChannel, .child(own.serverPlan)))
    }

    mutating func happenedToServer(_ event: ChannelEvent, _ now: Occasion) {
        switch event {
        case .spawned(let name):
            server.child = name
            // Another server may have answered first; the started one then ends by itself.
            if server.isStarting { (server.before, server.name) = (server.name, name) }
        case .failed(let message, _): serverEnded(message, now)
        // The socket was lost first, so another start is already queued.
        case .exited where server.isStarting && !server.isOrdered: server.name = nil
        case .exited where !server.isStarting && server.child != server.name: server.child = nil
        case .exited(let end, _):
            server.end = end
            // A server writes only to its log; once started it may write words of chats there.
            guard let own = settings.own, server.isStarting else { return serverEnded("", now) }
            guard let start = server.logStart else { return endedWhileStarting("", now) }
            work(.logEnd, .complaints(log: own.log, from: start, limit: 1 << 16))
        case .opened, .heard, .skipped, .refused, .closed, .waits, .wanted: break
        }
    }

    mutating func logEndIs(_ result: WorkResult, _ now: Occasion) {
        guard case .read(let bytes, _) = result else { return endedWhileStarting("", now) }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        endedWhileStarting(lines.suffix(2).joined(separator: "\n"), now)
    }

    private mutating func endedWhileStarting(_ lastWords: String, _ now: Occasion) {
        // An earlier process of the bridge is starting a server: keep trying its socket.
        if server.isStarting, CodexServer.isBesideAnother(lastWords) {
            (server.child, server.name) = (nil, server.before)
            return
        }
        let log = settings.own.map { "; its log is \($0.log)" } ?? ""
        serverEnded((server.end?.words(lastWords) ?? "its process ended") + log, now)
    }

    private mutating func serverEnded(_ words: String, _ now: Occasion) {
        let wasStarting = server.isStarting
        server.name = nil
        if server.process != .ending { server.process = .unknown }
        guard wasStarting else { return }
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "no server"))) }
        _ = life.leave(at: now.now)
        troubled(.cannotStart(words), now)
    }

    /// Restarts an outdated server as soon as nothing continues in it.
    mutating func restartIfOutdated(_ now: Occasion) {
        guard let own = settings.own, life.isLive, server.isOutdated(own), server.name != nil, chats.areIdle else {
            server.rest.nextLook = nil
            return
        }
        endIfIdle(.outdated, now)
    }

    mutating func restart(_ now: Occasion) {
        guard let name = server.name, server.process != .ending else { return }
        server.process = .ending
        server.rest = CodexRest()
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "starting again"))) }
        leaveLive(now)
        _ = life.leave(at: now.now)
        work(.ended, .end(name, grace: CodexServer.grace))
    }

    mutating func serverHasEnded(_ now: Occasion) {
        guard server.process == .ending else { return }
        server.process = .unknown
        server.name = nil
        dial(now)
    }
}
