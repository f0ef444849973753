import Vocabulary

// Commands of a session that a socket follows at full, and the handover of a prompt
// (oppi.md#turn-delivery-clientturnid-and-turn_ack).
extension ScriptedOppi {
    private static let turnLife = Duration.seconds(15 * 60)
    private static let turnLimit = 256

    func command(_ type: String, _ frame: GatewayValue, on number: Int) {
        guard let id = frame["sessionId"]?.string, !id.isEmpty else {
            return complain("sessionId is required for \(type) on /stream", on: number)
        }
        guard lines[number]?.levels[id] == true else {
            let error = "Session \(id) is not subscribed at level=full"
            if isSeed { return complain(error, of: id, on: number) }
            complain(error, of: id, code: "stream_not_subscribed_full", on: number)
            return result(frame, error: error, on: number)
        }
        guard let session = session(id) else { return complain("Session not found: \(id)", on: number) }
        guard let activation = session.activation else {
            if type != "get_state" { result(frame, error: "Session not active: \(id)", on: number) }
            return
        }
        switch type {
        case "prompt", "steer", "follow_up":
            activation.touched = time.now
            if let refusal = take(type, frame, session, activation) {
                result(frame, error: refusal, on: number)
            } else {
                result(frame, on: number)
            }
        case "stop", "abort":
            if let run = activation.run, run.isStreaming { asked.append(AgentAsked(.abort, run.prompt)) }
            stop(session)
            result(frame, on: number)
        case "abort_retry":
            abortRetry(session)
            result(frame, on: number)
        case "get_state": say(["type": "state", "session": session.value, "sessionId": "\(id)"], on: number)
        case "stop_session":
            stopsSession(session)
            result(frame, on: number)
        case "get_queue" where !isSeed: result(frame, data: queue(of: activation), on: number)
        case "set_queue" where !isSeed: setQueue(frame, session, activation, on: number)
        case "extension_ui_response": answerDialog(frame, session, on: number)
        default:
            // The seed dialect ignores unknown commands.
            if !isSeed { result(frame, error: "Unsupported command type: \(type)", on: number) }
        }
    }

    // MARK: Turns

    /// Reason of the refusal, or nil.
    private func take(
        _ type: String, _ frame: GatewayValue, _ session: OppiSession, _ activation: OppiActivation
    ) -> String? {
        let whole = frame["message"]?.string ?? ""
        let text = ScriptedGateway.asked(whole)
        if type != "prompt", activation.run?.isStreaming != true {
            return "\(type == "steer" ? "Steer" : "Follow-up") requires an active streaming turn"
        }
        guard let id = frame["clientTurnId"]?.string else {
            breaches.append("\(text) has no turn")
            return "no turn"
        }
        let pictures = frame["images"]?.elements ?? []
        let images = pictures.map { $0["data"]?.string ?? "" }.joined(separator: ",")
        let payload = "\(type):\(whole):\(images):\(frame["streamingBehavior"]?.string ?? "")"
        activation.turns.removeAll { time.now - $0.touched > Self.turnLife }
        if let index = activation.turns.firstIndex(where: { $0.id == id }) {
            let turn = activation.turns.remove(at: index)
            activation.turns.append(turn)
            guard turn.payload == payload else { return "clientTurnId conflict: \(id)" }
            turn.touched = time.now
            acknowledge(turn, frame["requestId"], isDuplicate: true, session)
            return nil
        }
        let turn = OppiActivation.Turn(id, payload, type, at: time.now)
        activation.turns.append(turn)
        if activation.turns.count > Self.turnLimit { activation.turns.removeFirst() }
        acknowledge(turn, frame["requestId"], session)
        turn.stage = "dispatched"
        acknowledge(turn, frame["requestId"], session)
        activation.starting.append(turn)
        wholePrompts[text] = whole
        if !pictures.isEmpty { attached.append(GatewayFiles(pictures: pictures, of: text)) }
        let behaviour = type == "prompt" ? nil : type == "steer" ? "steer" : "followUp"
        handOver(text, behaviour, pictures, session, activation)
        return nil
    }

    private func acknowledge(
        _ turn: OppiActivation.Turn, _ request: GatewayValue? = nil, isDuplicate: Bool = false, _ session: OppiSession
    ) {
        let members: GatewayValue = [
            "command": "\(turn.command)", "clientTurnId": "\(turn.id)", "stage": "\(turn.stage)",
        ]
        emit("turn_ack", members.with("requestId", request).with("duplicate", isDuplicate ? true : nil), session)
    }

    /// The server guesses by the order which prompt a loop belongs to.
    func nextTurnStarts(_ session: OppiSession) {
        guard let activation = session.activation, !activation.starting.isEmpty else { return }
        let turn = activation.starting.removeFirst()
        turn.stage = "started"
        acknowledge(turn, nil, session)
    }

    /// Hands a prompt to the agent. A prompt's `streamingBehavior` never reaches it.
    func handOver(
        _ text: String, _ behaviour: String?, _ pictures: [GatewayValue] = [], _ session: OppiSession,
        _ activation: OppiActivation
    ) {
        guard let script = scripts[text] else { return breaches.append("prompt \(text)") }
        guard activation.run == nil else {
            guard let behaviour else { return reject(text, session) }
            activation.queue.append(.init(text: text, isSteering: behaviour == "steer"))
            return tellQueue(session)
        }
        runCount += 1
        let run = OppiRun(runCount, "", [])
        run.pictures = pictures.map {
            "data:\($0["mimeType"]?.string ?? "");base64,\($0["data"]?.string ?? "")"
        }
        activation.run = run
        let isLate = habits.lateBeginnings > 0 && !isOfAnotherClient(text) && random.happens(habits.lateBeginnings)
        let compacts = isLate && random.happens(0.5)
        if compacts { emit("compaction_start", ["reason": "threshold"], session) }
        time.after(isLate ? habits.lateness : script.speaksFirst ? .zero : script.answersAfter) { [self] in
            guard !run.isOver, session.activation === activation else { return }
            if compacts { emit("compaction_end", ["aborted": false, "willRetry": false], session) }
            begin(run, session)
            play(text, run, session)
        }
    }

