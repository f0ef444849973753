import AgentKit
import BridgeModel
import JSONReading

/// Dialogs of the agent's extensions that are open (oppi.md#extension-dialogs).
///
/// - A dialog leaves when it is answered, when its time is over (the agent ends it without a word), and with its session.
/// - One that yes and no cannot answer is never held: it is cancelled at once, or it would block its run.
struct OppiDialogs {
    private static let limit = 100
    private var open: [ApprovalID: Instant?] = [:]

    var nextExpiry: Instant? { open.values.compactMap(\.self).min() }
    var isEmpty: Bool { open.isEmpty }

    func holds(_ id: ApprovalID) -> Bool { open[id] != nil }

    enum Verdict: Hashable {
        /// Shown before.
        case known
        case card
        case cancel(String)
    }

    mutating func requested(_ root: FrameNode, at now: Instant) -> Verdict? {
        guard let id = root["id"]?.string else { return nil }
        if open[ApprovalID(id)] != nil { return .known }
        guard root["method"]?.holds("confirm") == true, open.count < Self.limit,
            let request = DialogRequest.read(root, at: now)
        else { return .cancel(id) }
        open[request.id] = .some(request.expiresAt)
        return .card
    }

    /// False: it is not open.
    mutating func decided(_ id: ApprovalID) -> Bool { open.removeValue(forKey: id) != nil }

    mutating func takeExpired(at now: Instant) -> [ApprovalID] {
        let expired = open.filter { $0.value.map { $0 <= now } ?? false }.keys.sorted()
        for id in expired { open[id] = nil }
        return expired
    }

    mutating func takeAll() -> [ApprovalID] {
        defer { open = [:] }
        return open.keys.sorted()
    }
}
