package import Vocabulary

/// One run of an invented agent: events, each with the time since the one before, and the expected outcome.
package struct RunScript: Sendable {
    package enum Kind: Sendable, Hashable, CaseIterable {
        case appended, snapshots, segments, tools, retried, failed, empty, approval, detached, aborted, stopped,
            oversized
        /// `CoreWorldPlan.random` draws this kind separately.
        case asking
    }

    package struct Step: Sendable {
        package var after: Duration
        package var event: RunEvent
        /// Belongs to the follow-up run of a detached approval.
        package var inFollowUp = false
    }

    package var kind: Kind
    package var steps: [Step] = []
    /// Text of the bubble's end, or nil if the end has a sentence of the bridge after whatever was said.
    package var finalText: String?
    /// The streamed text must begin the final text. A failed attempt breaks this.
    package var streamsPrefix = true
    /// The person decides this long after the ask.
    package var decision: (approval: ApprovalID, decision: ApprovalDecision, after: Duration)?
    package var stopsAfter: Duration?
    package var asking: Asking?
    /// The text at the end, as a look-up returns it.
    package var wholeText = ""

    /// Text at an even pace and nothing else, as a load.
    package static func steady(tokens: Int, every interval: Duration) -> RunScript {
        var script = RunScript(kind: .appended)
        script.add(.started, after: .zero)
        for number in 0..<tokens { script.append("t\(number) ", after: interval) }
        script.finish(after: interval)
        return script
    }

    /// The same run without its text.
    package func withoutText() -> RunScript {
        var script = self
        var skipped = Duration.zero
        script.steps = []
        for step in steps {
            if case .text = step.event {
                skipped += step.after
                continue
            }
            script.steps.append(Step(after: step.after + skipped, event: step.event, inFollowUp: step.inFollowUp))
            skipped = .zero
        }
        return script
    }

    init(kind: Kind) { self.kind = kind }

    package static func random(_ kind: Kind, name: String, using random: inout SeededGenerator) -> RunScript {
        var script = RunScript(kind: kind)
        script.add(.started, after: .milliseconds(Int64.random(in: 1...300, using: &random)))
        switch kind {
        case .appended: script.text(.appended, using: &random)
        case .snapshots: script.text(.snapshots, using: &random)
        case .segments:
            script.text(.segments, using: &random)
            script.tool("\(name)-1", using: &random)
            script.text(.segments, using: &random)
        case .tools:
            script.text(.snapshots, using: &random)
            for number in 0..<Int.random(in: 1...3, using: &random) { script.tool("\(name)-\(number)", using: &random) }
            script.text(.snapshots, using: &random)
        case .retried:
            script.text(.snapshots, using: &random)
            script.add(.retrying(reason: "overloaded"), after: .milliseconds(50))
            script.add(.started, after: .milliseconds(2_000))
            script.wholeText = ""
            script.streamsPrefix = false
            script.text(.snapshots, using: &random)
        case .failed:
            script.text(.snapshots, using: &random)
            script.add(.failed(RunFailure(kind: .rateLimit, message: "too many")), after: .milliseconds(100))
            return script
        case .empty, .asking: break
        case .approval: script.approval(name, detached: false, using: &random)
        case .detached:
            script.approval(name, detached: true, using: &random)
            return script
        case .aborted:
            script.text(.appended, using: &random)
            script.add(
                .finished(RunEnd(text: script.wholeText, reason: .aborted)), after: .milliseconds(10))
            script.finalText = script.wholeText
            return script
        case .stopped:
            script.text(.appended, using: &random)
            script.stopsAfter = .milliseconds(Int64.random(in: 0...1_500, using: &random))
        case .oversized:
            script.append(String(repeating: "0123456789 ", count: 8_000), after: .milliseconds(40))
            script.text(.appended, using: &random)
        }
        script.finish(after: .milliseconds(Int64.random(in: 0...80, using: &random)))
        return script
    }

    /// After a restart the preview may show a failed attempt. A Stop that comes before the bus says more ends without
    /// it.
    var isStopped: Bool { kind == .stopped || asking != nil && (stopsAfter != nil || asking?.stopsAfterReply != nil) }
    /// The agent's bus sends the text of a run one message at a time.
    var isSegmented: Bool { kind == .segments || kind == .asking }

    // MARK: Pieces

    mutating func add(_ event: RunEvent, after: Duration, inFollowUp: Bool = false) {
        steps.append(Step(after: after, event: event, inFollowUp: inFollowUp))
    }

    private mutating func append(_ text: String, after: Duration) {
        wholeText += text
        add(.text(.append(text)), after: after)
    }

    mutating func finish(after: Duration) {
        let canonical = wholeText.isEmpty || isSegmented ? nil : wholeText
        add(.finished(RunEnd(text: canonical, usage: Usage(inputTokens: 10, outputTokens: 5))), after: after)
        if kind != .stopped, kind != .empty, stopsAfter == nil { finalText = wholeText }
    }

    mutating func text(_ style: Kind, using random: inout SeededGenerator) {
        if style == .segments, !wholeText.isEmpty { wholeText += "\n\n" }
        let start = wholeText
        for _ in 0..<Int.random(in: 1...25, using: &random) {
            let word = random.pick(["alpha ", "βήτα ", "👩‍👩‍👧 ", "line\n", "“x” ", "a"])
            let pause = Duration.milliseconds(Int64.random(in: 0...120, using: &random))
            wholeText += word
            switch style {
            case .snapshots:
                // A flush trims the text, and the next snapshot has the white space again (openclaw.md#chat).
                if random.happens(0.1), let last = wholeText.last, last == " " {
                    add(.text(.snapshot(String(wholeText.dropLast()))), after: pause)
                }
                add(.text(.snapshot(wholeText)), after: pause)
            default: add(.text(.append(word)), after: pause)
            }
        }
        if style == .segments {
            let segment = String(wholeText.utf8.dropFirst(start.utf8.count)) ?? ""
            add(.text(.segmentEnded(segment)), after: .milliseconds(5))
        }
    }

    private mutating func tool(_ id: String, using random: inout SeededGenerator) {
        let call = ToolCallID("call|\(id)")
        let channels: [ToolChannel] = random.happens(0.5) ? [.call, .item, .command] : [.item, .command]
        for channel in channels {
            add(.tool(.started(ToolStart(call: call, channel: channel, name: "exec"))), after: .milliseconds(2))
        }
        for number in 0..<Int.random(in: 0...6, using: &random) {
            let progress = ToolProgress(call: call, output: "line \(number)\n", append: true)
            add(.tool(.progress(progress)), after: .milliseconds(Int64.random(in: 0...60, using: &random)))
        }
        for channel in channels {
            // Each channel reports the result in its own form.
            let result = ToolResult(
                call: call, channel: channel, status: .completed, result: .string("ok from \(channel)"))
            add(.tool(.finished(result)), after: .milliseconds(3))
        }
    }

    private mutating func approval(_ name: String, detached: Bool, using random: inout SeededGenerator) {
        text(.snapshots, using: &random)
        let id = ApprovalID("apr-\(name)")
        let call = ToolCallID("call|\(name)")
        add(.tool(.started(ToolStart(call: call, name: "exec"))), after: .milliseconds(5))
        let request = ApprovalRequest(id: id, subject: .exec, title: "exec", command: "ls", call: call)
        add(.approvalRequested(request), after: .milliseconds(5))
        if detached { add(.paused(PausedCall(call: call, approval: id)), after: .milliseconds(5)) }
        let after = Duration.milliseconds(Int64.random(in: 1_500...4_000, using: &random))
        decision = (id, random.pick([.approve, .approve, .deny]), after)
        guard detached else {
            // The agent waits for the decision; `waitsForDecision` delays this step until then.
            add(
                .approvalSettled(ApprovalSettlement(id: id, outcome: .decided(decision?.decision ?? .deny))),
                after: .seconds(12))
            add(.tool(.finished(ToolResult(call: call, status: .completed))), after: .milliseconds(20))
            return text(.snapshots, using: &random)
        }
        let first = wholeText
        add(.finished(RunEnd(text: first)), after: .milliseconds(30))
        add(.started, after: .seconds(14), inFollowUp: true)
        add(.text(.snapshot("Done.")), after: .milliseconds(100), inFollowUp: true)
        add(.finished(RunEnd(text: "Done.")), after: .milliseconds(20), inFollowUp: true)
        finalText = first + "\n\nDone."
        wholeText = finalText ?? ""
    }
}
