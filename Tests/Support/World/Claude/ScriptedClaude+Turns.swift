import Vocabulary

// Frames of a turn, and the rows that it leaves in the session's file.
extension ScriptedClaude {
    // MARK: The beginning

    /// Merges all queued prompts into one.
    func startNext(on number: Int) {
        guard let prompts = processes[number]?.queue, let last = prompts.last else { return }
        processes[number]?.queue = []
        // One turn may answer the prompt and an ended helper.
        let joins = processes[number]?.owesTurn == true && random.happens(0.5)
        if joins {
            tally.note("claude: makes one turn of a prompt and a helper's end")
            processes[number]?.owesTurn = false
            joined.formUnion(prompts.map(\.text))
        }
        start(prompts, scripts[last.text]?.steps[...] ?? [], isOwn: joins, on: number)
    }

    func start(_ prompts: [Prompt], _ steps: ArraySlice<GatewayScript.Timed>, isOwn: Bool, on number: Int) {
        serial += 1
        processes[number]?.run = Run(
            number: serial, prompts: prompts, steps: steps, isOwn: isOwn, startedAt: time.now)
        let run = serial
        for prompt in prompts {
            begins(prompt)
            tellFate(prompt.key, "started", on: number)
        }
        for prompt in prompts.dropLast() { lost.insert(prompt.text) }
        if prompts.count > 1 { tally.note("claude: makes one prompt of several") }
        storePrompt(prompts, on: number)
        time.after(.milliseconds(random.pick([20, 60]))) { [self] in
            guard processes[number]?.run?.number == run else { return }
            processes[number]?.run?.hasBegun = true
            tellState(on: number)
            tellInit(on: number)
            if processes[number]?.isLatched == true {
                processes[number]?.isLatched = false
                return abort(on: number)
            }
            tellRequest(on: number)
            if !isOwn { startHelper(on: number) }
            scheduleNext(run, on: number)
        }
    }

    /// A prompt begins again if the program died before any of its answer reached the session's file.
    private func begins(_ prompt: Prompt) {
        guard began.insert(prompt.key).inserted else { return tally.note("claude: begins a prompt again") }
        asked.append(AgentAsked(.prompt, prompt.text))
    }

    private func storePrompt(_ prompts: [Prompt], on number: Int) {
        guard let last = prompts.last else { return storeNotification(on: number) }
        let text = prompts.map(\.text).joined(separator: "\n")
        let content = prompts.count == 1 ? last.content : .text(text)
        let row: GatewayValue = ["message": ["role": "user", "content": content], "promptSource": "sdk"]
        let merged = prompts.dropLast().map { GatewayValue.text($0.key) }
        store("user", last.key, merged.isEmpty ? row : row.with("mergedSendUuids", .array(merged)), on: number)
    }

    /// The prompt of a turn that no person's prompt began.
    private func storeNotification(on number: Int) {
        serial += 1
        let row: GatewayValue = [
            "message": ["role": "user", "content": "<task-notification>\n<status>completed</status>"],
            "promptSource": "system", "turnOrigin": "task_notification", "origin": ["kind": "task-notification"],
        ]
        store("user", "row-\(serial)", row, on: number)
    }

    private func tellInit(on number: Int) {
        say(
            [
                "type": "system", "subtype": "init", "model": "claude-model", "permissionMode": "default",
                "tools": ["Bash"], "claude_code_version": "2.1.327",
            ], on: number)
        guard habits.strangeness > 0, random.happens(habits.strangeness) else { return }
        tally.note("claude: says kinds that nobody knows")
        say(["type": "system", "subtype": "novelty", "weight": 3], on: number)
        say(["novelty": ["weight": [3]], "type": "novelty"], on: number)
    }

    private func tellRequest(on number: Int) {
        say(["type": "system", "subtype": "status", "status": "requesting"], on: number)
    }

    private func scheduleNext(_ run: Int, on number: Int) {
        guard let going = processes[number]?.run, going.number == run, going.ask == nil, let next = going.steps.first
        else { return }
        time.after(next.after) { [self] in
            guard processes[number]?.run?.number == run, processes[number]?.run?.ask == nil,
                let step = processes[number]?.run?.steps.popFirst()?.step
            else { return }
            perform(step, on: number)
            scheduleNext(run, on: number)
        }
    }

