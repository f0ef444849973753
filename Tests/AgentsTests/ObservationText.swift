import AgentKit
import Vocabulary

/// An observation as one line, for people and for golden files.
enum ObservationText {
    static func milliseconds(_ moment: Instant) -> Int64 { (moment - Instant.zero).nanoseconds / 1_000_000 }

    static func line(_ observation: Observation) -> String {
        switch observation {
        case .signal(let signal):
            "\(signal.run?.text ?? "-") \(signal.session?.text ?? "-") \(event(signal.event))"
        case .prompt(let prompt): "prompt \(prompt.run) \(prompt.session) \(quoted(prompt.text))"
        case .stopSent(let session, let run): "stop sent \(session?.text ?? "-") \(run?.text ?? "-")"
        case .decisionSent(let approval, let decision): "decision sent \(approval) \(decision)"
        case .answerSent(let question, _, let answer): "answer sent \(question) \(answer)"
        case .sendAnswered(let asked, .accepted(let run)): "send \(asked) accepted as \(run)"
        case .sendAnswered(let asked, .noRun): "send \(asked) runs nothing"
        case .sendAnswered(let asked, .refused(let message)): "send \(asked) refused \(quoted(message))"
        case .sendAnswered(let asked, .leavesAgain(let run)): "send \(asked) again as \(run)"
        case .sendAnswered(let asked, .notSent(let sentence)): "send \(asked) not made \(quoted(sentence))"
        case .sendAnswered(let asked, .neverLeft): "send \(asked) never left"
        case .filesLeftOut(let run, let files): "\(run) leaves without \(files.map(\.sentence).joined(separator: " "))"
        case .told(let run, let line): "\(run) is told \"\(line)\""
        case .conversationLost(let run): "\(run) begins another conversation"
        case .modelAnswered(let run, let choice, .set(let before)): "\(run) has \(choice), before \(before ?? "-")"
        case .modelAnswered(let run, let choice, .refused(let reason)): "\(run) lacks \(choice) \(quoted(reason))"
        case .modelAnswered(let run, let choice, .unsettled(let reason)): "\(run) may lack \(choice) \(quoted(reason))"
        case .levelAnswered(let run, let choice, let answer): "\(run) thinks at \(choice): \(answer)"
        case .abortAnswered(let run): "stop of \(run) answered"
        case .lookedUp(let run, .running(let text)): "looked up \(run) running \(quoted(text))"
        case .lookedUp(let run, .ended(let end)): "looked up \(run) \(self.end(end))"
        case .lookedUp(let run, .failed(let failure)): "looked up \(run) \(self.failure(failure))"
        case .lookedUp(let run, .unknown): "looked up \(run) unknown"
        case .lookedUp(let run, .waits): "looked up \(run) waits"
        case .jobStarted(let job): "job started in \(job.session?.text ?? "?") \(job.run?.text ?? "")"
        case .jobFinished(let job): "job finished in \(job.session?.text ?? "?") \(job.run?.text ?? "")"
        case .linkLost: "link lost"
        case .linkBack: "link back"
        }
    }

    private static func event(_ event: RunEvent) -> String {
        switch event {
        case .started: "started"
        case .text(.append(let text)): "append \(quoted(text))"
        case .text(.snapshot(let text)): "snapshot \(quoted(text))"
        case .text(.segment(let text)): "segment \(quoted(text))"
        case .text(.replaced(let text)): "replaced \(quoted(text))"
        case .text(.segmentEnded(let text)): "segment ended \(quoted(text))"
        case .tool(let tool): self.tool(tool)
        case .approvalRequested(let request): self.request(request)
        case .approvalSettled(let settlement):
            "approval settled \(settlement.id) \(settlement.outcome)" + member("by", settlement.by)
        case .asked(let question): self.question(question)
        case .questionSettled(let settlement): "question settled \(settlement.id) \(settlement.reason)"
        case .paused(let paused): "paused \(paused.call?.text ?? "-") for \(paused.approval)"
        case .retrying(let reason): "retrying \(quoted(reason))"
        case .alive(let activity): "alive, \(activity)"
        case .finished(let end): self.end(end)
        case .failed(let failure): self.failure(failure)
        }
    }

