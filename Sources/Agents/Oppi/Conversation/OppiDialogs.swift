import AgentKit
import JSONReading
import Vocabulary

/// Dialogs of the agent's extensions (oppi.md#extension-dialogs): a yes-or-no dialog
/// is an approval, the others are questions, several in an `ask`.
///
/// - A dialog ends when the server has accepted its answer, when its time runs out (the agent reports
///   nothing), and with its run or session. An answer waits for a socket that follows the session, and
///   is sent again if that socket is lost before the answer is accepted.
/// - Of an earlier process's dialogs only an `ask` is shown again. Answers to
///   others are still sent: the server knows their ids, or complains.
/// - A dialog that cannot be shown is cancelled at once, or it would block its run.
struct OppiDialogs {
    private struct Dialog {
        enum Kind {
            case confirm, single
            /// Questions of the `ask`, and their answers by id.
            case ask([OppiChoices], answers: [String: QuestionAnswer])
        }

        var kind: Kind
        /// Fingerprints of the questions, or of the card; empty for a denial from an earlier process.
        var shown: [AskFingerprint]
        var expiresAt: Instant?
        var answer: OppiFrames.DialogAnswer?
        var isConfirm: Bool { if case .confirm = kind { true } else { false } }
        var isAsk: Bool { if case .ask = kind { true } else { false } }
        /// An answer sent later may find the dialog ended, which the server does not report.
        var isSureUntil: Instant?
        var sentAt: Instant?
        /// The answer may have been too late for the agent.
        var isLate: Bool {
            guard let isSureUntil, let sentAt else { return false }
            return sentAt > isSureUntil
        }
        /// Sent on this socket.
        var isSent = false
        /// How often the answer was sent, plus one if an earlier process may have sent it.
        var tries = 0
    }

    enum Verdict {
        /// The dialog was shown before, and is still open.
        case known([Question])
        case asked([RunEvent])
        case cancel(String)
        /// Another `ask` is open: the server has dropped that one, and the agent gets neither answer.
        case twoAtOnce
    }

    private static let limit = 100
    /// An answer needs this much time to reach the server before the dialog ends.
    private static let margin = Duration.seconds(3)
    private static let questionLimit = 25
    private var open: [String: Dialog] = [:]
    /// Ended dialogs, newest last.
    private var over: [String] = []
    /// Answers to dialogs from before a restart of the bridge, which the server has not shown again yet.
    private var early: [QuestionID: Early] = [:]

    struct Early {
        var question: QuestionID
        var answer: QuestionAnswer
        /// Fingerprint of the text that the person read.
        var shown: AskFingerprint?
    }

    var isEmpty: Bool { open.isEmpty && early.isEmpty }

    var nextExpiry: Instant? { open.values.compactMap(\.expiresAt).min() }

    func holds(_ approval: ApprovalID) -> Bool {
        if case .confirm? = open[approval.text]?.kind { true } else { false }
    }

    // MARK: Asked

    /// `age`: the greatest age of the frame. `isLive`: the frame does not repeat a pending dialog.
    mutating func requested(
        _ root: FrameNode, age: Duration = .zero, isLive: Bool = true, at now: Instant
    ) -> Verdict? {
        guard let id = root["id"]?.string else { return nil }
        let method = root["method"]?.string ?? ""
        let expiresAt = DialogRequest.expiry(root, at: now)
        let questions = Self.questions(method, root, id, expiresAt)
        let request = method == "confirm" ? DialogRequest.read(root, at: now) : nil
        let parts = method == "ask" && !questions.isEmpty ? Self.parts(root, questions) : nil
        var dialog = Dialog(
            kind: request != nil ? .confirm : parts.map { .ask($0, answers: [:]) } ?? .single,
            shown: request.map { [AskFingerprint(of: $0)] } ?? questions.map { AskFingerprint(of: $0) },
            expiresAt: expiresAt)
        dialog.isSureUntil = expiresAt.map { $0 - age - min(Self.margin, ($0 - now) / 2) }
        var events: [RunEvent] = []
        if let known = open[id] {
            if Self.isSame(known, dialog) { return .known(known.answer == nil ? questions : []) }
            // Another dialog has the same id: decisions on the former do not apply to it.
            open[id] = nil
            events = Self.settled(id, known, .cancelled)
        }
        guard open.count < Self.limit else { return .cancel(id) }
        if var request {
            request.allowed = [.approve, .deny]
            open[id] = dialog
            return .asked(events + [.approvalRequested(request)])
        }
        guard !questions.isEmpty, questions.count <= Self.questionLimit else { return .cancel(id) }
        if parts != nil, open.values.contains(where: { $0.isAsk && !$0.isSent }) {
            if isLive { return .twoAtOnce }
            events += takeAsks()
        }
        open[id] = dialog
        return .asked(events + questions.map { .asked($0) })
    }

    private static func isSame(_ known: Dialog, _ dialog: Dialog) -> Bool {
        switch (known.kind, dialog.kind) {
        case (.confirm, .confirm), (.single, .single): return known.shown.isEmpty || known.shown == dialog.shown
        case (.ask(let before, _), .ask(let now, _)):
            return before.map(\.id) == now.map(\.id) && known.shown == dialog.shown
        case (.confirm, _), (.single, _), (.ask, _): return false
        }
    }

