import Vocabulary

// Subscriptions, and the beginning and end of a session's agent.
extension ScriptedOppi {
    private static let durable: Set = [
        "agent_start", "agent_end", "message_end", "tool_start", "tool_end", "stop_requested", "stop_confirmed",
        "stop_failed", "session_ended", "error",
    ]
    private static let notified: Set = [
        "agent_start", "agent_end", "state", "session_ended", "stop_requested", "stop_confirmed", "stop_failed",
        "error",
    ]
    private static let droppable: Set = ["text_delta", "thinking_delta", "tool_output"]
    private static let idleLimit = Duration.seconds(600)

    // MARK: Frames for followers

    func emit(_ type: String, _ session: OppiSession) { emit(type, [:], session) }

    func emit(_ type: String, _ members: GatewayValue, _ session: OppiSession) {
        guard let activation = session.activation else { return }
        activation.touched = time.now
        session.lastActivity = wallMilliseconds
        if habits.noise > 0, random.happens(habits.noise) { makeNoise(session, activation) }
        var frame: GatewayValue = ["type": "\(type)"]
        if case .object(let more) = members { for member in more { frame = frame.with(member.name, member.value) } }
        if Self.durable.contains(type) {
            activation.sequence += 1
            frame = frame.with("seq", .integer(activation.sequence))
        }
        frame = frame.with("sessionId", "\(session.id)")
        if Self.durable.contains(type) {
            activation.ring.append(.init(sequence: activation.sequence, frame: frame))
            if activation.ring.count > habits.ring { activation.ring.removeFirst() }
        }
        for (number, isFull) in activation.followers.sorted(by: { $0.key < $1.key }) {
            guard isFull || Self.notified.contains(type) else { continue }
            if habits.drops > 0, Self.droppable.contains(type), random.happens(habits.drops) { continue }
            say(frame, on: number)
        }
    }

    /// Frames that a client must ignore: a child's state under its parent's name, and unknown types.
    private func makeNoise(_ session: OppiSession, _ activation: OppiActivation) {
        let child = OppiSession("child\(session.id)")
        child.status = random.pick(["busy", "ready"])
        let frame: GatewayValue = random.pick([
            ["type": "state", "session": child.value],
            ["type": "git_status", "workspaceId": "w1", "status": ["isGitRepo": true]],
            ["type": "extension_ui_notification", "method": "notify", "message": "Saved.", "notifyType": "info"],
            ["type": "extension_ui_notification", "method": "setStatus", "statusKey": "k", "statusText": "sowing"],
            // The widget's content is missing.
            ["type": "extension_ui_notification", "method": "setWidget"],
            ["type": "extension_ui_notification", "method": "setTitle"],
            ["type": "weather_report", "seqs": 7],
        ])
        for (number, isFull) in activation.followers.sorted(by: { $0.key < $1.key }) where isFull {
            say(frame.with("sessionId", "\(session.id)"), on: number)
        }
    }

    func tellState(_ session: OppiSession, _ status: String? = nil) {
        session.status = status ?? session.status
        emit("state", ["session": session.value], session)
    }

    // MARK: Subscribing

    func subscribe(_ frame: GatewayValue, on number: Int, done: @escaping () -> Void) {
        let id = frame["sessionId"]?.string ?? ""
        let isFull = frame["level"]?.string != "notifications"
        let since = frame["sinceSeq"]?.number
        if !isSeed, isTooOften(number) {
            result(frame, error: "Subscribe rate limit exceeded — try again later", on: number)
            return done()
        }
        guard let session = session(id) else {
            result(frame, error: "Session not found: \(id)", on: number)
            return done()
        }
        if !isSeed, since == nil, lines[number]?.levels[id] == isFull {
            let data: GatewayValue = [
                "sessionId": "\(id)", "level": isFull ? "full" : "notifications",
                "currentSeq": .integer(session.activation?.sequence ?? 0), "catchUpComplete": true,
                "deduplicated": true,
            ]
            result(frame, data: data, on: number)
            return done()
        }
        // The downgrade happens even if no place is free below.
        if isFull, isSeed { downgradeOthers(than: session, on: number) }
        guard isFull, session.activation == nil else {
            enter(frame, session, isFull, since, on: number)
            return done()
        }
        if lacksPlace {
            result(frame, error: "Workspace session limit reached (\(habits.places))", on: number)
            return done()
        }
        time.after(habits.startup) { [self] in
            if self.session(id) == nil {
                result(frame, error: "Session not found: \(id)", on: number)
            } else {
                activate(session)
                enter(frame, session, isFull, since, on: number)
            }
            done()
        }
    }

    private func isTooOften(_ number: Int) -> Bool {
        let recent = (lines[number]?.subscribed ?? []).filter { time.now - $0 <= .seconds(5) } + [time.now]
        lines[number]?.subscribed = recent
        return recent.count > 30
    }

