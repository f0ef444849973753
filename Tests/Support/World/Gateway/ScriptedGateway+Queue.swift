import Vocabulary

/// A message that arrived while its session was busy.
struct GatewayWaiting {
    var key: String
    var text: String
    var script: GatewayScript
}

// Sessions that another client's run holds or whose stopped run is not released yet (openclaw.md#chatsend), and the
// recovery of a restarted gateway (openclaw.md#disconnects).
extension ScriptedGateway {
    private static let draining = "Gateway is draining; new tasks are not accepted"

    /// Whether the message must wait. The bridge holds messages behind its own runs itself, so those do not count. E4
    /// never queues: its runs go side by side.
    func isTaken(_ session: String, by key: String) -> Bool {
        guard era != .e4 else { return false }
        if runs.values.contains(where: { $0.session == session && tearingDown.contains($0.id) }) { return true }
        return busyRun(in: session) != nil
    }

    var atWork: Int { runs.values.count { $0.hasBegun && !$0.isOver } }

    /// No run is at work in the session, and the agent has released every stopped one.
    package func isFree(_ session: String) -> Bool {
        !runs.values.contains { $0.session == session && (!$0.isOver || tearingDown.contains($0.id)) }
    }

    private func busyRun(in session: String) -> GatewayRun? {
        runs.values.filter { $0.session == session && !$0.isOver && $0.hasBegun && $0.owner == nil }
            .min { $0.id < $1.id }
    }

    mutating func waits(_ key: String, _ session: String, _ text: String, _ script: GatewayScript, at now: Instant) {
        keys[key] = now
        var run = GatewayRun(id: key, session: session, question: text, steps: [], detaches: false)
        run.owner = connection?.number
        run.state = .ended
        runs[key] = run
        if era == .e3, runs.values.contains(where: { $0.session == session && tearingDown.contains($0.id) }) {
            return refuseWhileDraining(key, session, text, at: now)
        }
        noteBegin(key, session, text, at: now)
        begun[Self.asked(text), default: 0] += 1
        let steered = era == .e3 ? busyRun(in: session)?.id : nil
        // The gateway writes the message now, and again when the other run takes it.
        if era.isNew { write("user", text, in: session, key: era.key(ofQuestion: key), at: now) }
        tellAcceptance(text, in: session)
        broadcast("chat", ["runId": "\(key)", "sessionKey": "\(session)", "seq": 1, "state": "final"])
        if let steered {
            steer(text, script, into: steered, key: key, at: now)
        } else {
            waiting[session, default: []].append(GatewayWaiting(key: key, text: text, script: script))
        }
    }

    /// E3 does not run a message while it drains.
    private mutating func refuseWhileDraining(_ key: String, _ session: String, _ text: String, at now: Instant) {
        let words = "⚠️ Gateway is restarting. Please wait a few seconds and try again."
        agent(key, "lifecycle", ["phase": "error", "error": "\(Self.draining)", "endedAt": wall(now)])
        // The next message makes the gateway release a deaf agent.
        for id in tearingDown where runs[id]?.session == session {
            schedule(.lifecycleAfterAbort(run: id), after: .milliseconds(60), at: now)
        }
        write("user", text, in: session, key: era.key(ofQuestion: key), at: now)
        broadcast(
            "chat",
            [
                "runId": "\(key)", "sessionKey": "\(session)", "seq": 2, "state": "final",
                "message": message(words),
            ])
        write("assistant", words, in: session, key: key, stopReason: "stop", at: now)
    }

    /// Makes the message the last one of the other run.
    private mutating func steer(
        _ text: String, _ script: GatewayScript, into id: String, key: String, at now: Instant
    ) {
        guard var run = runs[id] else { return }
        let end = run.steps.last?.step == .finishes ? run.steps.popLast() : nil
        run.steps.append(.init(after: .milliseconds(100), step: .takes(text, key: key)))
        run.steps.append(contentsOf: script.steps)
        if script.steps.isEmpty, let end { run.steps.append(end) }
        runs[id] = run
    }

    mutating func takes(_ text: String, _ key: String, in id: String, at now: Instant) {
        guard let run = runs[id] else { return }
        endSegment(id, stopReason: "stop", at: now)
        write("user", text, in: run.session, key: era.key(ofQuestion: key), at: now)
    }

    /// The session is free: its queue runs in a second, and the next runs of the lane begin.
    mutating func free(_ session: String, at now: Instant) {
        var room = era.lane - atWork
        while room > 0, let next = lane.first {
            lane.removeFirst()
            guard runs[next]?.isOver == false else { continue }
            room -= 1
            schedule(.begin(run: next), after: .zero, at: now)
        }
        guard waiting[session]?.isEmpty == false else { return }
        schedule(.runQueue(session: session), after: .seconds(1), at: now)
    }

    mutating func runQueue(_ session: String, at now: Instant) {
        guard busyRun(in: session) == nil, let next = waiting[session]?.first else { return }
        waiting[session]?.removeFirst()
        beginOwn(in: session, question: next.text, next.script.steps[...], at: now)
    }

    /// Starts a run under a name that no client knows.
    mutating func beginOwn(
        in session: String, question: String, _ steps: ArraySlice<GatewayScript.Timed>, at now: Instant
    ) {
        ownRuns += 1
        let id = "76614994-7f3a-4750-8af4-\(ownRuns)"
        runs[id] = GatewayRun(
            id: id, session: session, question: question, steps: steps, detaches: era.detachesApprovals)
        keys[id] = now
        begin(id, at: now)
    }

    // MARK: After a restart

    static let interruption = "[System] Your previous turn was interrupted by a gateway restart"
    static let unsafe =
        "I was interrupted by a gateway restart and couldn't safely resume the previous turn. Please send that last request again and I'll pick it up cleanly."

    /// E3 continues a run after a restart by itself. If the run was in a tool, it gives up with a sentence.
    mutating func resume(_ id: String, at now: Instant) {
        guard let run = runs[id], run.question != nil else { return }
        let isInTool = run.steps.contains { if case .toolReturns = $0.step { true } else { false } }
        guard !isInTool else {
            let key = "main-session-restart-recovery:\(id):failed-notice"
            return write("assistant", Self.unsafe, in: run.session, key: key, stopReason: "stop", at: now)
        }
        var steps = run.steps
        if !steps.contains(where: { $0.step == .finishes || $0.step == .finishesEmpty }) {
            steps.append(.init(after: .milliseconds(100), step: .finishes))
        }
        beginOwn(in: run.session, question: Self.interruption + " while it was at work. Continue.", steps, at: now)
    }
}
