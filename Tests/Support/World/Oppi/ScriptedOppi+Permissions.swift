import Vocabulary

// Asks of a run to its owner (oppi.md#permissions, oppi.md#extension-dialogs).
extension ScriptedOppi {
    private static let never = Int64(100 * 365) * 86_400_000

    func ask(_ id: String, _ command: String, _ run: OppiRun, _ session: OppiSession) {
        let trick = habits.tricks.isEmpty ? nil : random.pick(habits.tricks)
        ask(id, OppiTrick.input(command, trick), command, as: id, trick, run, session)
    }

    /// `name` is the script's name of the ask.
    private func ask(
        _ id: String, _ input: GatewayValue, _ command: String, as name: String, _ trick: OppiTrick?, _ run: OppiRun,
        _ session: OppiSession
    ) {
        run.waitsFor = id
        run.asked = OppiRun.Asked(input: input, command: command, name: name, trick: trick)
        if trick == .anotherDialog, !isSeed { return confirm(id, command, session) }
        if habits.choices > 0, !isOfAnotherClient(run.prompt), random.happens(habits.choices) {
            return askDialog(id, command, run, session)
        }
        let expires = habits.approvalTimeout != nil
        let timeout = habits.approvalTimeout.map { $0.nanoseconds / 1_000_000 } ?? Self.never
        let frame: GatewayValue = [
            "type": "permission_request", "id": "\(id)", "sessionId": "\(session.id)",
            "tool": trick == .wholeInput ? "write" : "bash", "input": input,
            "displaySummary": trick == .wholeInput ? "Write .bashrc" : "\(Self.summary(of: command))",
            "reason": "Run it?",
            "timeoutAt": .integer(Int(wallMilliseconds + timeout)), "expires": .flag(expires),
        ]
        permissions[id] = OppiPermission(session: session, run: run, frame: frame)
        sayToAll(frame)
        if let limit = habits.approvalTimeout {
            time.after(limit) { [self] in
                guard permissions.removeValue(forKey: id) != nil else { return }
                sayToAll([
                    "type": "permission_expired", "id": "\(id)", "sessionId": "\(session.id)",
                    "reason": "Approval timeout",
                ])
                goOn(run, afterYes: false, "Approval timeout", session)
            }
        }
        guard isOfAnotherClient(run.prompt) || random.happens(habits.elsewhere) else { return }
        // No client hears of this decision.
        time.after(.milliseconds(Int64.random(in: 300...3_000, using: &random))) { [self] in
            let isYes = random.happens(0.5)
            if permissions.removeValue(forKey: id) != nil { goOn(run, afterYes: isYes, "Denied by user", session) }
        }
    }

    /// The server's summary for a phone, which may hide parts of the command (oppi.md#permissions).
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

    /// Records what ran: the shell's command, or the whole input of any other tool.
    private func executes(_ run: OppiRun) {
        guard !run.isOver, run.stop != .asked, let asked = run.asked else { return }
        func text(_ value: GatewayValue) -> String { String(decoding: value.bytes, as: UTF8.self) }
        let command = asked.input["command"]?.string
        executed.append(
            AgentExecuted(
                // pi's shell tool runs in the session's folder, whatever the input says.
                asked.name, command: command, input: command == nil ? text(asked.input) : nil,
                permissions: asked.trick == .beside ? text(OppiTrick.more) : nil))
    }

    /// Cuts all connections before the answer to the yes, and asks about another command under the same id. False
    /// without such a trick.
    private func asksForAnother(_ id: String, _ run: OppiRun, _ session: OppiSession) -> Bool {
        guard let asked = run.asked, !run.isOver, asked.trick == .another || asked.trick == .anotherDialog else {
            return false
        }
        for number in lines.keys.sorted() {
            guard let line = lines[number]?.line else { continue }
            line.end(isCut: true)
            ended(line)
        }
        let command = AskTricks.another(than: asked.command)
        let name = "\(asked.name)-2"
        if asked.trick == .anotherDialog, !isSeed {
            run.asked = OppiRun.Asked(input: OppiTrick.input(command, nil), command: command, name: name)
            confirm(id, command, session)
        } else {
            ask(id, OppiTrick.input(command, nil), command, as: name, nil, run, session)
        }
        return true
    }

    func isOfAnotherClient(_ prompt: String) -> Bool { prompt.hasPrefix("Foreign ") }