    static func id(of index: Int, in dialog: String) -> QuestionID { QuestionID("\(dialog)#\(index)") }

    // MARK: Answered

    /// False if the dialog is not open.
    mutating func decided(
        _ approval: ApprovalID, _ answer: OppiFrames.DialogAnswer, shown: AskFingerprint? = nil
    ) -> Bool {
        guard holds(approval), let dialog = open[approval.text] else { return false }
        if let shown, !dialog.shown.isEmpty, dialog.shown != [shown] { return true }
        // A denial is final; it replaces an approval that the server has not answered.
        let isYes = answer == .confirmed(true)
        guard dialog.answer == nil || dialog.answer == .confirmed(true) && !isYes else { return true }
        open[approval.text]?.answer = answer
        open[approval.text]?.isSent = false
        return true
    }

    /// Decides a dialog of an earlier process. `mayHaveLeft`: that process may
    /// have sent the decision. False if the dialog has ended.
    mutating func decidedEarlier(
        _ approval: ApprovalID, _ answer: OppiFrames.DialogAnswer, shown: AskFingerprint?, expiresAt: Instant? = nil,
        mayHaveLeft: Bool = false
    ) -> Bool {
        guard shown != nil || answer != .confirmed(true) else { return false }
        return answeredEarlier(
            approval.text,
            Dialog(
                kind: .confirm, shown: [shown].compactMap(\.self), expiresAt: expiresAt, answer: answer,
                tries: mayHaveLeft ? 1 : 0))
    }

    private mutating func answeredEarlier(_ id: String, _ dialog: Dialog) -> Bool {
        guard open.count < Self.limit, open[id] == nil, !over.contains(id) else { return false }
        open[id] = dialog
        return true
    }

    /// Answers a question of an earlier process. False if the dialog has ended, or if the question is part
    /// of an `ask`, whose parts are unknown until it is shown again.
    mutating func answeredEarlier(
        _ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint?
    ) -> Bool {
        guard !question.text.contains("#") else { return false }
        return answeredEarlier(
            question.text, Dialog(kind: .single, shown: [shown].compactMap(\.self), answer: Self.whole(answer)))
    }

    private static func whole(_ answer: QuestionAnswer) -> OppiFrames.DialogAnswer {
        words(of: answer).map { .value($0.joined(separator: ", ")) } ?? .cancelled
    }

    /// Whether the question of this name is the one that the person read, as far as known.
    func shows(_ shown: AskFingerprint?, as question: QuestionID) -> Bool {
        guard let shown else { return true }
        for (id, dialog) in open where !dialog.shown.isEmpty {
            switch dialog.kind {
            case .single where id == question.text: return dialog.shown == [shown]
            case .ask(let parts, _):
                guard let index = parts.indices.first(where: { Self.id(of: $0, in: id) == question }) else { continue }
                return dialog.shown[index] == shown
            case .single, .confirm: continue
            }
        }
        return true
    }

    /// False if the question is not open.
    mutating func answered(_ question: QuestionID, _ answer: QuestionAnswer, shown: AskFingerprint? = nil) -> Bool {
        guard shows(shown, as: question) else { return true }
        if case .single? = open[question.text]?.kind {
            open[question.text]?.answer = Self.whole(answer)
            return true
        }
        for (id, dialog) in open {
            guard case .ask(let parts, var answers) = dialog.kind,
                let index = parts.indices.first(where: { Self.id(of: $0, in: id) == question })
            else { continue }
            answers[parts[index].id] = answer
            open[id]?.kind = .ask(parts, answers: answers)
            if answers.count == parts.count { open[id]?.answer = Self.answer(parts, answers) }
            return true
        }
        return false
    }

    func asks(_ question: QuestionID) -> Bool {
        open.contains { id, dialog in
            switch dialog.kind {
            case .confirm: false
            case .single: id == question.text
            case .ask(let parts, _): parts.indices.contains { Self.id(of: $0, in: id) == question }
            }
        }
    }

    /// Keeps an answer whose dialog may be shown again by the current subscription.
    mutating func holdEarly(_ answer: QuestionAnswer, to question: QuestionID, shown: AskFingerprint?) {
        if early.count < Self.limit { early[question] = Early(question: question, answer: answer, shown: shown) }
    }

    /// Takes the matching answers.
    mutating func takeEarly(_ isMeant: (QuestionID) -> Bool = { _ in true }) -> [Early] {
        let taken = early.values.filter { isMeant($0.question) }.sorted { $0.question < $1.question }
        for known in taken { early[known.question] = nil }
        return taken
    }

    /// Whether the question is answered, and another of its dialog is not.
    func waitsForMore(behind question: QuestionID) -> Bool {
        open.contains { id, dialog in
            guard case .ask(let parts, let answers) = dialog.kind, dialog.answer == nil else { return false }
            return parts.indices.contains { Self.id(of: $0, in: id) == question && answers[parts[$0].id] != nil }
        }
    }

