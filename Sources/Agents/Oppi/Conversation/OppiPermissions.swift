import AgentKit
import JSONReading
import Vocabulary

/// Permissions that tool calls wait for (oppi.md#permissions): one approval each, on whatever socket they come.
///
/// States of one: `open`; `decided` (to be sent, or sent and not answered). Each leaves when the server has answered the decision, or
/// when it is no longer in the list of pending ones: the server sends no frame when another device has answered.
///
/// - A decision is sent while the server still lists its permission, at most once on a socket before a look at the list.
/// - A denial takes the place of an approval that is not answered, and nothing takes the place of a denial.
/// - A decision counts as such when the server has answered it. One whose answer was lost, and whose permission is gone, is in doubt.
/// - A permission of a session that no chat has is left to others.
struct OppiPermissions {
    struct Decision: Hashable {
        var allows: Bool
        /// `once`, `session` or `global`: never wider than what the person said.
        var scope: String
        /// As it is settled.
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
        /// Nil: asked in an earlier process, and not seen in this one.
        var session: AgentSession?
        /// Of what was asked, or of what a yes was given for; nil: of a denial, which holds for whatever has its name.
        var fingerprint: AskFingerprint?
        var askedAt: Instant
        var expiresAt: Instant?
        var decision: Decision?
        /// It may have arrived.
        var wasSent = false
        /// On this socket, without an answer.
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
    /// Each with the decision that it carries.
    private var requests = OppiRequests<Sent>("permission-")
    /// When the list is due; nil: it is being fetched, or not needed.
    private var listDue: Instant?
    private var listAskedAt: Instant?

    /// The list is fetched by REST, so that a pause of reading does not put it off.
    var nextDeadline: Instant? { listDue }
    var nextReadingDeadline: Instant? { requests.nextDeadline }

    func holds(_ id: ApprovalID) -> Bool { entries[id] != nil }
    func undecided(of session: AgentSession) -> [ApprovalID] {
        entries.filter { $0.value.session == session && $0.value.decision?.allows != false }.keys.sorted()
    }

    // MARK: From the server

    /// False: it is known, or there is no room for more.
    mutating func requested(_ request: ApprovalRequest, in session: AgentSession, at now: Instant) -> Bool {
        let id = request.id
        let fingerprint = AskFingerprint(of: request)
        if let entry = entries[id] {
            if let before = entry.fingerprint, before != fingerprint {
                // What was decided was not said of this: it is another one under the same name.
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

    /// Expired or withdrawn. False: it is not known.
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

    /// `isUp`: the main socket is live. `shown`: of what the person saw.
    mutating func decide(
        _ id: ApprovalID, _ decision: Decision, shown: AskFingerprint?, isUp: Bool, _ now: Occasion
    ) -> [Order] {
        let asked = entries[id]?.fingerprint
        // Nothing says what was allowed, or another one has the name by now.
        if decision.allows, asked == nil, shown == nil { return [.settled(id, nil, .unknown)] }
        if decision.allows, let asked, let shown, asked != shown { return [] }
        if let known = entries[id]?.decision, known == decision || !known.allows { return [] }
        // What was sent may be on a dead socket, and the stored one is what is sent again.
        if entries[id]?.isSent == true, decision.allows { return [] }
        let isSeen = entries[id]?.session != nil
        entries[id, default: Entry(session: nil, askedAt: now.now)].decision = decision
        if !isSeen { entries[id]?.fingerprint = decision.allows ? shown : nil }
        guard isUp else { return [] }
        if isSeen { return [send(id, decision, at: now.read)] }
        // Of an earlier process: the list says whether it still waits.
        listDue = now.now
        return []
    }

    /// By an earlier process, which may have sent it. A yes to what the record does not say is sent no more.
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

    /// Nil: it is no answer to a decision.
    mutating func answered(_ root: FrameNode) -> [Order]? {
        guard let sent = root["requestId"]?.string.flatMap({ requests.answered($0) }) else { return nil }
        guard entries[sent.id]?.decision != nil else { return [] }
        return [settle(sent.id, root["success"]?.flag == true ? .decided(sent.decision.said) : .unknown)]
    }

    /// An unknown one is answered by an error without a request (oppi.md#permissions).
    mutating func complained(_ error: String) -> [Order] {
        let mark = "Permission request not found: "
        guard error.hasPrefix(mark) else { return [] }
        let id = ApprovalID(String(error.dropFirst(mark.count)))
        return entries[id]?.decision != nil ? [settle(id, .unknown)] : []
    }

    // MARK: The list

    /// True: it is to be fetched now.
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

    /// What the list does not hold was answered elsewhere, or by us; what it holds and we have decided is sent.
    mutating func listed(_ pending: [ApprovalID: AskFingerprint], _ now: Occasion) -> [Order] {
        let askedAt = listAskedAt ?? now.now
        listAskedAt = nil
        var orders: [Order] = []
        for id in entries.keys.sorted() {
            guard let entry = entries[id], entry.askedAt <= askedAt else { continue }
            if let asked = pending[id] {
                guard entry.fingerprint == nil || entry.fingerprint == asked else {
                    // Of an earlier process, for another ask of this name, which is asked once its run is known.
                    entries[id] = nil
                    continue
                }
                if let decision = entry.decision, !entry.isSent { orders.append(send(id, decision, at: now.read)) }
            } else if entry.decision != nil {
                // While its answer is on its way, that is what counts. Where the answer was lost, ours was taken, or another device's.
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
