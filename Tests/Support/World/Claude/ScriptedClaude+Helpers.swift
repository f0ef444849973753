import Vocabulary

// A helper in the background. It works beside all turns of its session and asks once; its end starts a turn that no
// prompt began.
extension ScriptedClaude {
    struct Helper {
        /// Name of its ask.
        var name: String
        var command: String
        /// The ask has no answer yet.
        var asks = false
        /// The call that it asked about has returned.
        var isEnding = false

        var agent: String { "agent-\(name)" }
        /// The call that started it.
        var beginning: String { "call-\(name)" }
        /// The call that it asks about.
        var tool: String { "tool-\(name)" }
    }

    /// Beginning of the names of asks that no prompt's script has.
    package static let ownAsk = "own-"

    // MARK: The beginning

    /// The call that starts a helper returns at once.
    func startHelper(on number: Int) {
        guard random.happens(habits.helpers), let process = processes[number], process.helper == nil else { return }
        tally.note("claude: starts a helper in the background")
        serial += 1
        let helper = Helper(name: "\(Self.ownAsk)\(serial)", command: "make rain-\(serial)")
        let input: GatewayValue = ["description": "Water", "prompt": "Water the beds", "run_in_background": true]
        call(helper.beginning, "Water", of: "Agent", input, on: number)
        processes[number]?.helper = helper
        tellTasks(on: number)
        tellTask("task_started", ["task_type": "local_agent", "is_backgrounded": true], of: helper, on: number)
        time.after(.milliseconds(random.pick([100, 1_500, 6_000]))) { [self] in helperAsks(helper.name, on: number) }
        toolEnds("Async agent launched successfully.", isFailed: false, on: number)
    }

    func tellTasks(on number: Int) {
        let tasks = processes[number]?.helper.map { helper -> GatewayValue in
            [["task_id": "\(helper.agent)", "task_type": "local_agent"]]
        }
        say(["type": "system", "subtype": "background_tasks_changed", "tasks": tasks ?? []], on: number)
    }

    private func tellTask(_ subtype: String, _ more: GatewayValue, of helper: Helper, on number: Int) {
        let task: GatewayValue = [
            "type": "system", "subtype": "\(subtype)", "task_id": "\(helper.agent)",
            "tool_use_id": "\(helper.beginning)",
        ]
        say(task.with(more), on: number)
    }

    // MARK: The ask

    private func helperAsks(_ name: String, on number: Int) {
        guard let process = processes[number], let helper = process.helper, helper.name == name else { return }
        let input: GatewayValue = ["command": "\(helper.command)"]
        tell("assistant", ["type": "tool_use", "id": "\(helper.tool)", "name": "Bash", "input": input], on: number)
        guard !process.isLeft else { return returns(Self.noStream, on: number) }
        tally.note("claude: a helper asks \(process.run == nil ? "between turns" : "beside a turn")")
        processes[number]?.helper?.asks = true
        tellState(on: number)
        tellAsk(name, helper.command, of: helper.tool, helper: helper.agent, on: number)
    }

    func helperHears(_ answer: GatewayValue, isYes: Bool, on number: Int) {
        guard let helper = processes[number]?.helper, helper.asks else { return }
        guard isYes else { return returns(answer["message"]?.string ?? "", on: number) }
        executed.append(AgentExecuted(helper.name, command: answer["updatedInput"]?["command"]?.string ?? ""))
        returns("done", on: number)
    }

    /// Denies the open ask at the end of the program's input.
    func denyHelper(on number: Int) {
        if processes[number]?.helper?.asks == true { returns(Self.noAnswer, on: number) }
    }

    private func returns(_ output: String, on number: Int) {
        guard let helper = processes[number]?.helper, !helper.isEnding else { return }
        processes[number]?.helper?.asks = false
        processes[number]?.helper?.isEnding = true
        tellState(on: number)
        tell("user", ["type": "tool_result", "tool_use_id": "\(helper.tool)", "content": "\(output)"], on: number)
        time.after(.milliseconds(300)) { [self] in
            guard processes[number]?.helper?.name == helper.name else { return }
            tell("assistant", ["type": "text", "text": "Watered, says the helper."], on: number)
            helperEnds("completed", on: number)
            processes[number]?.owesTurn = true
            startOwn(isOwed: true, on: number)
        }
    }

    /// A frame of the helper's own.
    private func tell(_ type: String, _ block: GatewayValue, on number: Int) {
        guard let helper = processes[number]?.helper else { return }
        say(
            [
                "type": "\(type)", "message": ["role": "\(type)", "content": [block]],
                "parent_tool_use_id": "\(helper.beginning)", "agent_id": "\(helper.agent)",
            ], on: number)
    }

    // MARK: The end

    private func helperEnds(_ status: String, on number: Int) {
        guard let helper = processes[number]?.helper else { return }
        processes[number]?.helper = nil
        tellTask("task_notification", ["status": "\(status)", "summary": "Watered."], of: helper, on: number)
        tellTasks(on: number)
    }

    /// Ends the helper at an interrupt that does not spare it.
    func killHelper(on number: Int) {
        guard let helper = processes[number]?.helper else { return }
        if helper.asks { say(["type": "control_cancel_request", "request_id": "\(helper.name)"], on: number) }
        helperEnds("stopped", on: number)
    }
}