    private func perform(_ step: GatewayScript.Step, on number: Int) {
        switch step {
        case .says(let text): speak(text, on: number)
        case .callsTool(let id, let command): call(id, command, on: number)
        case .asksApproval(let id, let command): ask(id, command, on: number)
        case .toolReturns(_, let output): toolEnds(output, isFailed: false, on: number)
        case .toolFails(_, let output): toolEnds(output, isFailed: true, on: number)
        case .attemptFails(let why): attemptFails(why, on: number)
        case .triesAgain: break
        case .fails(let why): fail(why, on: number)
        case .finishes, .finishesEmpty: finish(losesEnd: step == .finishesEmpty, on: number)
        case .drops, .restarts, .takes, .saysAside, .vanishes: breaches.append("a script for another agent")
        }
    }

    // MARK: Messages

    private func stream(_ event: GatewayValue, on number: Int) {
        say(["type": "stream_event", "event": event, "parent_tool_use_id": .null], on: number)
    }

    private func speak(_ text: String, on number: Int) {
        if processes[number]?.run?.said == nil {
            processes[number]?.run?.isWhole = random.happens(habits.wholeTexts)
            processes[number]?.run?.said = ""
            beginBlock(on: number)
            if processes[number]?.run?.isWhole == false, random.happens(habits.cuts) {
                tally.note("claude: streams a text again")
                tellDelta(String(text.prefix(3)), on: number)
                voidBlock(on: number)
                beginBlock(on: number)
            }
        }
        processes[number]?.run?.said? += text
        tellDelta(text, on: number)
    }

    private func beginBlock(on number: Int) {
        guard let run = processes[number]?.run, !run.isWhole else { return }
        if run.blocks.isEmpty { stream(["type": "message_start", "message": ["role": "assistant"]], on: number) }
        let block: GatewayValue = ["type": "text", "text": ""]
        stream(
            ["type": "content_block_start", "index": .integer(run.blocks.count), "content_block": block], on: number)
    }

    private func tellDelta(_ text: String, on number: Int) {
        guard let run = processes[number]?.run, !run.isWhole else { return }
        let delta: GatewayValue = ["type": "text_delta", "text": "\(text)"]
        stream(["type": "content_block_delta", "index": .integer(run.blocks.count), "delta": delta], on: number)
    }

    /// The stream breaks off within the block: the block sends nothing more, and the next attempt streams it again.
    private func voidBlock(on number: Int) {
        stream(["type": "content_block_stop", "index": 0], on: number)
        stream(["type": "message_stop"], on: number)
        let retry: GatewayValue = ["attempt": 1, "max_retries": 10, "retry_delay_ms": 500, "error_status": .null]
        say(retry.with(["type": "system", "subtype": "api_retry", "error": "unknown"]), on: number)
    }

    private func endText(isAborted: Bool = false, on number: Int) {
        guard let said = processes[number]?.run?.said else { return }
        processes[number]?.run?.said = nil
        processes[number]?.run?.texts.append(said)
        tellBlock(["type": "text", "text": "\(said)"], isAborted: isAborted, on: number)
        processes[number]?.run?.isWhole = false
    }

    private func tellBlock(_ block: GatewayValue, isAborted: Bool = false, on number: Int) {
        serial += 1
        let key = "row-\(serial)"
        let message: GatewayValue = [
            "role": "assistant", "model": "claude-model", "content": [block], "stop_reason": .null,
        ]
        let frame: GatewayValue = ["type": "assistant", "message": message, "parent_tool_use_id": .null]
        say(isAborted ? frame.with("aborted", true) : frame, on: number)
        let index = processes[number]?.run?.blocks.count ?? 0
        processes[number]?.run?.blocks.append((key, block))
        guard !isAborted, processes[number]?.run?.isWhole == false else { return }
        stream(["type": "content_block_stop", "index": .integer(index)], on: number)
    }

    /// Ends the message and writes its blocks to the session's file.
    private func endMessage(_ stop: String?, on number: Int) {
        endText(on: number)
        guard let run = processes[number]?.run, !run.blocks.isEmpty else { return }
        if let stop {
            stream(["type": "message_delta", "delta": ["stop_reason": "\(stop)"]], on: number)
            stream(["type": "message_stop"], on: number)
        }
        storeBlocks(stop, on: number)
    }

