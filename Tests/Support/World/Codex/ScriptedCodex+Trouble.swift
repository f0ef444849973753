import Vocabulary

/// Troubles of a Codex that the bridge has no part in.
package enum CodexMisfortune: Sendable {
    /// Another client prompts in the idle thread at this place.
    case prompt(name: String, thread: Int)
    /// Another client interrupts the running turn at this place.
    case interrupts(thread: Int)
    /// SIGKILL of the server's process.
    case kills
    /// Cuts every socket, as Codex does with a slow one.
    case cuts
    /// Requests get no answer.
    case mutes(Duration)
    case slows(Duration)
    /// Refuses this many requests as overloaded.
    case overloads(Int)
    case logsOut(Duration)
    case losesEnds(Int)
    case archives(thread: Int)
    case deletes(thread: Int)
    /// Another program writes the thread whenever the server does not have it loaded.
    case holds(thread: Int, Duration)

    /// Whether runs may be lost.
    var losesRuns: Bool {
        switch self {
        case .kills, .mutes, .logsOut, .overloads, .holds, .deletes, .slows, .prompt, .interrupts: true
        case .cuts, .losesEnds, .archives: false
        }
    }
}

extension ScriptedCodex {
    package func happens(_ trouble: CodexMisfortune) {
        switch trouble {
        case .prompt(let name, let place): anotherPrompts(name, place)
        case .interrupts(let place): anotherStops(place)
        case .kills: restarts()
        case .cuts: cutSockets()
        case .mutes(let time): troubles.mutedUntil = self.time.now + time
        case .slows(let time): troubles.slowUntil = self.time.now + time
        case .overloads(let count): troubles.overloads += count
        case .logsOut(let time): troubles.loggedOutUntil = self.time.now + time
        case .losesEnds(let count): troubles.lostEnds += count
        case .archives(let place):
            guard let rollout = picked(place), rollout.file == .written, isIdle(rollout) else { return }
            if let thread = process?.threads[rollout.id] { unload(thread) }
            rollout.isArchived = true
        case .deletes(let place):
            guard let rollout = picked(place), isIdle(rollout) else { return }
            if let thread = process?.threads[rollout.id] { unload(thread) }
            // The record was the only place to find an end that no client had heard.
            for turn in rollout.turns where !turn.endIsKnown { lost.formUnion(turn.prompts) }
            rollouts.removeAll { $0 === rollout }
            troubles.hasLostThread = true
        case .holds(let place, let time): picked(place)?.foreignUntil = self.time.now + time
        }
    }

    private func picked(_ place: Int) -> CodexRollout? {
        rollouts.isEmpty ? nil : rollouts[place % rollouts.count]
    }

    private func isIdle(_ rollout: CodexRollout) -> Bool { process?.threads[rollout.id]?.turn == nil }

    private func cutSockets() {
        guard let process else { return }
        for (number, client) in process.clients.sorted(by: { $0.key < $1.key }) {
            client.line.end(isCut: true)
            process.clients[number] = nil
            for thread in process.loaded where thread.subscribers.remove(number) != nil { considerUnloading(thread) }
        }
    }

    /// Another client prompts in idle threads only, as the bridge does.
    private func anotherPrompts(_ name: String, _ place: Int) {
        let idle = process?.loaded.filter { $0.turn == nil } ?? []
        guard !idle.isEmpty else { return }
        let thread = idle[place % idle.count]
        var script = GatewayScript((30, .says("\(name)w0 ")))
        func add(_ milliseconds: Int64, _ step: GatewayScript.Step) {
            script.steps.append(.init(after: .milliseconds(milliseconds), step: step))
        }
        add(200, .callsTool(id: "\(name)t", command: name))
        if random.happens(0.3) { add(10, .asksApproval(id: "\(name)ap", command: name)) }
        add(200, .toolReturns(id: "\(name)t", output: name))
        add(Int64.random(in: 100...6_000, using: &random), .says("\(name)w1 "))
        add(40, .finishes)
        makeTurn("Foreign \(name)?", label: "other-\(name)", isForeign: true, script.steps, thread)
    }

    private func anotherStops(_ place: Int) {
        let busy = process?.loaded.filter { $0.turn?.hasBegun == true } ?? []
        guard !busy.isEmpty, let turn = busy[place % busy.count].turn else { return }
        lost.formUnion(turn.prompts)
        interrupt(turn, busy[place % busy.count])
    }

    // MARK: Troubles that the world has for any agent

    /// The process ends. A person starts another if the server is theirs.
    package func restarts() {
        kill()
        if habits.isNamed { start(nil) }
    }

    /// A server that the bridge started shares its computer: losing the socket for a while means losing the process.
    package func isCut(for away: Duration) -> Duration {
        guard !habits.isNamed else { return away }
        if away > .zero { kill() }
        return .zero
    }

    /// True if Codex itself says why it does nothing.
    package func refuses(for duration: Duration) -> Bool {
        guard !habits.isNamed || random.happens(0.5) else { return false }
        troubles.loggedOutUntil = time.now + duration
        return true
    }

    package func isWell() {
        troubles = Troubles()
        for rollout in rollouts { rollout.foreignUntil = .zero }
    }

    /// Frames with an id stay as they are: another id would not be a trouble that the outside can have.
    package func mayDistort(_ frame: [UInt8]) -> Bool { GatewayValue.parse(frame)?["id"] == nil }

    package func passes(_ frame: [UInt8], toBridge isIncoming: Bool) {
        if isIncoming { return sight.arrived(frame) }
        if let breach = sight.leaves(frame) { breaches.append(breach) }
    }
}
