import Vocabulary

/// Troubles of an Oppi server that the bridge has no part in.
package enum OppiTrouble: Sendable {
    /// The owner's own device prompts in the session at this place.
    case prompt(name: String, session: Int)
    /// The device prompts in a session of its own, where the run asks for a permission.
    case asksElsewhere(name: String)
    case stops(session: Int)
    case ends(session: Int)
    case deletes(session: Int)
    /// Every socket that follows the session at full breaks; the others stay.
    case cuts(session: Int)
    /// Something in front of the server answers REST calls.
    case pages(Duration)
    /// The server's process ends and starts again.
    case restarts(down: Duration)

    /// Whether runs or their traces may be lost.
    var losesRuns: Bool {
        switch self {
        case .stops, .ends, .deletes, .restarts: true
        case .prompt, .asksElsewhere, .cuts, .pages: false
        }
    }
}

extension ScriptedOppi {
    package func happens(_ trouble: OppiTrouble) {
        switch trouble {
        case .prompt(let name, let place): anotherPrompts(name, place)
        case .asksElsewhere(let name): anotherPrompts(name, nil)
        case .stops(let place):
            guard let session = picked(place), let run = session.activation?.run else { return }
            // A stop takes effect even after the last words.
            if run.isStreaming { lost.formUnion(run.steered + [run.prompt]) }
            stop(session)
        case .ends(let place): if let session = picked(place) { end(session, random.pick(["stopped", "terminated"])) }
        case .deletes(let place):
            guard let session = picked(place) else { return }
            lost.formUnion(session.prompts)
            end(session, "terminated")
            sessions.removeAll { $0 === session }
        case .cuts(let place): if let session = picked(place, busy: true) { cut(session) }
        case .pages(let time): pagesUntil = self.time.now + time
        case .restarts(let down): restart(down)
        }
    }

    /// `busy` prefers a session whose agent has a run.
    private func picked(_ place: Int, busy: Bool = false) -> OppiSession? {
        let working = sessions.filter { busy && $0.activation?.run != nil }
        let choice = working.isEmpty ? sessions : working
        return choice.isEmpty ? nil : choice[place % choice.count]
    }

    private func cut(_ session: OppiSession) {
        for number in lines.keys.sorted() where lines[number]?.levels[session.id] == true {
            guard let line = lines.removeValue(forKey: number)?.line else { continue }
            session.activation?.followers[number] = nil
            line.end(isCut: true)
        }
    }

    /// Prompts in a session of the bridge, or in a new one if none exists. Without a place the session is new and the
    /// run asks.
    private func anotherPrompts(_ name: String, _ place: Int?) {
        let prompt = "Foreign \(name)?"
        var script = GatewayScript((30, .says("\(name)w0 ")))
        func add(_ milliseconds: Int64, _ step: GatewayScript.Step) {
            script.steps.append(.init(after: .milliseconds(milliseconds), step: step))
        }
        add(200, .callsTool(id: "\(name)t", command: name))
        if place == nil || random.happens(0.5) { add(20, .asksApproval(id: "\(name)ap", command: name)) }
        add(200, .toolReturns(id: "\(name)t", output: name))
        add(random.pick([100, 2_000]), .says("\(name)w1"))
        add(40, .finishes)
        scripts[prompt] = script
        let shared = place.flatMap { random.happens(0.3) ? nil : picked($0) }
        let session = shared ?? makeSession()
        activate(session)
        if let activation = session.activation { handOver(prompt, "followUp", [], session, activation) }
    }

    /// Traces stay on the disk, and sessions keep the status that was written last.
    private func restart(_ down: Duration) {
        for session in sessions { kill(session) }
        permissions = [:]
        pagesUntil = .zero
        startedAt = time.now + down
    }
}