    private func storeBlocks(_ stop: String?, on number: Int) {
        for (key, block) in processes[number]?.run?.blocks ?? [] {
            let reason: GatewayValue = stop.map { .text($0) } ?? .null
            let message: GatewayValue = ["role": "assistant", "model": "claude-model", "content": [block]]
            store("assistant", key, ["message": message.with("stop_reason", reason)], on: number)
        }
        processes[number]?.run?.blocks = []
    }

    func store(_ type: String, _ key: String, _ fields: GatewayValue, on number: Int) {
        guard let session = processes[number]?.session else { return }
        let parent = files[session]?.last?["uuid"] ?? .null
        let row: GatewayValue = [
            "parentUuid": parent, "isSidechain": false, "type": "\(type)", "uuid": "\(key)", "sessionId": "\(session)",
        ]
        files[session, default: []].append(row.with(fields))
    }

    // MARK: Calls

    private func call(_ id: String, _ command: String, on number: Int) {
        call(id, command, of: "Bash", ["command": "\(command)"], on: number)
    }

    func call(_ id: String, _ command: String, of tool: String, _ input: GatewayValue, on number: Int) {
        endText(on: number)
        processes[number]?.run?.tool = (id, command)
        tellBlock(["type": "tool_use", "id": "\(id)", "name": "\(tool)", "input": input], on: number)
        endMessage("tool_use", on: number)
    }

    private func ask(_ name: String, _ command: String, on number: Int) {
        if processes[number]?.run?.tool == nil { call("call-\(name)", command, on: number) }
        guard let process = processes[number], let tool = process.run?.tool else { return }
        guard !process.allowed.contains(command) else { return }
        processes[number]?.run?.ask = (command, name)
        guard !process.isLeft else { return deny(Self.noStream, isPersons: false, on: number) }
        tellAsk(name, command, of: tool.id, helper: nil, on: number)
    }

    /// `helper` is the agent id of a helper that asks.
    func tellAsk(_ name: String, _ command: String, of call: String, helper: String?, on number: Int) {
        let rule: GatewayValue = ["toolName": "Bash", "ruleContent": "\(command)"]
        let request: GatewayValue = [
            "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "input": ["command": "\(command)"],
            "tool_use_id": "\(call)",
            "permission_suggestions": [
                ["type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"]
            ],
        ]
        let named = request.with("agent_id", helper.map { .text($0) })
        say(["type": "control_request", "request_id": "\(name)", "request": named], on: number)
    }

    func goOn(on number: Int) {
        guard let run = processes[number]?.run else { return }
        scheduleNext(run.number, on: number)
    }

    /// Fails the call with these words. The model continues.
    func deny(_ words: String, isPersons: Bool, on number: Int) {
        guard let run = processes[number]?.run, let ask = run.ask else { return }
        processes[number]?.run?.ask = nil
        if let tool = run.tool {
            processes[number]?.run?.denials.append([
                "tool_name": "Bash", "tool_use_id": "\(tool.id)", "tool_input": ["command": "\(ask.command)"],
            ])
        }
        if case .toolReturns? = run.steps.first?.step { processes[number]?.run?.steps.removeFirst() }
        if !isPersons, let session = processes[number]?.session { unheard.insert(session) }
        let source: GatewayValue = ["decision": "reject", "source": isPersons ? "user_reject" : "config"]
        let meta: GatewayValue = ["non_execution_kind": "permission-rule", "permission_decision": source]
        toolEnds(words, isFailed: true, meta: meta, on: number)
        goOn(on: number)
    }

    func toolEnds(_ output: String, isFailed: Bool, meta: GatewayValue? = nil, on number: Int) {
        guard let tool = processes[number]?.run?.tool else { return }
        processes[number]?.run?.tool = nil
        let block: GatewayValue = [
            "type": "tool_result", "tool_use_id": "\(tool.id)", "content": "\(output)", "is_error": .flag(isFailed),
        ]
        let message: GatewayValue = ["role": "user", "content": [block]]
        serial += 1
        let row: GatewayValue = ["message": message]
        let kind = meta?["non_execution_kind"]
        store("user", "row-\(serial)", row.with("toolDenialKind", kind), on: number)
        let frame: GatewayValue = ["type": "user", "message": message, "parent_tool_use_id": .null]
        let entry = meta.map { GatewayValue.array([GatewayValue.object([("id", .text(tool.id))]).with($0)]) }
        say(frame.with("tool_result_meta", entry), on: number)
        fold(on: number)
        tellRequest(on: number)
    }