    private static let busy =
        "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."

    /// The agent is busy and the prompt has no `streamingBehavior`. Only the head dialect reports that.
    private func reject(_ text: String, _ session: OppiSession) {
        lost.insert(text)
        guard !isSeed else { return }
        emit("error", ["error": "\(Self.busy)"], session)
    }

    /// `taken` is the item that a run took up.
    func tellQueue(_ session: OppiSession, taken: OppiActivation.Queued? = nil) {
        guard !isSeed, let activation = session.activation else { return }
        activation.queueVersion += 1
        if let taken { tellTaken(taken, session) }
        emit("queue_state", ["queue": queue(of: activation)], session)
    }

    private func queue(of activation: OppiActivation) -> GatewayValue {
        func items(_ isSteering: Bool) -> GatewayValue {
            .array(
                activation.queue.filter { $0.isSteering == isSteering }.map {
                    ["id": "q1", "message": "\(wholePrompts[$0.text] ?? $0.text)", "createdAt": 1]
                })
        }
        return [
            "version": .integer(activation.queueVersion), "steering": items(true), "followUp": items(false),
        ]
    }

    /// At rest the server accepts only an empty queue.
    private func setQueue(
        _ frame: GatewayValue, _ session: OppiSession, _ activation: OppiActivation, on number: Int
    ) {
        guard frame["baseVersion"]?.number == activation.queueVersion else {
            let known = "expected \(activation.queueVersion), got \(frame["baseVersion"]?.number ?? -1)"
            return result(frame, error: "Queue version mismatch: \(known)", on: number)
        }
        guard frame["steering"]?.elements == [], frame["followUp"]?.elements == [] else {
            return breaches.append("a queue that is not empty")
        }
        tally.note("Oppi: empties its queue for a message that no run took up")
        lost.formUnion(activation.queue.map(\.text))
        activation.queue = []
        tellQueue(session)
        result(frame, data: queue(of: activation), on: number)
    }

    /// Takes the next message of the queue, or the next one that steers.
    func takeQueued(onlySteering: Bool, _ session: OppiSession) -> String? {
        guard let activation = session.activation,
            let index = activation.queue.firstIndex(where: { $0.isSteering })
                ?? (onlySteering ? nil : activation.queue.indices.first)
        else { return nil }
        let item = activation.queue.remove(at: index)
        tellQueue(session, taken: item)
        return item.text
    }

    private func tellTaken(_ item: OppiActivation.Queued, _ session: OppiSession) {
        guard let activation = session.activation else { return }
        emit(
            "queue_item_started",
            [
                "kind": item.isSteering ? "steer" : "follow_up", "queueVersion": .integer(activation.queueVersion),
                "item": ["id": "q1", "message": "\(wholePrompts[item.text] ?? item.text)", "createdAt": 1],
            ], session)
    }

    // MARK: Stopping

    /// Ends a run that waits between two attempts. A compaction is no such wait.
    private func abortRetry(_ session: OppiSession) {
        guard let run = session.activation?.run, run.isRetrying, !run.isCompacting else { return }
        asked.append(AgentAsked(.abort, run.prompt))
        losePrompts(of: session)
        run.isOver = true
        session.activation?.run = nil
        emit(
            "retry_end",
            ["success": false, "attempt": .integer(run.attempt), "finalError": "Retry cancelled"], session)
    }

    /// Any client may stop (oppi.md#stopping).
    func stop(_ session: OppiSession) {
        guard let activation = session.activation else { return }
        guard let run = activation.run, run.isStreaming else {
            return emit("stop_confirmed", ["source": "user", "reason": "Session already idle"], session)
        }
        let before = session.status
        emit("stop_requested", ["source": "user"], session)
        tellState(session, "stopping")
        if !isSeed {
            for item in activation.queue where item.text != run.prompt { lost.insert(item.text) }
            activation.queue = []
            tellQueue(session)
        }
        guard run.stop == .no else { return }
        let isIgnored = habits.ignoresStops > 0 && random.happens(habits.ignoresStops)
        run.stop = isIgnored ? .ignored : .asked
        if isIgnored {
            stubborn.insert(run.prompt)
        } else {
            time.after(.milliseconds(Int64.random(in: 1...300, using: &random))) { [self] in
                // A call that waits for a permission or a dialog needs its decision first. A stop ends questions of
                // `ask`.
                guard !run.isOver, permissions[run.waitsFor ?? ""] == nil else { return }
                if let dialog = activation.dialog, dialog.frame["method"]?.string != "ask" { return }
                aborts(run, session)
            }
        }
        time.after(.seconds(8)) { [self] in
            guard !run.isOver else { return }
            emit("stop_requested", ["source": "server"], session)
            time.after(.seconds(5)) { [self] in
                guard !run.isOver else { return }
                if isIgnored { run.stop = .no }
                tellState(session, before)
                emit("stop_failed", ["source": "server", "reason": "The agent did not stop"], session)
            }
        }
    }
}