    private static func tool(_ tool: ToolEvent) -> String {
        switch tool {
        case .started(let start):
            "tool started \(start.call) \(start.channel) \(start.name)" + member("title", start.title)
                + (start.arguments.map { " arguments=\($0.text)" } ?? "") + files(start.file.map { [$0] } ?? [])
        case .progress(let progress):
            "tool progress \(progress.call) \(progress.channel)" + (progress.append ? " append" : "")
                + member("title", progress.title) + member("output", progress.output)
                + (progress.percent.map { " percent=\($0)" } ?? "") + files(progress.files)
        case .finished(let result):
            "tool finished \(result.call) \(result.channel) \(result.name ?? "-") \(result.status)"
                + member("title", result.title) + (result.result.map { " result=\($0.text)" } ?? "")
                + member("error", result.error) + files(result.files)
        }
    }

    private static func files(_ files: [ToolFile]) -> String {
        files.map { " \($0.use)s \($0.path)" }.joined()
    }

    private static func request(_ request: ApprovalRequest) -> String {
        var text = "approval requested \(request.id) \(request.subject) \(request.severity) \(quoted(request.title))"
        text += member("message", request.message) + member("command", request.command)
        text += member("host", request.host) + member("call", request.call?.text) + facts(request.facts)
        if let expiresAt = request.expiresAt { text += " expires=\(milliseconds(expiresAt))" }
        if request.isIncomplete { text += " incomplete" }
        if let allowed = request.allowed {
            text += " allowed=" + allowed.map(\.rawValue).sorted().joined(separator: ",")
        }
        return text
    }

    private static func facts(_ facts: AskFacts) -> String {
        var text = member("folder", facts.folder)
        text += facts.lines.map { member("line", "\($0.label): \($0.value)") }.joined()
        text += facts.paths.map { member("path", $0) }.joined()
        return text + (facts.leavesSandbox ? " leaves the sandbox" : "") + (facts.reachesNetwork ? " network" : "")
    }

    private static func question(_ question: Question) -> String {
        var text = "asked \(question.id) \(quoted(question.title))"
        if !question.message.isEmpty { text += member("message", question.message) }
        text += question.options.map { option in
            " option=\(quoted(option.value))" + (option.label == option.value ? "" : member("label", option.label))
                + member("details", option.details)
        }.joined()
        text += (question.isMultiSelect ? " several" : "") + (question.allowsOwnWords ? " words" : "")
        text += member("prefill", question.prefill) + member("placeholder", question.placeholder)
        if let expiresAt = question.expiresAt { text += " expires=\(milliseconds(expiresAt))" }
        return text
    }

    private static func end(_ end: RunEnd) -> String {
        "finished \(end.reason) \(end.scope) \(quoted(end.text))" + usage(end.usage)
            + (end.truncated ? " truncated" : "") + (end.includesFollowUp ? " with follow-up" : "")
    }

    private static func failure(_ failure: RunFailure) -> String {
        "failed \(failure.kind) \(quoted(failure.message))" + member("text", failure.text) + usage(failure.usage)
    }

    private static func usage(_ usage: Usage?) -> String {
        guard let usage else { return "" }
        return " tokens=\(usage.inputTokens)+\(usage.outputTokens)"
            + (usage.estimatedCostUSD.map { " cost=\(Int(($0 * 1_000_000).rounded()))e-6" } ?? "")
            + member("model", usage.model)
    }

    private static func member(_ name: String, _ value: String?) -> String {
        value.map { " \(name)=\(quoted($0))" } ?? ""
    }

    private static func quoted(_ text: String?) -> String { text.map { JSONText.string($0).text } ?? "-" }
}