    /// Tells the model queued prompts together with the tool's result. The rest of the current script is dropped.
    private func fold(on number: Int) {
        guard let prompts = processes[number]?.queue, let last = prompts.last, processes[number]?.run != nil else {
            return
        }
        tally.note("claude: takes a prompt into a running turn")
        processes[number]?.queue = []
        for prompt in processes[number]?.run?.prompts ?? [] { lost.insert(prompt.text) }
        if processes[number]?.run?.isOwn == true { joined.formUnion(prompts.map(\.text)) }
        for prompt in prompts {
            begins(prompt)
            tellFate(prompt.key, "started", on: number)
            serial += 1
            let command: GatewayValue = [
                "type": "queued_command", "prompt": "\(prompt.text)", "source_uuid": "\(prompt.key)",
            ]
            store("attachment", "row-\(serial)", ["attachment": command], on: number)
        }
        processes[number]?.run?.prompts += prompts
        processes[number]?.run?.folded += prompts.map(\.key)
        processes[number]?.run?.steps = scripts[last.text]?.steps[...] ?? []
        serial += 1
        processes[number]?.run?.number = serial
        goOn(on: number)
    }

    // MARK: The end

    private func attemptFails(_ why: String, on number: Int) {
        if processes[number]?.run?.said != nil {
            processes[number]?.run?.said = nil
            stream(["type": "content_block_stop", "index": 0], on: number)
            stream(["type": "message_stop"], on: number)
        }
        let retry: GatewayValue = ["attempt": 1, "max_retries": 10, "retry_delay_ms": 2_000, "error_status": 529]
        say(retry.with(["type": "system", "subtype": "api_retry", "error": "overloaded"]), on: number)
    }

    private func fail(_ why: String, on number: Int) {
        endMessage("end_turn", on: number)
        serial += 1
        let message: GatewayValue = [
            "role": "assistant", "model": "<synthetic>", "content": [["type": "text", "text": "\(why)"]],
            "stop_reason": "stop_sequence",
        ]
        store("assistant", "row-\(serial)", ["message": message, "isApiErrorMessage": true], on: number)
        let error: GatewayValue = ["is_api_error_message": true, "error": "server_error", "api_error_status": 500]
        say(error.with(["type": "assistant", "message": message, "parent_tool_use_id": .null]), on: number)
        let end: GatewayValue = ["subtype": "success", "is_error": true, "result": "\(why)", "api_error_status": 500]
        endTurn(end, "api_error", "cancelled", on: number)
    }

    private func finish(losesEnd: Bool, on number: Int) {
        endMessage("end_turn", on: number)
        guard let run = processes[number]?.run else { return }
        if let last = run.prompts.last {
            finished.insert(last.text)
            ends[last.text] = time.now
        }
        if run.isOwn, run.prompts.isEmpty, !losesEnd, let process = processes[number], !process.isLeft {
            ownTurns[process.session]?.read += 1
        }
        let end: GatewayValue = ["subtype": "success", "is_error": false, "result": "\(run.texts.last ?? "")"]
        endTurn(end, "completed", "completed", isLost: losesEnd, on: number)
    }

    /// Keeps the text so far and fails the open call.
    func abort(on number: Int) {
        guard let run = processes[number]?.run else { return }
        let inCall = run.tool != nil
        processes[number]?.run?.ask = nil
        processes[number]?.run?.steps = []
        if run.said != nil { endText(isAborted: true, on: number) }
        storeBlocks(nil, on: number)
        if inCall {
            let rejected = "The user doesn't want to proceed with this tool use. The tool use was rejected."
            let queue = processes[number]?.queue ?? []
            processes[number]?.queue = []
            toolEnds(rejected, isFailed: true, meta: ["non_execution_kind": "user-rejected"], on: number)
            processes[number]?.queue = queue
        }
        serial += 1
        let marker = inCall ? "[Request interrupted by user for tool use]" : "[Request interrupted by user]"
        let message: GatewayValue = ["role": "user", "content": [["type": "text", "text": "\(marker)"]]]
        store("user", "row-\(serial)", ["message": message], on: number)
        say(["type": "user", "message": message, "parent_tool_use_id": .null], on: number)
        let end: GatewayValue = [
            "subtype": "error_during_execution", "is_error": true, "errors": ["[ede_diagnostic] result_type=user"],
        ]
        endTurn(end, inCall ? "aborted_tools" : "aborted_streaming", "cancelled", on: number)
    }

