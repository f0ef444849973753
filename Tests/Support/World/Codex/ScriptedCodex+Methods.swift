import Vocabulary

// Methods that clients call (codex.md#methods).
extension ScriptedCodex {
    private static let unloadAfter = Duration.seconds(60)
    private static let experimental: Set = [
        "thread/backgroundTerminals/list", "thread/backgroundTerminals/terminate",
    ]

    func perform(_ method: String, _ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        if Self.experimental.contains(method), process?.clients[number]?.isExperimental != true {
            return refuse(id, "\(method) requires experimentalApi capability", on: number)
        }
        let name = params["threadId"]?.string ?? ""
        switch method {
        case "account/read": reply(id, account, on: number)
        case "model/list": reply(id, ["data": [Self.model], "nextCursor": .null], on: number)
        case "thread/loaded/list":
            let names = (process?.loaded ?? []).map { GatewayValue.text($0.id) }
            reply(id, ["data": .array(names), "nextCursor": .null], on: number)
        case "thread/start": startThread(id, params, on: number)
        case "thread/resume": resume(name, id, params, on: number)
        case "thread/read": readThread(name, id, on: number)
        case "thread/turns/list": listsTurns(name, id, params, on: number)
        case "thread/items/list": listItems(name, id, params, on: number)
        case "thread/unarchive": unarchive(name, id, on: number)
        case "thread/unsubscribe": unsubscribe(name, id, on: number)
        case "thread/goal/set":
            refuse(id, habits.isNamed ? "no goal is set for this thread" : "goals feature is disabled", on: number)
        default:
            guard let thread = process?.threads[name] else {
                return refuse(id, "thread not found: \(name)", on: number)
            }
            self.perform(method, id, params, thread, on: number)
        }
    }

    private func perform(
        _ method: String, _ id: GatewayValue, _ params: GatewayValue, _ thread: CodexLoaded, on number: Int
    ) {
        switch method {
        case "turn/start": startTurn(id, params, thread, on: number)
        case "turn/steer": steerTurn(id, params, thread, on: number)
        case "turn/interrupt": interrupt(id, params["turnId"]?.string ?? "", thread, on: number)
        case "thread/backgroundTerminals/list":
            let data = thread.terminals.sorted { $0.key < $1.key }.map { terminal -> GatewayValue in
                ["itemId": terminal.value.item["id"] ?? .null, "processId": "\(terminal.key)", "command": "df"]
            }
            reply(id, ["data": .array(data), "nextCursor": .null], on: number)
        case "thread/backgroundTerminals/terminate":
            let terminal = params["processId"]?.string ?? ""
            guard thread.terminals[terminal] != nil else {
                return refuse(id, "no such process: \(terminal)", on: number)
            }
            reply(id, [:], on: number)
            terminalEnds(terminal, ["status": "failed", "exitCode": -1], thread)
        default:
            breaches.append("request \(method)")
            refuse(id, "Invalid request: unknown variant `\(method)`", on: number)
        }
    }

    static let efforts = ["low", "medium", "high", "xhigh"]

    private static var model: GatewayValue {
        let efforts = efforts.map { word -> GatewayValue in ["reasoningEffort": .text(word), "description": ""] }
        return [
            "id": "gpt-5.5", "model": "gpt-5.5", "displayName": "GPT-5.5", "isDefault": true,
            "supportedReasoningEfforts": .array(efforts), "defaultReasoningEffort": "medium",
        ]
    }

    private var account: GatewayValue {
        let isLoggedOut = time.now < troubles.loggedOutUntil
        let account: GatewayValue = ["type": "chatgpt", "email": "ada@example.com", "planType": "plus"]
        return ["account": isLoggedOut ? .null : account, "requiresOpenaiAuth": true]
    }

    // MARK: Threads

    /// Codex takes a missing setting from elsewhere (codex.md#settings), so each must be present.
    private func judge(_ params: GatewayValue) {
        let said = ["sandbox", "approvalPolicy", "approvalsReviewer"].map { params[$0]?.string ?? "" }
        if said != ["workspace-write", "on-request", "user"] { breaches.append("settings \(said)") }
        let folder = params["cwd"]?.string ?? ""
        if folder != "/home/ada/site" { breaches.append("outside of the workspace: \(folder)") }
    }

