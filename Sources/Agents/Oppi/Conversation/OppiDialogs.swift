import AgentKit
import JSONReading
import Vocabulary

/// Dialogs of the agent's extensions (oppi.md#extension-dialogs): one that asks for yes or no is an approval, the others are
/// questions, an `ask` as many as it has.
///
/// - A dialog leaves when the server has taken its answer, when its time is over (the agent ends it without a word), and with its
///   run or session. An answer waits for a socket that follows the session, and goes again if that is lost before it is taken.
/// - Of dialogs of an earlier process only an `ask` is shown again. Answers to others are sent all the same: the server knows them by
///   their names, or complains.
/// - One that cannot be shown is never held: it is cancelled at once, or it would block its run.
struct OppiDialogs {
    private struct Dialog {
        enum Kind {
            case confirm, single
            /// Its questions, and what they were answered, by their ids.
            case ask([OppiChoices], answers: [String: QuestionAnswer])
        }

        var kind: Kind
        /// Fingerprints of the questions, or of the card; empty for a denial of an earlier process.
        var shown: [AskFingerprint]
        var expiresAt: Instant?
        var answer: OppiFrames.DialogAnswer?
        var isConfirm: Bool { if case .confirm = kind { true } else { false } }
        var isAsk: Bool { if case .ask = kind { true } else { false } }
        /// An answer that leaves later may find it ended, of which the server says nothing.
        var isSureUntil: Instant?
        var sentAt: Instant?
        /// The agent may not have had the answer.
        var isLate: Bool {
            guard let isSureUntil, let sentAt else { return false }
            return sentAt > isSureUntil
        }
        /// On this socket.
        var isSent = false
        /// How often it was sent; once more if an earlier process may have.
        var tries = 0
    }

    enum Verdict {
        /// Asked before, and still open.
        case known([Question])
        case asked([RunEvent])
        case cancel(String)
        /// Beside an `ask` that is open: the server has forgotten that, and hands the agent neither answer.
        case twoAtOnce
    }

    private static let limit = 100
    /// Before the end of a dialog's time: an answer needs a way to the server.
    private static let margin = Duration.seconds(3)
    private static let questionLimit = 25
    private var open: [String: Dialog] = [:]
    /// That have ended, newest last.
    private var over: [String] = []
    /// Answers to dialogs of before a restart of the bridge, which the server has not shown again yet.
    private var early: [QuestionID: Early] = [:]

    struct Early {
        var question: QuestionID
        var answer: QuestionAnswer
        /// The fingerprint of the text that the person read.
        var shown: AskFingerprint?
    }

    var isEmpty: Bool { open.isEmpty && early.isEmpty }

    var nextExpiry: Instant? { open.values.compactMap(\.expiresAt).min() }

    func holds(_ approval: ApprovalID) -> Bool {
        if case .confirm? = open[approval.text]?.kind { true } else { false }
    }

    // MARK: Asked

    /// `age`: so old the frame may be. `isLive`: it is no repetition of one that is pending.
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
            // Another dialog under the same name: decisions on the one before do not concern it.
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

    /// False: it is not open.
    mutating func decided(
        _ approval: ApprovalID, _ answer: OppiFrames.DialogAnswer, shown: AskFingerprint? = nil
    ) -> Bool {
        guard holds(approval), let dialog = open[approval.text] else { return false }
        if let shown, !dialog.shown.isEmpty, dialog.shown != [shown] { return true }
        // Nothing takes the place of a denial, and a denial that of an approval which is not answered.
        let isYes = answer == .confirmed(true)
        guard dialog.answer == nil || dialog.answer == .confirmed(true) && !isYes else { return true }
        open[approval.text]?.answer = answer
        open[approval.text]?.isSent = false
        return true
    }

    /// On a dialog of an earlier process. `mayHaveLeft`: the decision is that process's, too. False: it has ended.
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

    /// The parts of an ask are known when it is shown again. False: it is one, or has ended.
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

    /// Whether the question of this name asks what was read, as far as either is known.
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

    /// False: it is not open.
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

    /// Its dialog may be shown again by the subscription that is under way.
    mutating func holdEarly(_ answer: QuestionAnswer, to question: QuestionID, shown: AskFingerprint?) {
        if early.count < Self.limit { early[question] = Early(question: question, answer: answer, shown: shown) }
    }

    /// The answers to these, or to all.
    mutating func takeEarly(_ isMeant: (QuestionID) -> Bool = { _ in true }) -> [Early] {
        let taken = early.values.filter { isMeant($0.question) }.sorted { $0.question < $1.question }
        for known in taken { early[known.question] = nil }
        return taken
    }

    /// It was answered, and its dialog has others that were not.
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

    /// A question that is left out counts as skipped.
    private static func answer(_ parts: [OppiChoices], _ answers: [String: QuestionAnswer]) -> OppiFrames.DialogAnswer {
        let members = parts.compactMap { part -> String? in
            guard case .words(let words) = part.said(answers[part.id]) else { return nil }
            return "\(JSONText.string(part.id).text):\(JSONText.string(words).text)"
        }
        return members.isEmpty ? .cancelled : .value("{\(members.joined(separator: ","))}")
    }

    /// What was chosen under this question and cannot be said, since the server would take it for another option.
    func mistaken(_ question: QuestionID) -> String? {
        for (id, dialog) in open {
            guard case .ask(let parts, let answers) = dialog.kind,
                let index = parts.indices.first(where: { Self.id(of: $0, in: id) == question })
            else { continue }
            if case .mistaken(let words) = parts[index].said(answers[parts[index].id]) { return words }
        }
        return nil
    }

    /// What is to be sent.
    /// `holdsAsks`: the tool that asks has not begun, and an answer would be lost.
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

    /// The server has read this answer, and did not complain.
    mutating func taken(_ id: String, _ answer: OppiFrames.DialogAnswer) -> [RunEvent] {
        open[id]?.answer = answer
        guard open[id]?.isLate == true, answer != .confirmed(false), answer != .cancelled else {
            return end(id, .answered)
        }
        // Where the time was over the agent went on without it.
        return end(id, .expired)
    }

    /// The agent does not wait for it any more.
    mutating func refused(_ id: String) -> [RunEvent] { end(id, .unknown) }

    /// What was not taken goes again.
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
            // The complaint about a first try says that it was too late.
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

    /// And those of them to which no answer has left: should the agent's clock go slower, it does not wait for one.
    mutating func takeExpired(at now: Instant) -> (ended: [RunEvent], unanswered: [String]) {
        let isOver = { (dialog: Dialog) in dialog.expiresAt.map { $0 <= now } ?? false }
        let unanswered = open.keys.sorted().filter { id in open[id].map { isOver($0) && !$0.isSent } ?? false }
        return (take(.expired, where: isOver), unanswered)
    }

    /// Their run or their session is over. Of a question that was answered it is likely that the answer was taken.
    mutating func takeAll() -> [RunEvent] {
        take(.answered) { $0.isSent && !$0.isConfirm } + take(.cancelled) { _ in true }
    }

    /// The tool that asks is over. What was answered and is on its way was its answer.
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