    private func endTurn(
        _ end: GatewayValue, _ reason: String, _ fate: String, isLost: Bool = false, on number: Int
    ) {
        guard let run = processes[number]?.run else { return }
        for key in run.folded { tellFate(key, fate, on: number) }
        let keys = run.prompts.map { GatewayValue.text($0.key) }
        let index = processes[number]?.results ?? 0
        processes[number]?.results += 1
        processes[number]?.lastFailed = reason == "api_error"
        // The real program does not put `type` first in this frame.
        var frame: GatewayValue = [
            "duration_api_ms": 90, "type": "result", "num_turns": 1, "permission_denials": .array(run.denials),
            "usage": ["input_tokens": 12, "output_tokens": 3],
        ]
        frame = frame.with(end)
        if !habits.isOld {
            frame = frame.with("terminal_reason", .text(reason)).with("result_index", .integer(index))
            if !keys.isEmpty { frame = frame.with("user_message_uuids", .array(keys)) }
        }
        if run.isOwn { frame = frame.with("origin", ["kind": "task-notification", "runId": "run-\(run.number)"]) }
        processes[number]?.run = nil
        if isLost {
            tally.note("claude: loses a result")
        } else {
            say(frame, on: number)
        }
        for prompt in run.prompts where !run.folded.contains(prompt.key) { tellFate(prompt.key, fate, on: number) }
        rest(afterOwn: run.isOwn || reason != "completed", on: number)
    }

    private func rest(afterOwn isLast: Bool, on number: Int) {
        guard let process = processes[number] else { return }
        if !process.queue.isEmpty { return startNext(on: number) }
        if process.owesTurn { return startOwn(isOwed: true, on: number) }
        guard !process.isLeft else { return leave(number) }
        tellState(on: number)
        if !isLast, random.happens(habits.ownTurns) { startOwn(isOwed: false, on: number) }
    }

    /// Ends a program without a reader once nothing is at work in it.
    private func leave(_ number: Int) {
        guard processes[number]?.isDone == true else { return }
        exit(number)?.end()
    }

    /// Starts a turn without a prompt, unless a prompt comes first. Without a reader only a turn that is owed starts.
    func startOwn(isOwed: Bool, on number: Int) {
        time.after(.milliseconds(random.pick([1, 30, 2_000]))) { [self] in
            guard let process = processes[number], process.run == nil, process.queue.isEmpty,
                isOwed ? process.owesTurn : !process.isLeft
            else { return }
            tally.note("claude: starts a turn of its own")
            processes[number]?.owesTurn = false
            ownTurns[process.session, default: (0, 0)].begun += 1
            start([], ownScript().steps[...], isOwn: true, on: number)
        }
    }

    private func ownScript() -> GatewayScript {
        serial += 1
        let (name, command) = ("\(Self.ownAsk)\(serial)", "make beds-\(serial)")
        if random.happens(habits.ownAsks) {
            tally.note("claude: a turn of its own asks")
            return GatewayScript(
                (5, .callsTool(id: "call-\(name)", command: command)), (1, .asksApproval(id: name, command: command)),
                (5, .toolReturns(id: "call-\(name)", output: "done")), (5, .says(Self.ownWords)), (5, .finishes))
        }
        guard random.happens(habits.longOwnTurns) else {
            return GatewayScript((5, .says(Self.ownWords)), (5, .finishes))
        }
        tally.note("claude: a turn of its own lasts")
        let words = Self.ownWords
        let half = words.index(words.startIndex, offsetBy: words.count / 2)
        return GatewayScript(
            (5, .says(String(words[..<half]))), (random.pick([900, 5_000, 9_000]), .says(String(words[half...]))),
            (5, .finishes))
    }
}
