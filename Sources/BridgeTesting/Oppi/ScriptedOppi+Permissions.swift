import BridgeModel

// What a run asks of its owner (oppi.md#permissions, oppi.md#extension-dialogs).
extension ScriptedOppi {
    private static let never = Int64(100 * 365) * 86_400_000

    func ask(_ id: String, _ command: String, _ run: OppiRun, _ session: OppiSession) {
        run.waitsFor = id
        let input: GatewayValue = ["command": "\(command)"]
        run.asked = input
        if habits.choices > 0, !isOfAnotherClient(run.prompt), random.happens(habits.choices) {
            return askDialog(id, command, run, session)
        }
        let expires = habits.approvalTimeout != nil
        let timeout = habits.approvalTimeout.map { $0.nanoseconds / 1_000_000 } ?? Self.never
        let frame: GatewayValue = [
            "type": "permission_request", "id": "\(id)", "sessionId": "\(session.id)", "tool": "bash",
            "input": input, "displaySummary": "\(Self.summary(of: command))", "reason": "Run it?",
            "timeoutAt": .integer(Int(wallMilliseconds + timeout)), "expires": .flag(expires),
        ]
        permissions[id] = OppiPermission(session: session, run: run, frame: frame)
        sayToAll(frame)
        if let limit = habits.approvalTimeout {
            time.after(limit) { [self] in
                guard permissions.removeValue(forKey: id) != nil else { return }
                sayToAll(["type": "permission_expired", "id": "\(id)", "reason": "Approval timeout"])
                goOn(run, afterYes: false, "Approval timeout", session)
            }
        }
        guard isOfAnotherClient(run.prompt) || random.happens(habits.elsewhere) else { return }
        // It is announced to no client.
        time.after(.milliseconds(Int64.random(in: 300...3_000, using: &random))) { [self] in
            let isYes = random.happens(0.5)
            if permissions.removeValue(forKey: id) != nil { goOn(run, afterYes: isYes, "Denied by user", session) }
        }
    }

    /// As the server makes it for a phone: no account of the command (oppi.md#permissions).
    static func summary(of command: String) -> String {
        guard let script = command.firstMatch(of: /\.\/scripts\/(nav|eval|screenshot)\.js(?:\s+["']?([^"'\s]*))?/)
        else {
            return command
        }
        let given = script.2.map { String($0) } ?? ""
        switch script.1 {
        case "nav": return "Navigate: \(given.replacing("https://", with: "").prefix(80))"
        case "eval": return "JS: \(given.prefix(120))"
        default: return "Screenshot"
        }
    }

    /// A command by the shell, any other tool with its whole input.
    private func executes(_ id: String, _ run: OppiRun) {
        guard !run.isOver, let input = run.asked else { return }
        let command = input["command"]?.string
        executed.append(
            AgentExecuted(
                // As pi's shell tool, which runs in the session's folder whatever the input says of one.
                id, command: command, input: command == nil ? String(decoding: input.bytes, as: UTF8.self) : nil))
    }

    func isOfAnotherClient(_ prompt: String) -> Bool { prompt.hasPrefix("Foreign ") }

    func answerPermission(_ frame: GatewayValue, on number: Int) {
        let id = frame["id"]?.string ?? ""
        let isYes = frame["action"]?.string == "allow"
        guard let permission = permissions.removeValue(forKey: id) else {
            return complain("Permission request not found: \(id)", on: number)
        }
        decided.append(AgentDecided(id, isYes: isYes))
        result(frame, on: number)
        if isYes { executes(id, permission.run) }
        goOn(permission.run, afterYes: isYes, "Denied by user", permission.session)
    }

    func withdrawPermissions(of session: OppiSession) {
        for id in permissions.keys.sorted() where permissions[id]?.session === session {
            permissions[id] = nil
            if !isSeed { sayToAll(["type": "permission_cancelled", "id": "\(id)"]) }
        }
    }

    // MARK: Dialogs

    /// Of these `ask` alone is shown again to those who come later; the others end by themselves.
    private func askDialog(_ id: String, _ command: String, _ run: OppiRun, _ session: OppiSession) {
        let method = random.pick(["confirm", "select", "ask"])
        var frame: GatewayValue = [
            "type": "extension_ui_request", "id": "\(id)", "sessionId": "\(session.id)", "method": "\(method)",
        ]
        let options = [ScriptedChoice.yes(id), "Later", ScriptedChoice.no(id)]
        switch method {
        case "confirm": frame = frame.with("title", "Run it?").with("message", "\(command)")
        case "select":
            questions.insert(id)
            frame = frame.with("title", "\(ScriptedChoice.title(id))")
                .with("options", .array(options.map { .text($0) }))
        default:
            questions.insert(id)
            let listed = options.map { option -> GatewayValue in ["value": "\(option)", "label": "\(option)"] }
            let question: GatewayValue = [
                "id": "q", "question": "\(ScriptedChoice.title(id))", "options": .array(listed),
            ]
            frame = frame.with("questions", .array([question])).with("allowCustom", false)
        }
        let limit = Duration.milliseconds(random.pick([8_000, 20_000]))
        if method != "ask" { frame = frame.with("timeout", .integer(Int(limit.nanoseconds / 1_000_000))) }
        session.activation?.dialog = (id, frame)
        for (number, isFull) in (session.activation?.followers ?? [:]).sorted(by: { $0.key < $1.key }) where isFull {
            say(frame, on: number)
        }
        guard method != "ask" else { return }
        time.after(limit) { [self] in
            guard session.activation?.dialog?.id == id else { return }
            session.activation?.dialog = nil
            goOn(run, afterYes: false, "No answer", session)
        }
    }

    func answerDialog(_ frame: GatewayValue, _ session: OppiSession, on number: Int) {
        let id = frame["id"]?.string ?? ""
        guard let activation = session.activation, activation.dialog?.id == id, let run = activation.run else {
            return complain("UI request not found: \(id)", of: session.id, on: number)
        }
        let value = frame["value"]?.string
        let chosen = value.flatMap { GatewayValue.parse(Array($0.utf8))?["q"]?.string } ?? value
        let isYes = frame["confirmed"] == .flag(true) || chosen == ScriptedChoice.yes(id)
        activation.dialog = nil
        decided.append(AgentDecided(id, isYes: isYes))
        if isYes, !questions.contains(id) { executes(id, run) }
        goOn(run, afterYes: isYes, "Declined", session)
    }
}
