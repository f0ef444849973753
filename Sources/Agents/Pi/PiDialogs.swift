import AgentKit
import ConversationEngine
import JSONReading
import Vocabulary

/// Dialogs of pi's extensions as cards and questions (pi.md#extension-ui).
enum PiDialogs {
    /// Reads an `extension_ui_request`, or returns nil for one that needs no answer. A dialog that no person can answer would block
    /// its run, so it is never held.
    static func ask(_ root: FrameNode, of run: RunID?, at now: Instant) -> Ask<PiDialect.Slip>? {
        guard root["type"]?.holds("extension_ui_request") == true, let id = root["id"]?.string else { return nil }
        let method = root["method"]?.string ?? ""
        guard !DialogRequest.notices.contains(method) else { return nil }
        if let request = DialogRequest.read(root, at: now) {
            let words = method == "select" ? DialogRequest.yesAndNo(root) : nil
            return Ask(
                id, kind: method, .card(request), slip: PiDialect.Slip(yes: words?.yes, no: words?.no), run: run,
                expiresAt: request.expiresAt)
        }
        if let question = DialogRequest.question(root, at: now) {
            return Ask(
                id, kind: method, .questions([question]), slip: PiDialect.Slip(), run: run,
                expiresAt: question.expiresAt)
        }
        return Ask(id, kind: method.isEmpty ? "?" : method, .unshowable, slip: PiDialect.Slip(), run: run)
    }

    static func answer(_ ask: Ask<PiDialect.Slip>, _ verdict: Verdict) -> PiFrames.DialogAnswer {
        switch verdict {
        case .allow, .allowAlways: ask.slip.yes.map { .value($0) } ?? .confirmed(true)
        case .deny where ask.slip.yes == nil: .confirmed(false)
        case .deny: ask.slip.no.map { .value($0) } ?? .cancelled
        case .answers(let answers): answers.first.map(value) ?? .cancelled
        // pi calls an unanswered dialog cancelled.
        case .unanswered, .dropped: .cancelled
        }
    }

    private static func value(_ answer: QuestionAnswer) -> PiFrames.DialogAnswer {
        switch answer {
        case .choices(let values): values.first.map { .value($0) } ?? .cancelled
        case .text(let text): .value(text)
        case .declined: .cancelled
        }
    }
}
