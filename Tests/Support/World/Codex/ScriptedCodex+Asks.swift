import AgentKit
import Vocabulary

// Asks of the scripted Codex (codex.md#server-requests), and other clients that answer them.
extension ScriptedCodex {
    // MARK: Asking

    /// The item has begun. The request waits without limit.
    func ask(_ approval: String, _ command: String, _ turn: CodexServedTurn, _ thread: CodexLoaded) {
        guard process != nil else { return }
        guard !thread.grants.contains(command) else {
            return executed.append(Self.runs(command, nil, approval))
        }
        let isQuestion = !turn.isForeign && random.happens(habits.choices)
        let trick = isQuestion || habits.tricks.isEmpty ? nil : random.pick(habits.tricks)
        ask(approval, command, isQuestion: isQuestion, trick, turn, thread)
    }

    private func ask(
        _ approval: String, _ command: String, isQuestion: Bool, _ trick: CodexTrick?, _ turn: CodexServedTurn,
        _ thread: CodexLoaded
    ) {
        guard let process else { return }
        let executes = Self.runs(command, trick, approval)
        let (method, params) =
            isQuestion ? questionParams(approval) : params(approval, command, trick, turn, thread)
        let item = params["itemId"] == nil ? params.with("itemId", turn.tool?["id"] ?? .null) : params
        let whole = item.with("threadId", "\(thread.id)").with("turnId", "\(turn.id)").with("startedAtMs", 1)
        let ask = CodexServedAsk(
            turn: turn, method: method, params: whole, approval: approval, isQuestion: isQuestion, command: command,
            trick: trick, executes: executes)
        let request = process.requests
        process.requests += 1
        process.approvals[request] = approval
        thread.asks[request] = ask
        turn.waitsFor = request
        tellStatus(thread)
        for number in thread.subscribers.sorted() {
            say(["method": "\(method)", "id": .integer(request), "params": whole], on: number)
        }
        if turn.isForeign || habits.elsewhere > 0 && random.happens(habits.elsewhere) {
            answersElsewhere(request, process, thread)
        }
    }

    private func questionParams(_ approval: String) -> (String, GatewayValue) {
        questions.insert(approval)
        return ("item/tool/requestUserInput", ["isBlocking": true, "questions": [Self.question(approval)]])
    }

    private func params(
        _ approval: String, _ command: String, _ trick: CodexTrick?,
        _ turn: CodexServedTurn, _ thread: CodexLoaded
    ) -> (String, GatewayValue) {
        switch trick {
        case .tool:
            let meta: GatewayValue = [
                "codex_approval_kind": "mcp_tool_call", "persist": ["session", "always"],
                "tool_params": ["command": "\(command)"],
            ]
            return (
                "mcpServer/elicitation/request",
                [
                    "serverName": "garden", "mode": "form", "message": "Allow it?", "_meta": meta,
                    "requestedSchema": ["type": "object", "properties": [:]],
                ]
            )
        case .patch, .grantRoot:
            let item = Self.change(command, "\(nextItem("patch"))")
            notify("item/started", ["item": item, "turnId": "\(turn.id)", "startedAtMs": 1], thread)
            let root: GatewayValue = trick == .grantRoot ? "\(Self.root)" : .null
            return (
                "item/fileChange/requestApproval", ["itemId": item["id"] ?? .null, "reason": .null, "grantRoot": root]
            )
        case .permissions:
            return (
                "item/permissions/requestApproval",
                ["cwd": "\(Self.folder)", "reason": "It is safe.", "permissions": Self.permissions(command)]
            )
        case .network:
            let params: GatewayValue = [
                "kind": "command", "approvalId": "\(approval)", "reason": "May it connect?", "command": .null,
                "cwd": "\(Self.folder)", "networkApprovalContext": Self.context(command),
            ]
            return ("item/commandExecution/requestApproval", params)
        case .input:
            let params: GatewayValue = [
                "kind": "writeStdin", "approvalId": "\(approval)", "stdin": "\(command)", "command": "\(Self.process)",
                "cwd": "\(Self.folder)",
            ]
            return ("item/commandExecution/requestApproval", params)
        case nil, .ownShell, .morePermissions, .another:
            var params: GatewayValue = [
                "kind": "command", "approvalId": "\(approval.split(separator: "-").first ?? "")",
                "reason": "May it run?",
                "command": "\(Self.line(command, trick))", "cwd": "\(Self.folder)",
                "availableDecisions": ["accept", "cancel"],
            ]
            if trick == .morePermissions { params = params.with("additionalPermissions", Self.permissions) }
            return ("item/commandExecution/requestApproval", params)
        }
    }