    private func startThread(_ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        judge(params)
        counts.threads += 1
        let rollout = CodexRollout("thread-\(counts.threads)")
        rollouts.append(rollout)
        let thread = CodexLoaded(rollout)
        process?.threads[thread.id] = thread
        thread.subscribers.insert(number)
        let started: GatewayValue = ["thread": value(thread)]
        let isFirst = random.happens(0.3)
        if isFirst { broadcast("thread/started", started) }
        reply(id, opened(thread), on: number)
        if !isFirst { broadcast("thread/started", started) }
    }

    private func value(_ thread: CodexLoaded) -> GatewayValue {
        ["id": "\(thread.id)", "status": status(of: thread), "preview": "", "turns": []]
    }

    private func opened(_ thread: CodexLoaded) -> GatewayValue {
        [
            "thread": value(thread), "model": "gpt-5.5", "modelProvider": "openai", "approvalPolicy": "on-request",
            "turnsBackwardsCursor": "0",
        ]
    }

    private func status(of thread: CodexLoaded) -> GatewayValue {
        guard thread.status == "active" else { return ["type": "\(thread.status)"] }
        let isAsking = thread.asks.values.contains { $0.isQuestion }
        let flags: GatewayValue =
            thread.asks.isEmpty ? [] : [isAsking ? "waitingOnUserInput" : "waitingOnApproval"]
        return ["type": "active", "activeFlags": flags]
    }

    /// Every connection hears the status.
    func tellStatus(_ thread: CodexLoaded, _ status: String? = nil) {
        thread.status = status ?? thread.status
        broadcast("thread/status/changed", ["threadId": "\(thread.id)", "status": self.status(of: thread)])
    }

    /// The thread on the disk, or the words and code of the refusal.
    private func missing(_ name: String) -> (rollout: CodexRollout?, why: String, code: Int) {
        guard let rollout = rollouts.first(where: { $0.id == name }), rollout.file != .absent else {
            troubles.hasLostThread = true
            return (nil, "no rollout found for thread id \(name)", -32_600)
        }
        guard rollout.file == .written else {
            return (nil, "failed to read thread: rollout at /sessions/\(name).jsonl is empty", -32_603)
        }
        return (rollout, "", 0)
    }

    private func resume(_ name: String, _ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        judge(params)
        if params["excludeTurns"] != .flag(true) { breaches.append("a resume with the whole history") }
        let page = params["initialTurnsPage"]
        if let thread = process?.threads[name] { return join(thread, id, page, isCold: false, on: number) }
        let (found, why, code) = missing(name)
        guard let rollout = found else { return refuse(id, why, code: code, on: number) }
        guard !rollout.isArchived else {
            return refuse(
                id, "session \(name) is archived. Run `codex unarchive \(name)` to resume it.", on: number)
        }
        guard time.now >= rollout.foreignUntil else {
            return refuse(id, "thread \(name) already has an active writer", on: number)
        }
        let thread = CodexLoaded(rollout)
        process?.threads[name] = thread
        tellStatus(thread, "idle")
        join(thread, id, page, isCold: true, on: number)
    }

    private func join(_ thread: CodexLoaded, _ id: GatewayValue, _ page: GatewayValue?, isCold: Bool, on number: Int) {
        thread.subscribers.insert(number)
        let turns = page.map { newest($0, of: thread) } ?? .null
        reply(id, opened(thread).with("initialTurnsPage", turns), on: number)
        if isCold, let turn = thread.rollout.turns.last {
            notify("thread/tokenUsage/updated", usage(thread, turn.id).with("threadId", "\(thread.id)"), on: number)
        }
        notify("thread/goal/cleared", ["threadId": "\(thread.id)"], on: number)
        for (request, ask) in thread.asks.sorted(by: { $0.key < $1.key }) {
            say(["method": "\(ask.method)", "id": .integer(request), "params": ask.params], on: number)
        }
    }

    /// The newest turn as a list shows it, plus open changes of files, which no list has.
    private func newest(_ page: GatewayValue, of thread: CodexLoaded) -> GatewayValue {
        guard let turn = thread.rollout.turns.last else { return ["data": [], "nextCursor": .null] }
        if page["limit"]?.number != 1 || page["itemsView"]?.string != "full" {
            breaches.append("a resume with a page of many turns, or of turns in short")
        }
        let open = thread.asks.sorted { $0.key < $1.key }.map(\.value).filter { $0.turn === turn }.compactMap(\.change)
        return ["data": [turn.value(turn.items + open).with("itemsView", "full")], "nextCursor": .null]
    }

