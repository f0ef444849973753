import AgentKit
import JSONReading
import Vocabulary

// The server's limits on active sessions (oppi.md#session-limits).
extension OppiChat {
    static let placeInterval = Duration.seconds(5)
    /// How long a session must be silent before it is stopped: one with status
    /// `ready` may be between two attempts, or about to begin.
    static let restBeforeStop = Duration.seconds(60)
    /// Allowance for frames after a run's end, and for the age of the server's list.
    static let behindEnd = Duration.seconds(2)

    static func isOfLimits(_ error: String) -> Bool { error.contains("session limit reached") }

    /// Makes the message wait until an idle chat's session gives up its place.
    mutating func lacksPlace(_ error: String, at now: Instant) -> [Order] {
        let isNews = link.lacksPlace == nil
        link.lacksPlace = error
        leaveSocket()
        way = .waiting(until: now + Self.placeInterval)
        let note: [Order] = isNews ? [.note("a chat waits for a place at the server: \(error)")] : []
        return [.close(reason: "there is no place for its session")] + note + [.makeRoom(without: link.stopped)]
    }

    /// `native`: the session that was stopped for this one, or nil if none could be.
    mutating func madeRoom(_ native: String?, at now: Instant) -> [Order] {
        guard link.lacksPlace != nil, let native else { return [] }
        link.stopped.insert(native)
        if case .waiting = way { way = .absent }
        return advance(at: now)
    }

    var noPlace: String? {
        link.lacksPlace.map {
            "Oppi has no place for another chat (\($0)), so the message was not sent. "
                + "Please stop a session in Oppi, and send it again."
        }
    }
}

extension OppiMachine {
    func room(for session: AgentSession) -> Work? {
        guard let place = chats.place(of: session) else { return nil }
        return rest.get("/workspaces/\(place.workspace)/sessions")
    }

    /// Stops the session of an idle chat, the one that has been idle longest.
    mutating func tookPlaces(
        _ answer: OppiRest.Answer, for session: AgentSession, without stopped: Set<String>, _ now: Occasion
    ) {
        let sessions = answer.body?["sessions"]?.elements ?? []
        // A child session delivers its results to its parent, so a session with live children stays.
        let parents = Set(
            sessions.filter { $0["status"]?.holds("stopped") != true }.compactMap { $0["parentSessionId"]?.string })
        let epoch = server.epoch ?? now.now - .milliseconds(now.wallMilliseconds)
        let latest = (now.now - OppiChat.restBeforeStop - epoch).nanoseconds / 1_000_000
        let idle = sessions.compactMap { item -> (native: String, last: Int)? in
            guard let native = item["id"]?.string, !stopped.contains(native), item["status"]?.holds("ready") == true,
                !parents.contains(native), let owner = chats.session(of: native), owner != session, mayRest(owner)
            else { return nil }
            let last = item["lastActivity"]?.integer(in: .wallMilliseconds) ?? 0
            let isQuiet = main.signs[native].map { $0 + OppiChat.restBeforeStop <= now.now } ?? true
            return last <= latest && isQuiet || isBehindEnd(native, last, epoch) ? (native, last) : nil
        }
        guard let longest = idle.min(by: { ($0.last, $0.native) < ($1.last, $1.native) }),
            let owner = chats.session(of: longest.native), let path = chats.place(of: owner)?.path
        else { return change(session, now) { $0.madeRoom(nil, at: now.read) } }
        main.stopping.insert(longest.native)
        work(.stop(longest.native, for: session), rest.post("\(path)/stop", Array("{}".utf8)))
    }

    /// Whether no frame of the session came since a run in it ended complete.
    private func isBehindEnd(_ native: String, _ last: Int, _ epoch: Instant) -> Bool {
        guard let end = main.ends[native].map({ $0 + OppiChat.behindEnd }) else { return false }
        return main.signs[native].map { $0 <= end } ?? true && last <= (end - epoch).nanoseconds / 1_000_000
    }

    mutating func notesEnds(_ observations: [Observation], of session: AgentSession, _ now: Occasion) {
        guard let native = chats.place(of: session)?.native else { return }
        for case .signal(let signal) in observations {
            switch signal.event {
            case .finished(let end) where end.reason == .stop: main.ends[native] = now.now
            case .started, .text, .tool, .approvalRequested, .asked, .retrying, .failed, .finished:
                main.ends[native] = nil
            case .approvalSettled, .questionSettled, .paused, .alive: break
            }
        }
    }

    /// A message of the chat that gave up its place may have waited for that.
    mutating func stoppedFor(_ session: AgentSession, _ native: String, _ now: Occasion) {
        main.stopping.remove(native)
        change(session, now) { $0.madeRoom(native, at: now.read) }
        if let owner = chats.session(of: native) { change(owner, now) { $0.advance(at: now.read) } }
    }

    /// The main stream shows activity in the session.
    mutating func showsLife(_ root: FrameNode, _ now: Occasion) {
        guard let native = root["sessionId"]?.string, chats.session(of: native) != nil else { return }
        main.signs[native] = now.now
    }

    private func mayRest(_ owner: AgentSession) -> Bool {
        guard let chat = chats[owner] else { return true }
        return chat.turn == nil && chat.waiting.isEmpty && !chat.link.isBusy && chat.decoder?.isRunning != true
    }
}