    private static func words(of answer: QuestionAnswer?) -> [String]? {
        switch answer {
        case .choices(let values): values
        case .text(let text): [text]
        case .declined, nil: nil
        }
    }

    /// An omitted question counts as skipped.
    private static func answer(_ parts: [OppiChoices], _ answers: [String: QuestionAnswer]) -> OppiFrames.DialogAnswer {
        let members = parts.compactMap { part -> String? in
            guard case .words(let words) = part.said(answers[part.id]) else { return nil }
            return "\(JSONText.string(part.id).text):\(JSONText.string(words).text)"
        }
        return members.isEmpty ? .cancelled : .value("{\(members.joined(separator: ","))}")
    }

    /// The choice for this question, if the server would mistake it for another option.
    func mistaken(_ question: QuestionID) -> String? {
        for (id, dialog) in open {
            guard case .ask(let parts, let answers) = dialog.kind,
                let index = parts.indices.first(where: { Self.id(of: $0, in: id) == question })
            else { continue }
            if case .mistaken(let words) = parts[index].said(answers[parts[index].id]) { return words }
        }
        return nil
    }

    /// Answers to send. `holdsAsks`: the `ask` tool has not begun, and an answer would be lost.
    mutating func takeAnswers(
        holdsAsks: Bool = false, at now: Instant
    ) -> [(id: String, answer: OppiFrames.DialogAnswer)] {
        open.keys.sorted().compactMap { id in
            guard let dialog = open[id], let answer = dialog.answer, !dialog.isSent, !(holdsAsks && dialog.isAsk)
            else { return nil }
            open[id]?.isSent = true
            open[id]?.sentAt = now
            open[id]?.tries += 1
            return (id, answer)
        }
    }

    /// The server has read this answer without a complaint.
    mutating func taken(_ id: String, _ answer: OppiFrames.DialogAnswer) -> [RunEvent] {
        open[id]?.answer = answer
        guard open[id]?.isLate == true, answer != .confirmed(false), answer != .cancelled else {
            return end(id, .answered)
        }
        // The dialog had ended, and the agent continued without the answer.
        return end(id, .expired)
    }

    /// The agent no longer waits for the dialog.
    mutating func refused(_ id: String) -> [RunEvent] { end(id, .unknown) }

    /// Answers without an acceptance are sent again.
    mutating func socketLost() {
        for id in open.keys { open[id]?.isSent = false }
    }

    private mutating func end(_ id: String, _ reason: QuestionSettlement.Reason) -> [RunEvent] {
        guard let dialog = open.removeValue(forKey: id) else { return [] }
        over.append(id)
        if over.count > Self.limit { over.removeFirst() }
        return Self.settled(id, dialog, reason)
    }

    // MARK: Ended

    private static func settled(_ id: String, _ dialog: Dialog, _ reason: QuestionSettlement.Reason) -> [RunEvent] {
        switch dialog.kind {
        case .confirm:
            // A complaint about the first try proves that it was too late.
            let isInDoubt = dialog.tries > (reason == .unknown ? 1 : 0)
            let outcome: ApprovalSettlement.Outcome =
                switch (reason, dialog.answer) {
                case (.answered, .confirmed(let isYes)): .decided(isYes ? .approve : .deny)
                case (.answered, .cancelled): .decided(.deny)
                case _ where isInDoubt: .inDoubt
                case (.expired, _): .expired
                case (.unknown, _): .unknown
                default: .cancelled
                }
            return [.approvalSettled(ApprovalSettlement(id: ApprovalID(id), outcome: outcome))]
        case .single: return [.questionSettled(QuestionSettlement(id: QuestionID(id), reason))]
        case .ask(let parts, _):
            return parts.indices.map { .questionSettled(QuestionSettlement(id: Self.id(of: $0, in: id), reason)) }
        }
    }

    /// Ends expired dialogs. `unanswered`: those without a sent answer, to be
    /// cancelled in case the agent's clock is slower and it still waits.
    mutating func takeExpired(at now: Instant) -> (ended: [RunEvent], unanswered: [String]) {
        let isOver = { (dialog: Dialog) in dialog.expiresAt.map { $0 <= now } ?? false }
        let unanswered = open.keys.sorted().filter { id in open[id].map { isOver($0) && !$0.isSent } ?? false }
        return (take(.expired, where: isOver), unanswered)
    }

    /// The run or the session has ended. An answer that was sent was probably accepted.
    mutating func takeAll() -> [RunEvent] {
        take(.answered) { $0.isSent && !$0.isConfirm } + take(.cancelled) { _ in true }
    }

    /// The `ask` tool has ended. An answer that is on its way was accepted.
    mutating func takeAsks() -> [RunEvent] {
        take(.answered) { $0.isAsk && $0.isSent } + take(.unknown) { $0.isAsk }
    }

    private mutating func take(
        _ reason: QuestionSettlement.Reason, where isOver: (Dialog) -> Bool
    ) -> [RunEvent] {
        open.keys.sorted().flatMap { id -> [RunEvent] in
            guard let dialog = open[id], isOver(dialog) else { return [] }
            return end(id, reason)
        }
    }
}