    private func readThread(_ name: String, _ id: GatewayValue, on number: Int) {
        if let thread = process?.threads[name] { return reply(id, ["thread": value(thread)], on: number) }
        let (found, why, code) = missing(name)
        guard found != nil else { return refuse(id, why, code: code, on: number) }
        reply(id, ["thread": ["id": "\(name)", "status": ["type": "notLoaded"], "turns": []]], on: number)
    }

    /// Nil if the request was refused.
    private func turns(of name: String, _ id: GatewayValue, on number: Int) -> [CodexServedTurn]? {
        if let thread = process?.threads[name] { return thread.rollout.turns }
        let (found, why, code) = missing(name)
        if found == nil { refuse(id, why, code: code, on: number) }
        return found?.turns
    }

    /// Oldest first.
    private func listItems(_ name: String, _ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        guard let turns = turns(of: name, id, on: number) else { return }
        let wanted = params["turnId"]?.string
        let entries = turns.filter { wanted == nil || $0.id == wanted }.flatMap { turn in
            turn.items.map { item -> GatewayValue in ["turnId": "\(turn.id)", "item": item] }
        }
        let first = min(entries.count, params["cursor"]?.string.flatMap { Int($0) } ?? 0)
        let page = entries.dropFirst(first).prefix(params["limit"]?.number ?? 25)
        let next: GatewayValue = page.endIndex < entries.count ? "\(page.endIndex)" : .null
        reply(id, ["data": .array(Array(page)), "nextCursor": next, "backwardsCursor": .null], on: number)
    }

    private func listsTurns(_ name: String, _ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        guard habits.lateLists > 0, random.happens(habits.lateLists) else {
            return listTurns(name, id, params, on: number)
        }
        tally.note("Codex: answers a list late")
        let process = process
        time.after(.milliseconds(Int64.random(in: 500...3_000, using: &random))) { [self] in
            guard self.process === process, process?.clients[number] != nil else { return }
            listTurns(name, id, params, on: number)
        }
    }

    private func listTurns(_ name: String, _ id: GatewayValue, _ params: GatewayValue, on number: Int) {
        guard let turns = turns(of: name, id, on: number) else { return }
        let newest = Array(turns.reversed())
        let first = min(newest.count, params["cursor"]?.string.flatMap { Int($0) } ?? 0)
        let page = newest.dropFirst(first).prefix(params["limit"]?.number ?? 25)
        for turn in page where turn.isOver { turn.endIsKnown = true }
        let view = params["itemsView"]?.string ?? "summary"
        let next: GatewayValue = page.endIndex < newest.count ? "\(page.endIndex)" : .null
        reply(
            id,
            [
                "data": .array(page.map { $0.value($0.items(view)).with("itemsView", "\(view)") }), "nextCursor": next,
                "backwardsCursor": "0",
            ],
            on: number)
    }

    private func unarchive(_ name: String, _ id: GatewayValue, on number: Int) {
        guard let rollout = rollouts.first(where: { $0.id == name }) else {
            return refuse(id, "no rollout found for thread id \(name)", on: number)
        }
        rollout.isArchived = false
        reply(id, ["thread": ["id": "\(name)", "status": ["type": "notLoaded"]]], on: number)
    }

    private func unsubscribe(_ name: String, _ id: GatewayValue, on number: Int) {
        guard let thread = process?.threads[name] else {
            return reply(id, ["status": "notLoaded"], on: number)
        }
        let was = thread.subscribers.remove(number) != nil
        reply(id, ["status": was ? "unsubscribed" : "notSubscribed"], on: number)
        considerUnloading(thread)
    }

    func considerUnloading(_ thread: CodexLoaded) {
        time.after(Self.unloadAfter) { [self] in
            guard process?.threads[thread.id] === thread, thread.subscribers.isEmpty, thread.turn == nil else { return }
            unload(thread)
        }
    }

    func unload(_ thread: CodexLoaded) {
        process?.threads[thread.id] = nil
        if thread.rollout.file == .absent { rollouts.removeAll { $0 === thread.rollout } }
        tellStatus(thread, "notLoaded")
        broadcast("thread/closed", ["threadId": "\(thread.id)"])
    }
}
