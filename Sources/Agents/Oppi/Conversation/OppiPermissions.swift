import AgentKit
import JSONReading
import Vocabulary

/// Permissions that tool calls wait for (oppi.md#permissions): one approval each, on whatever socket they come.
///
/// A permission is `open`, then `decided` (unsent, or sent and unanswered). It ends when the server has answered the decision,
/// or when the list of pending ones no longer has it: the server sends no frame when another device has answered.
///
/// - A decision is sent while the server still lists its permission, and at
///   most once on a socket before the list is read again.
/// - A denial is final; it replaces an approval that the server has not answered.
/// - A decision counts when the server has answered it. If the answer was
///   lost and the permission is gone, the decision is in doubt.
/// - A permission of a session without a chat is left to other clients.
struct OppiPermissions {
    struct Decision: Hashable {
        var allows: Bool
        /// `once`, `session` or `global`: never wider than the person's choice.
        var scope: String
        /// The decision as it is settled.
        var said: ApprovalDecision

        init(_ decision: ApprovalDecision, _ scope: DecisionScope) {
            allows = decision != .deny
            said = decision
            guard decision == .approveAlways, scope.coversSession else {
                self.scope = "once"
                return
            }
            self.scope = scope.coversAll ? "global" : "session"
        }
    }

    private struct Entry {
        /// Nil if an earlier process got the permission and this one has not seen it.
        var session: AgentSession?
        /// Fingerprint of the permission, or of the one that a yes was given for. Nil
        /// for a denial, which applies to any permission of that name.
        var fingerprint: AskFingerprint?
        var askedAt: Instant
        var expiresAt: Instant?
        var decision: Decision?
        /// The decision may have arrived.
        var wasSent = false
        /// The decision was sent on this socket and is unanswered.
        var isSent = false
    }

    private struct Sent: Hashable {
        var id: ApprovalID
        var decision: Decision
    }

    enum Order: Hashable {
        case send([UInt8], AgentSession?)
        case settled(ApprovalID, AgentSession?, ApprovalSettlement.Outcome)
    }

    static let pollInterval = Duration.seconds(3)
    private static let answerLimit = Duration.seconds(8)
    private static let limit = 1_000

    private var entries: [ApprovalID: Entry] = [:]
    /// Sent decisions by their request ids.
    private var requests = OppiRequests<Sent>("permission-")
    /// When the list is due, or nil while it is being fetched or not needed.
    private var listDue: Instant?
    private var listAskedAt: Instant?

    /// The list is fetched over REST, so a pause of reading does not delay it.
    var nextDeadline: Instant? { listDue }
    var nextReadingDeadline: Instant? { requests.nextDeadline }

    func holds(_ id: ApprovalID) -> Bool { entries[id] != nil }
    func undecided(of session: AgentSession) -> [ApprovalID] {
        entries.filter { $0.value.session == session && $0.value.decision?.allows != false }.keys.sorted()
    }

    // MARK: From the server

    /// False if the permission is known, or there is no room for it.
    mutating func requested(_ request: ApprovalRequest, in session: AgentSession, at now: Instant) -> Bool {
        let id = request.id
        let fingerprint = AskFingerprint(of: request)
        if let entry = entries[id] {
            if let before = entry.fingerprint, before != fingerprint {
                // The kept decision was about another permission of the same name.
                entries[id] = nil
                requests.forget { $0.id == id }
            } else {
                guard entry.session == nil else { return false }
                entries[id]?.session = session
                entries[id]?.fingerprint = fingerprint
                return true
            }
        }
        guard entries.count < Self.limit else { return false }
        entries[id] = Entry(
            session: session, fingerprint: fingerprint, askedAt: now, expiresAt: request.expiresAt)
        if listAskedAt == nil { listDue = listDue ?? now + Self.pollInterval }
        return true
    }

    /// The permission expired or was withdrawn. False if it is unknown.
    mutating func settled(_ id: ApprovalID) -> Bool { entries.removeValue(forKey: id) != nil }

    mutating func sessionEnded(_ session: AgentSession) -> [Order] {
        let ended = entries.filter { $0.value.session == session }.keys.sorted()
        return ended.map { settle($0, entries[$0]?.wasSent == true ? .inDoubt : .cancelled) }
    }

    private mutating func settle(_ id: ApprovalID, _ outcome: ApprovalSettlement.Outcome) -> Order {
        let session = entries.removeValue(forKey: id)?.session
        requests.forget { $0.id == id }
        return .settled(id, session, outcome)
    }

    // MARK: Decisions

