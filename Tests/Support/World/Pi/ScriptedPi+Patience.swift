import Vocabulary

// A program's compactions and questions before it accepts a prompt, and behind the end of a loop.
extension ScriptedPi {
    /// Seconds.
    private static let compactions: [Int64] = [1, 8, 25, 45, 75]
    static let compactingFirst = "pi: compacts before it takes a prompt"
    static let askingFirst = "pi: asks before it takes a prompt"
    static let compactingBehind = "pi: compacts behind a whole answer"

    // MARK: Before a prompt

    /// The earlier line answers before the compaction (pi.md#later-lines-l-what-changes). Meanwhile the program is
    /// silent, and a Stop stops nothing.
    func compactsFirst(_ command: GatewayValue, on number: Int) {
        guard let run = processes[number]?.run?.number else { return }
        counts.compactedFirst += 1
        tally.note(Self.compactingFirst)
        if !habits.isLater { answer(command, on: number) }
        processes[number]?.run?.isCompacting = true
        say(compaction("start", "threshold"), on: number)
        time.after(.seconds(random.pick(Self.compactions))) { [self] in
            guard processes[number]?.run?.number == run else { return }
            processes[number]?.run?.isCompacting = false
            tellCompactionEnd("threshold", on: number)
            if habits.isLater { answer(command, on: number) }
            begin(run, on: number)
        }
    }

    /// False if the script asks nothing.
    func asksFirst(_ command: GatewayValue, on number: Int) -> Bool {
        guard habits.guards == nil, let steps = processes[number]?.run?.steps else { return false }
        for index in steps.indices {
            guard case .asksApproval(let id, let asked) = steps[index].step else { continue }
            counts.askedFirst += 1
            tally.note(Self.askingFirst)
            tally.meets(Self.askingFirst, asks: 1)
            processes[number]?.run?.steps.remove(at: index)
            processes[number]?.run?.untaken = command
            processes[number]?.run?.dialog = id
            processes[number]?.run?.asked = (asked, id)
            let dialog: GatewayValue = [
                "type": "extension_ui_request", "id": "\(id)", "method": "confirm", "title": "Run it?",
                "message": "\(asked)",
            ]
            say(dialog, on: number)
            return true
        }
        return false
    }

    func takes(_ command: GatewayValue, on number: Int) {
        guard let run = processes[number]?.run?.number else { return }
        processes[number]?.run?.untaken = nil
        answer(command, on: number)
        begin(run, on: number)
    }

    // MARK: Behind a loop

    func sayStrangeThings(on number: Int) {
        guard habits.strangeness > 0, random.happens(habits.strangeness) else { return }
        counts.strange += 1
        tally.note("pi: says unknown kinds behind agent_end")
        say(["type": "entry_appended", "entry": ["type": "custom", "id": "e1"]], on: number)
        say(["type": "garden_watered"], on: number)
    }

    /// The answer is already whole, so nothing is retried.
    func compactsBehind(on number: Int) {
        guard let run = processes[number]?.run?.number else { return }
        counts.compactedBehind += 1
        tally.note(Self.compactingBehind)
        let reason = random.pick(["overflow", "threshold"])
        say(["type": "turn_end", "toolResults": []], on: number)
        tellLoopEnd(willRetry: false, on: number)
        if habits.isLater { sayStrangeThings(on: number) }
        processes[number]?.run?.isCompacting = true
        say(compaction("start", reason), on: number)
        time.after(.seconds(random.pick(Self.compactions))) { [self] in
            guard let ended = processes[number]?.run, ended.number == run else { return }
            ends[ended.prompt] = time.now
            processes[number]?.run?.isCompacting = false
            tellCompactionEnd(reason, on: number)
            becomeIdle(settles: true, on: number)
        }
    }

    private func tellCompactionEnd(_ reason: String, on number: Int) {
        let end = compaction("end", reason)
        say(end.with("aborted", .flag(false)).with("willRetry", .flag(false)), on: number)
    }

    private func compaction(_ phase: String, _ reason: String) -> GatewayValue {
        let type = habits.isLater ? "compaction_\(phase)" : "auto_compaction_\(phase)"
        let frame: GatewayValue = ["type": "\(type)"]
        return frame.with("reason", habits.isLater || phase == "start" ? .text(reason) : nil)
    }
}