    func answerPermission(_ frame: GatewayValue, on number: Int) {
        let id = frame["id"]?.string ?? ""
        let isYes = frame["action"]?.string == "allow"
        guard let permission = permissions.removeValue(forKey: id) else {
            return complain("Permission request not found: \(id)", on: number)
        }
        decided.append(AgentDecided(permission.run.asked?.name ?? id, isYes: isYes))
        if isYes, asksForAnother(id, permission.run, permission.session) { return }
        result(frame, on: number)
        if isYes { executes(permission.run) }
        goOn(permission.run, afterYes: isYes, "Denied by user", permission.session)
    }

    func withdrawPermissions(of session: OppiSession) {
        for id in permissions.keys.sorted() where permissions[id]?.session === session {
            permissions[id] = nil
            if !isSeed {
                sayToAll(["type": "permission_cancelled", "id": "\(id)", "sessionId": "\(session.id)"])
            }
        }
    }

    // MARK: Dialogs

    /// A dialog without a time limit, which clients that subscribe later see, too.
    private func confirm(_ id: String, _ command: String, _ session: OppiSession) {
        let frame: GatewayValue = [
            "type": "extension_ui_request", "id": "\(id)", "sessionId": "\(session.id)", "method": "confirm",
            "title": "Run it?", "message": "\(command)",
        ]
        session.activation?.dialog = OppiActivation.Dialog(id: id, frame: frame, isShownAgain: true)
        tellFollowers(frame, of: session)
    }

    private func tellFollowers(_ frame: GatewayValue, of session: OppiSession) {
        for (number, isFull) in (session.activation?.followers ?? [:]).sorted(by: { $0.key < $1.key }) where isFull {
            say(frame, on: number)
        }
    }

    /// Clients that subscribe later see `ask` alone of these dialogs. The others time out.
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
            // The last two values occur in the first label.
            let values = ["1", "r", "run"]
            let listed = zip(values, options).map { value, option -> GatewayValue in
                ["value": "\(value)", "label": "\(option)"]
            }
            let question: GatewayValue = [
                "id": "q", "question": "\(ScriptedChoice.title(id))", "options": .array(listed),
            ]
            frame = frame.with("questions", .array([question])).with("allowCustom", false)
        }
        let limit = Duration.milliseconds(random.pick([8_000, 20_000]))
        if method != "ask" { frame = frame.with("timeout", .integer(Int(limit.nanoseconds / 1_000_000))) }
        session.activation?.dialog = OppiActivation.Dialog(id: id, frame: frame, isShownAgain: method == "ask")
        tellFollowers(frame, of: session)
        guard method != "ask" else { return }
        time.after(limit) { [self] in
            guard session.activation?.dialog?.id == id else { return }
            session.activation?.dialog = nil
            session.activation?.timedOut.insert(id)
            goOn(run, afterYes: false, "No answer", session)
        }
    }

    func answerDialog(_ frame: GatewayValue, _ session: OppiSession, on number: Int) {
        let id = frame["id"]?.string ?? ""
        // A dialog that timed out stays on the server's list, and its answer goes nowhere.
        if session.activation?.timedOut.remove(id) != nil { return }
        guard let activation = session.activation, activation.dialog?.id == id, let run = activation.run else {
            return complain("UI request not found: \(id)", of: session.id, on: number)
        }
        let value = frame["value"]?.string
        let words = value.flatMap { GatewayValue.parse(Array($0.utf8))?["q"]?.string }
        let chosen = words.map { label(for: $0, of: activation.dialog?.frame) } ?? value
        let isYes = frame["confirmed"] == .flag(true) || chosen == ScriptedChoice.yes(id)
        activation.dialog = nil
        decided.append(AgentDecided(run.asked?.name ?? id, isYes: isYes))
        if isYes, asksForAnother(id, run, session) { return }
        if isYes, !questions.contains(id) { executes(run) }
        goOn(run, afterYes: isYes, "Declined", session)
    }

    /// The first option whose label contains the words, ignoring case.
    private func label(for words: String, of ask: GatewayValue?) -> String {
        let options = ask?["questions"]?.elements.first?["options"]?.elements ?? []
        let labels = options.compactMap { $0["label"]?.string }
        // No person answers in free words in this world.
        if !labels.contains(words) { breaches.append("an answer that is no label: \(words)") }
        return labels.first { $0.lowercased().contains(words.lowercased()) } ?? words
    }
}