    /// `isUp`: the main socket is live. `shown`: fingerprint of the card that the person saw.
    mutating func decide(
        _ id: ApprovalID, _ decision: Decision, shown: AskFingerprint?, isUp: Bool, _ now: Occasion
    ) -> [Order] {
        let asked = entries[id]?.fingerprint
        // The approved permission is unknown, or another one has its name by now.
        if decision.allows, asked == nil, shown == nil { return [.settled(id, nil, .unknown)] }
        if decision.allows, let asked, let shown, asked != shown { return [] }
        if let known = entries[id]?.decision, known == decision || !known.allows { return [] }
        // The sent decision may be on a dead socket; the stored one is sent again.
        if entries[id]?.isSent == true, decision.allows { return [] }
        let isSeen = entries[id]?.session != nil
        entries[id, default: Entry(session: nil, askedAt: now.now)].decision = decision
        if !isSeen { entries[id]?.fingerprint = decision.allows ? shown : nil }
        guard isUp else { return [] }
        if isSeen { return [send(id, decision, at: now.read)] }
        // The list tells whether an earlier process's permission is still pending.
        listDue = now.now
        return []
    }

    /// Adopts a decision that an earlier process may have sent. A yes without a recorded fingerprint is dropped.
    mutating func adopt(
        _ id: ApprovalID, _ decision: Decision, fingerprint: AskFingerprint?, expiresAt: Instant?, at now: Instant
    ) {
        guard !decision.allows || fingerprint != nil else { return }
        entries[id] = Entry(
            session: nil, fingerprint: fingerprint, askedAt: now, expiresAt: expiresAt, decision: decision,
            wasSent: true)
    }

    private mutating func send(_ id: ApprovalID, _ decision: Decision, at read: Instant) -> Order {
        entries[id]?.wasSent = true
        entries[id]?.isSent = true
        let request = requests.add(Sent(id: id, decision: decision), for: Self.answerLimit, at: read)
        let frame = OppiFrames.permission(id.text, allows: decision.allows, scope: decision.scope, request)
        return .send(frame, entries[id]?.session)
    }

    /// Nil if the frame answers no decision.
    mutating func answered(_ root: FrameNode) -> [Order]? {
        guard let sent = root["requestId"]?.string.flatMap({ requests.answered($0) }) else { return nil }
        guard entries[sent.id]?.decision != nil else { return [] }
        return [settle(sent.id, root["success"]?.flag == true ? .decided(sent.decision.said) : .unknown)]
    }

    /// An error without a request id answers a decision on an unknown permission (oppi.md#permissions).
    mutating func complained(_ error: String) -> [Order] {
        let mark = "Permission request not found: "
        guard error.hasPrefix(mark) else { return [] }
        let id = ApprovalID(String(error.dropFirst(mark.count)))
        return entries[id]?.decision != nil ? [settle(id, .unknown)] : []
    }

    // MARK: The list

    /// True if the list must be fetched now.
    mutating func takeListing(at now: Instant) -> Bool {
        guard let due = listDue, due <= now else { return false }
        listing(at: now)
        return true
    }

    mutating func listing(at now: Instant) {
        listDue = nil
        listAskedAt = now
    }

    mutating func listFailed(at now: Instant) {
        listAskedAt = nil
        if !entries.isEmpty { listDue = now + Self.pollInterval }
    }

    /// Compares with the list. A missing permission was answered, here or elsewhere; the decision on a listed one is sent.
    mutating func listed(_ pending: [ApprovalID: AskFingerprint], _ now: Occasion) -> [Order] {
        let askedAt = listAskedAt ?? now.now
        listAskedAt = nil
        var orders: [Order] = []
        for id in entries.keys.sorted() {
            guard let entry = entries[id], entry.askedAt <= askedAt else { continue }
            if let asked = pending[id] {
                guard entry.fingerprint == nil || entry.fingerprint == asked else {
                    // Another permission has the name of an earlier process's; it is reported once its run is known.
                    entries[id] = nil
                    continue
                }
                if let decision = entry.decision, !entry.isSent { orders.append(send(id, decision, at: now.read)) }
            } else if entry.decision != nil {
                // An answer on its way settles it. If the answer was lost, the
                // server accepted our decision or another device's.
                if !entry.isSent { orders.append(settle(id, entry.wasSent ? .inDoubt : .unknown)) }
            } else {
                let isExpired = entry.expiresAt.map { $0 <= now.now } ?? false
                orders.append(settle(id, isExpired ? .expired : .unknown))
            }
        }
        if !entries.isEmpty { listDue = now.now + Self.pollInterval }
        return orders
    }

    // MARK: The socket, and time

    mutating func linkDown() {
        requests.forgetAll()
        for id in entries.keys { entries[id]?.isSent = false }
        listDue = nil
        listAskedAt = nil
    }

    mutating func timePassed(_ now: Occasion) {
        for sent in requests.takeExpired(at: now.read) where !requests.holds(where: { $0.id == sent.id }) {
            entries[sent.id]?.isSent = false
            listDue = now.now
        }
    }
}