    /// Enters at once, with no live frame of this session in between (oppi.md#frame-order-both-dialects).
    private func enter(_ frame: GatewayValue, _ session: OppiSession, _ isFull: Bool, _ since: Int?, on number: Int) {
        guard lines[number] != nil else { return }
        lines[number]?.levels[session.id] = isFull
        var missed: [GatewayValue]? = []
        let current = session.activation?.sequence ?? 0
        if let activation = session.activation {
            activation.followers[number] = isFull
            activation.touched = time.now
            if let since { missed = activation.missed(since: since) }
        }
        let envelope: GatewayValue = ["session": session.value, "sessionId": "\(session.id)"]
        if isFull { say(envelope.with("type", "connected").with("currentSeq", .integer(current)), on: number) }
        say(envelope.with("type", "state"), on: number)
        for frame in missed ?? [] { say(frame, on: number) }
        for id in permissions.keys.sorted() where permissions[id]?.session === session {
            if let permission = permissions[id] { say(permission.frame, on: number) }
        }
        if !isSeed, let dialog = session.activation?.dialog, dialog.isShownAgain {
            say(dialog.frame, on: number)
        }
        let data: GatewayValue = [
            "sessionId": "\(session.id)", "level": isFull ? "full" : "notifications", "currentSeq": .integer(current),
            "catchUpComplete": .flag(missed != nil),
        ]
        result(frame, data: data, on: number)
    }

    private func downgradeOthers(than session: OppiSession, on number: Int) {
        for (id, isFull) in lines[number]?.levels ?? [:] where isFull && id != session.id {
            lines[number]?.levels[id] = false
            let other = self.session(id)
            if other?.activation?.followers[number] != nil { other?.activation?.followers[number] = false }
        }
    }

    // MARK: Life

    /// Kinder than the real server: if the bridge could stop no session, it gets a place anyway, because the judge
    /// measures its promptness.
    private var lacksPlace: Bool {
        let active = sessions.filter { $0.activation != nil }
        guard active.count >= habits.places else { return false }
        return active.contains {
            guard let activation = $0.activation else { return false }
            return activation.run == nil && time.now - activation.touched > Self.rest && isOfBridge($0)
        }
    }

    /// A client stops no session that was busy a moment ago.
    private static let rest = Duration.seconds(65)

    private func isOfBridge(_ session: OppiSession) -> Bool {
        !session.prompts.isEmpty && !session.prompts.contains { isOfAnotherClient($0) }
    }

    func makeSession() -> OppiSession {
        sessionCount += 1
        let session = OppiSession("s-\(sessionCount)_\(String(random.next() % 46_656, radix: 36))")
        sessions.append(session)
        return session
    }

    func activate(_ session: OppiSession) {
        guard session.activation == nil else { return }
        session.status = "ready"
        let activation = OppiActivation(at: time.now)
        session.activation = activation
        endIfIdle(session, activation)
    }

    private func endIfIdle(_ session: OppiSession, _ activation: OppiActivation) {
        time.at(activation.touched + Self.idleLimit) { [self] in
            guard session.activation === activation else { return }
            guard time.now >= activation.touched + Self.idleLimit else { return endIfIdle(session, activation) }
            // The idle timer ignores a running run.
            stopsSession(session)
        }
    }

    /// Ends the session as `stop_session`, the REST route or the idle timer does.
    func stopsSession(_ session: OppiSession) {
        guard session.activation != nil else { return }
        emit("stop_requested", ["source": "user"], session)
        tellState(session, "stopping")
        withdrawPermissions(of: session)
        emit("stop_confirmed", ["source": "user"], session)
        end(session, "stopped")
    }

    /// Numbers, ring and turns are gone. Subscriptions stay on their sockets without carrying anything.
    func end(_ session: OppiSession, _ reason: String) {
        guard session.activation != nil else { return }
        session.status = "stopped"
        withdrawPermissions(of: session)
        emit("session_ended", ["reason": "\(reason)"], session)
        kill(session)
    }

    /// Ends the agent in silence.
    func kill(_ session: OppiSession) {
        if let run = session.activation?.run {
            run.isOver = true
        }
        losePrompts(of: session)
        session.activation = nil
        loseUnwritten(session)
    }

    /// Loses prompts without an answer.
    func losePrompts(of session: OppiSession) {
        guard let activation = session.activation else { return }
        if let run = activation.run { lost.formUnion(run.steered + [run.prompt]) }
        lost.formUnion(activation.queue.map(\.text))
    }

    /// A trace without an answer has nothing on the disk.
    private func loseUnwritten(_ session: OppiSession) {
        guard !session.unwritten.isEmpty else { return }
        session.unwritten = []
        for prompt in session.prompts {
            lost.insert(prompt)
            // No trace of the prompt exists anywhere.
            asked.removeAll { $0.what == .prompt && $0.prompt == prompt }
        }
        session.prompts = []
    }
}
