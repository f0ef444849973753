import AgentKit
import BridgeModel
import JSONReading

/// The open dialogs of pi's extensions that a card holds (pi.md#extension-ui).
///
/// - A dialog leaves when it is answered, when its time is over (pi ends it without a word) and with its process.
/// - One that yes and no cannot answer is never held: it is cancelled at once, or it would block its run.
struct PiDialogs {
    enum Answer: Hashable {
        case confirmed(Bool)
        case value(String)
        case cancelled
    }

    private struct Dialog {
        var expiresAt: Instant?
        /// The options that mean yes and no; nil for a dialog that takes `confirmed`.
        var options: (yes: String, no: String?)?
    }

    private static let limit = 100
    private var open: [ApprovalID: Dialog] = [:]

    var nextExpiry: Instant? { open.values.compactMap(\.expiresAt).min() }

    func holds(_ id: ApprovalID) -> Bool { open[id] != nil }

    /// What an `extension_ui_request` wants of us: nothing, a card, or the answer that is given at once.
    enum Verdict: Hashable {
        case notice, card
        case cancel(ApprovalID)
    }

    mutating func requested(_ root: FrameNode, at now: Instant) -> Verdict {
        let method = root["method"]?.string ?? ""
        guard !DialogRequest.notices.contains(method), let id = root["id"]?.string.map({ ApprovalID($0) }) else {
            return .notice
        }
        guard open.count < Self.limit, let request = DialogRequest.read(root, at: now) else { return .cancel(id) }
        var dialog = Dialog(expiresAt: request.expiresAt)
        if method == "select" {
            let options = root["options"]?.elements.compactMap(\.string) ?? []
            let yes = options.filter { !DialogAnswer.meansNo($0) }
            guard yes.count == 1, options.count <= 2 else { return .cancel(id) }
            dialog.options = (yes[0], options.first(where: DialogAnswer.meansNo))
        }
        open[id] = dialog
        return .card
    }

    /// Nil: it is not open.
    mutating func decided(_ id: ApprovalID, _ decision: ApprovalDecision) -> Answer? {
        guard let dialog = open.removeValue(forKey: id) else { return nil }
        guard let options = dialog.options else { return .confirmed(decision != .deny) }
        return decision == .deny ? options.no.map { .value($0) } ?? .cancelled : .value(options.yes)
    }

    mutating func takeExpired(at now: Instant) -> [ApprovalID] {
        let expired = open.filter { $0.value.expiresAt.map { $0 <= now } ?? false }.keys.sorted()
        for id in expired { open[id] = nil }
        return expired
    }

    mutating func takeAll() -> [ApprovalID] {
        defer { open = [:] }
        return open.keys.sorted()
    }
}