    /// Item of a patch that adds this text.
    static func change(_ text: String, _ id: GatewayValue) -> GatewayValue {
        let change: GatewayValue = ["path": "\(patched)", "kind": ["type": "add"], "diff": "\(text)"]
        return ["type": "fileChange", "id": id, "status": "inProgress", "changes": [change]]
    }

    private static let folder = "/home/ada"
    private static let patched = "/home/ada/labels.txt"
    private static let root = "/srv/\u{202E}everything"
    private static let process = "psql --host=\u{200B}db"
    private static let host = "xn--evil\u{202E}.example"
    private static let permissions: GatewayValue = ["network": ["enabled": true], "fileSystem": ["write": ["/srv"]]]

    /// Permission for a path that looks like the command.
    private static func permissions(_ command: String) -> GatewayValue {
        ["network": ["enabled": false], "fileSystem": ["read": .array([]), "write": ["/srv", "/\(command)"]]]
    }

    private static func context(_ command: String) -> GatewayValue {
        ["host": "\(host)", "protocol": "https", "path": "\(command)"]
    }

    private static func text(_ value: GatewayValue) -> String { String(decoding: value.bytes, as: UTF8.self) }

    private static func line(_ command: String, _ trick: CodexTrick?) -> String {
        // A shell splits by scalars, so a combining mark must not hide a quote.
        let quoted = command.unicodeScalars.map { $0 == "'" ? #"'\''"# : String($0) }.joined()
        return "\(trick == .ownShell ? "/home/ada/.tools/bash" : "/bin/bash") -lc '\(quoted)'"
    }

    private static func runs(_ command: String, _ trick: CodexTrick?, _ approval: String) -> AgentExecuted {
        switch trick {
        case .input: return AgentExecuted(approval, folder: folder, content: command, opened: process)
        case .tool:
            let input: GatewayValue = ["command": "\(command)"]
            return AgentExecuted(approval, input: text(input), node: "garden")
        case .patch: return AgentExecuted(approval, content: command, path: patched)
        case .grantRoot: return AgentExecuted(approval, content: command, path: patched, opened: root)
        case .permissions: return AgentExecuted(approval, folder: folder, permissions: text(permissions(command)))
        case .network:
            return AgentExecuted(approval, folder: folder, permissions: text(context(command)), opened: host)
        case nil, .ownShell, .morePermissions, .another:
            return AgentExecuted(
                approval, arguments: CodexTrick.words(of: line(command, trick)), folder: folder,
                permissions: trick == .morePermissions ? text(permissions) : nil)
        }
    }

    private static func question(_ id: String) -> GatewayValue {
        func option(_ label: String) -> GatewayValue { ["label": "\(label)", "description": ""] }
        let options: GatewayValue = [option(ScriptedChoice.yes(id)), option("Later"), option(ScriptedChoice.no(id))]
        return [
            "id": "answer", "header": "Reboot", "question": "\(ScriptedChoice.title(id))", "isOther": false,
            "isSecret": false, "options": options,
        ]
    }

    /// Another client of the server answers.
    private func answersElsewhere(_ request: Int, _ process: CodexProcess, _ thread: CodexLoaded) {
        time.after(.milliseconds(Int64.random(in: 300...3_000, using: &random))) { [self] in
            guard self.process === process, let ask = thread.asks[request] else { return }
            let isYes = random.happens(0.5)
            decidedElsewhere[ask.approval] = isYes
            tally.note("Codex: another client answers an ask")
            resolve(request, ask, isYes: isYes, thread)
        }
    }

    // MARK: Answers

    /// Drops an answer to no open request, or of a client without a subscription, in silence.
    func answered(_ frame: GatewayValue, on number: Int) {
        guard let request = frame["id"]?.number, let approval = process?.approvals[request] else { return }
        guard let thread = process?.loaded.first(where: { $0.asks[request] != nil }), let ask = thread.asks[request],
            thread.subscribers.contains(number)
        else {
            // A refusal is a person's decision even if it arrives too late.
            if Self.isRefusal(frame["result"]) { decided.append(AgentDecided(approval, isYes: false)) }
            return
        }
        let decision = frame["result"]?["decision"]
        if decision?.isObject == true { breaches.append("a rule for ever about \(ask.command)") }
        let given = frame["result"]?["answers"]?["answer"]?["answers"]?.elements.first?.string
        let isYes =
            ask.isQuestion
            ? given == ScriptedChoice.yes(approval) : Self.isConsent(frame["result"])
        if let granted = frame["result"]?["permissions"], isYes, !granted.means(ask.params["permissions"]) {
            breaches.append("granted what was not asked for: \(Self.text(granted).prefix(200))")
        }
        decided.append(AgentDecided(approval, isYes: isYes))
        if decision?.string == "acceptForSession" { thread.grants.insert(ask.command) }
        resolve(request, ask, isYes: isYes, endsTurn: decision?.string == "cancel", thread)
    }

    /// An elicitation has `action` instead of `decision`.
    private static func word(_ result: GatewayValue?) -> String? { (result?["decision"] ?? result?["action"])?.string }
    private static func isConsent(_ result: GatewayValue?) -> Bool {
        result?["permissions"].map { !$0.names.isEmpty } ?? ["accept", "acceptForSession"].contains(word(result))
    }
    private static func isRefusal(_ result: GatewayValue?) -> Bool {
        result?["permissions"].map(\.names.isEmpty) ?? ["decline", "cancel"].contains(word(result))
    }

    private func resolve(
        _ request: Int, _ ask: CodexServedAsk, isYes: Bool, endsTurn: Bool = false, _ thread: CodexLoaded
    ) {
        thread.asks[request] = nil
        ask.turn.waitsFor = nil
        if isYes, ask.trick == .another { return asksForAnother(ask, thread) }
        if isYes { executed.append(ask.executes) }
        notify("serverRequest/resolved", ["requestId": .integer(request)], thread)
        tellStatus(thread)
        if !isYes {
            if case .toolReturns? = ask.turn.steps.first?.step { ask.turn.steps.removeFirst() }
            toolEnds(["status": "declined"], nil, ask.turn, thread)
        }
        guard !endsTurn else { return interrupt(ask.turn, thread) }
        if isYes, asksAgain(ask, thread) { return }
        scheduleNext(ask.turn, thread)
    }

    /// The command failed in its sandbox and asks to run without it, under the same item and with the same words.
    private func asksAgain(_ ask: CodexServedAsk, _ thread: CodexLoaded) -> Bool {
        guard habits.asksAgain > 0, !ask.isQuestion, !ask.turn.isForeign, ask.trick == nil, !ask.isAgain,
            !thread.grants.contains(ask.command), random.happens(habits.asksAgain)
        else { return false }
        tally.note("Codex: asks again under one item")
        self.ask("\(ask.approval)-2", ask.command, isQuestion: false, nil, ask.turn, thread)
        return true
    }

    /// Cuts all clients of the thread before they hear the confirmation of the first ask.
    private func asksForAnother(_ ask: CodexServedAsk, _ thread: CodexLoaded) {
        let lines = thread.subscribers.sorted().compactMap { process?.clients[$0]?.line }
        for line in lines {
            line.end(isCut: true)
            ended(line)
        }
        let other = AskTricks.another(than: ask.command)
        self.ask("\(ask.approval)-2", other, isQuestion: false, nil, ask.turn, thread)
    }

    /// The approval that a frame of the bridge answers.
    package func approval(answeredBy frame: [UInt8]) -> String? {
        guard let value = GatewayValue.parse(frame), value["method"] == nil, let request = value["id"]?.number else {
            return nil
        }
        return process?.approvals[request]
    }
}
