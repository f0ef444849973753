import AgentKit
import JSONReading
import Vocabulary

// History rows as the gateway writes them (openclaw.md#seen-on-running-gateways): they
// show whose answer comes, and text that no frame of a run has.
extension OpenClawSession {
    mutating func noticeRow(_ payload: FrameNode, at now: Instant) {
        guard let row = payload["message"], let session = session(of: payload) else { return }
        if row["role"]?.holds("user") == true {
            let asker = OpenClawHistory.asker(row)
            let adoption = runs.adopted.asked(
                in: session, by: asker, row["content"]?.contentText ?? "",
                isInterruption: OpenClawHistory.isInterruption(row),
                isFirst: asker.map { runs.written(RunID($0)) } ?? false)
            if let adoption { isAnswered(adoption, at: now) }
            return
        }
        guard row["role"]?.holds("assistant") == true else { return }
        if OpenClawHistory.noticeOfRestart(row) != nil {
            for run in runs.followed where runs[run]?.session == session {
                if case .dead? = runs.adopted.stage(of: run) { lookUp(run, in: session, isAsked: false, at: now) }
            }
            return
        }
        if row["stopReason"]?.holds("error") == true { return noticeFailure(row, in: session, at: now) }
        let text = OpenClawHistory.piece(row["content"]?.contentText ?? "", row).text
        if row["stopReason"]?.holds("aborted") == true, let run = runs.onlyBegun(in: session) {
            runs.verdicts.brokeOff(run)
        }
        guard !text.isEmpty else { return }
        guard let run = runs.adopted.answered(in: session) else {
            return noticeSilence(text, payload, in: session, at: now)
        }
        observed([.signal(RunSignal(run: run, session: session, event: .text(.segmentEnded(text))))])
        runs.told(of: run, in: session, at: now, read: reading(now))
    }

    /// Behind a command that waits for approval, the second era sends no frames of the agent's words: the row supplies them.
    private mutating func noticeSilence(_ text: String, _ payload: FrameNode, in session: AgentSession, at now: Instant)
    {
        guard gateway?.isNew == false, let run = runs.onlyBegun(in: session),
            runs.questions[run]?.question.approvals.isEmpty == false,
            !runs.adopted.isBusy(session, besides: runs.adopted.answer(to: run) ?? run, at: reading(now))
        else { return }
        let said = Self.withoutDirectives(text)
        if !said.isEmpty { take(decoder.wrote(said, in: run, payload), at: now) }
    }

    /// Strips `[[reply_to_current]]` and similar directives, which the gateway
    /// takes out of frames and histories but not out of rows.
    private static func withoutDirectives(_ text: String) -> String {
        var said = text[...]
        while said.hasPrefix("[["), let end = said.firstRange(of: "]]"), !said[..<end.lowerBound].contains("\n") {
            said = said[end.upperBound...].trimmed
        }
        return String(said)
    }

    /// Notes the vendor's words for a failure of the only run at work in the session, in case the lifecycle has none.
    private mutating func noticeFailure(_ row: FrameNode, in session: AgentSession, at now: Instant) {
        guard let words = row["errorMessage"]?.string, !words.isEmpty, let run = runs.onlyBegun(in: session),
            !runs.adopted.isBusy(session, besides: runs.adopted.answer(to: run) ?? run, at: reading(now))
        else { return }
        runs.verdicts.isWritten(run, words)
    }
}
