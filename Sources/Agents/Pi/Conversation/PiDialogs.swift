import AgentKit
import JSONReading
import Vocabulary

/// The open dialogs of pi's extensions: cards and questions (pi.md#extension-ui).
///
/// - A dialog leaves when it is answered, with its run or its process, and a little before its timeout: pi ends it without a frame, and its timer
///   started before ours. A later answer would be reported as given, and ignored.
/// - One that no person can answer is never held: it is cancelled at once, or it would block its run.
struct PiDialogs {
    enum Answer: Hashable {
        case confirmed(Bool)
        case value(String)
        case cancelled
    }

    enum Dialog: Hashable {
        /// `yes`, `no`: the options that mean it; nil for a dialog that takes `confirmed`.
        case card(ApprovalID, yes: String?, no: String?)
        case question(QuestionID)

        /// The dialog's id in pi's frames.
        var name: String {
            switch self {
            case .card(let approval, _, _): approval.text
            case .question(let question): question.text
            }
        }
    }

    private struct Open {
        var dialog: Dialog
        var shown: AskFingerprint
        var askedAt: Instant
        var expiresAt: Instant?
    }

    private static let limit = 100
    private static let margin = Duration.milliseconds(500)
    /// By the name that pi gave it.
    private var open: [String: Open] = [:]

    /// Nil: nothing is asked.
    var waitsSince: Instant? { open.values.map(\.askedAt).min() }
    var nextExpiry: Instant? { open.values.compactMap(\.expiresAt).min() }

    func holds(_ id: ApprovalID) -> Bool { if case .card = open[id.text]?.dialog { true } else { false } }
    func holds(_ id: QuestionID) -> Bool { if case .question = open[id.text]?.dialog { true } else { false } }

    /// Whether the dialog of this name is the one that was shown.
    func shows(_ shown: AskFingerprint?, as name: String) -> Bool {
        guard let shown, let known = open[name] else { return true }
        return known.shown == shown
    }

    /// What an `extension_ui_request` wants of us: nothing, a person, or the answer that is given at once.
    enum Verdict: Hashable {
        case notice, ask
        case cancel(String)
    }

    /// `isHeard`: a person waits for the run that asks.
    mutating func requested(_ root: FrameNode, isHeard: Bool, at now: Instant) -> Verdict {
        let method = root["method"]?.string ?? ""
        guard !DialogRequest.notices.contains(method), let id = root["id"]?.string else { return .notice }
        guard isHeard, open.count < Self.limit else { return .cancel(id) }
        if let request = DialogRequest.read(root, at: now) {
            let words = method == "select" ? DialogRequest.yesAndNo(root) : nil
            open[id] = Open(
                dialog: .card(request.id, yes: words?.yes, no: words?.no), shown: AskFingerprint(of: request),
                askedAt: now,
                expiresAt: Self.early(request.expiresAt, now))
        } else if let question = DialogRequest.question(root, at: now) {
            open[id] = Open(
                dialog: .question(question.id), shown: AskFingerprint(of: question), askedAt: now,
                expiresAt: Self.early(question.expiresAt, now))
        } else {
            return .cancel(id)
        }
        return .ask
    }

    private static func early(_ moment: Instant?, _ now: Instant) -> Instant? {
        moment.map { max($0 - margin, now + ($0 - now) / 2) }
    }

    /// Nil: it is not open. `isUnanswered`: no person answered; pi calls that dialog cancelled.
    mutating func decided(_ id: ApprovalID, _ decision: ApprovalDecision, isUnanswered: Bool) -> Answer? {
        guard case .card(_, let yes, let no)? = open[id.text]?.dialog else { return nil }
        open[id.text] = nil
        if decision == .deny, isUnanswered { return .cancelled }
        guard let yes else { return .confirmed(decision != .deny) }
        return decision == .deny ? no.map { .value($0) } ?? .cancelled : .value(yes)
    }

    /// Nil: it is not open.
    mutating func answered(_ id: QuestionID, _ answer: QuestionAnswer) -> Answer? {
        guard holds(id) else { return nil }
        open[id.text] = nil
        return switch answer {
        case .choices(let values): values.first.map { .value($0) } ?? .cancelled
        case .text(let text): .value(text)
        case .declined: .cancelled
        }
    }

    mutating func takeExpired(at now: Instant) -> [Dialog] { take { $0.expiresAt.map { $0 <= now } ?? false } }
    mutating func takeAll() -> [Dialog] { take { _ in true } }

    private mutating func take(_ isMeant: (Open) -> Bool) -> [Dialog] {
        let names = open.filter { isMeant($0.value) }.keys.sorted()
        return names.compactMap { open.removeValue(forKey: $0)?.dialog }
    }
}
