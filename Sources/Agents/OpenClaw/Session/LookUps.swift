import Vocabulary

/// Look-ups of runs in the history: which runs, for whom, and the step of each.
///
/// - A run has one look-up at a time; a second request meanwhile repeats the look-up afterwards (`joins`).
/// - A lost socket makes every look-up due again.
struct LookUps {
    struct LookUp {
        enum Step: Hashable {
            /// The link is down, or the next history request includes the run. Can transition to: history.
            case due
            /// `chat.history` was requested. Can transition to: waiting, rows, or the answer.
            case history
            /// The rows did not say whether the run has ended: `agent.wait` was
            /// requested. Can transition to: lastHistory, rows, or the answer.
            case waiting
            /// The run has ended: its last rows were requested. Can transition to: rows, or the answer.
            case lastHistory
            /// Truncated rows were requested in full; these are missing.
            case rows(missing: Set<Int>)
        }

        let session: AgentSession
        /// The core waits for the answer. A look-up of our own reports the run's end, if it found one.
        fileprivate(set) var isAsked: Bool
        /// The answer also settles whether an unanswered message arrived.
        fileprivate(set) var settlesSend = false
        fileprivate(set) var step = Step.due
        fileprivate(set) var begunAt: Instant
        /// Requested again while the first answer was under way, which may be too old.
        fileprivate(set) var isAgain = false
        /// The history was requested with truncated rows.
        fileprivate(set) var isShort = false
        /// The finding of the last history, maybe of an earlier socket.
        fileprivate(set) var finding: OpenClawHistory.Finding?

        fileprivate init(session: AgentSession, isAsked: Bool, begunAt: Instant) {
            self.session = session
            self.isAsked = isAsked
            self.begunAt = begunAt
        }
    }

    private static let limit = 256
    /// A second request accepts an answer whose request is younger than this.
    private static let freshFor = Duration.milliseconds(500)

    private var lookUps: [RunID: LookUp] = [:]

    subscript(run: RunID) -> LookUp? { lookUps[run] }

    var hasRoom: Bool { lookUps.count < Self.limit }

    var sessions: [AgentSession] { lookUps.values.map(\.session) }

    func asks(about session: AgentSession) -> Bool { lookUps.values.contains { $0.session == session } }

    /// Due look-ups, one history request a session.
    var due: [(session: AgentSession, runs: [RunID])] {
        Dictionary(grouping: lookUps.filter { $0.value.step == .due }, by: \.value.session)
            .sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.key).sorted()) }
    }

    // MARK: Questions

    /// False if the run has no look-up.
    mutating func joins(_ run: RunID, isAsked: Bool, at now: Instant) -> Bool {
        guard let known = lookUps[run] else { return false }
        lookUps[run]?.isAsked = known.isAsked || isAsked
        if known.step != .due, now - known.begunAt > Self.freshFor { lookUps[run]?.isAgain = true }
        return true
    }

    mutating func begin(_ run: RunID, in session: AgentSession, isAsked: Bool, at now: Instant) {
        lookUps[run] = LookUp(session: session, isAsked: isAsked, begunAt: now)
    }

    /// Includes the run in the next history request.
    mutating func mark(_ run: RunID, in session: AgentSession, isAsked: Bool, at now: Instant) {
        if lookUps[run] == nil { begin(run, in: session, isAsked: isAsked, at: now) }
        if isAsked { lookUps[run]?.isAsked = true }
    }

    mutating func settleSend(of run: RunID) { lookUps[run]?.settlesSend = true }

    /// The message is sent again and gets its own answer.
    mutating func leaveSend(of run: RunID) { lookUps[run]?.settlesSend = false }

    mutating func again(_ run: RunID) { lookUps[run]?.isAgain = true }

    // MARK: Steps

    mutating func asksHistory(for runs: [RunID], isLast: Bool, at now: Instant) {
        for run in runs {
            lookUps[run]?.step = isLast ? .lastHistory : .history
            lookUps[run]?.begunAt = now
        }
    }

    mutating func found(_ finding: OpenClawHistory.Finding, about run: RunID) { lookUps[run]?.finding = finding }

    mutating func takesLess(for run: RunID) { lookUps[run]?.isShort = true }

    mutating func waits(for run: RunID) { lookUps[run]?.step = .waiting }

    mutating func fetches(_ rows: Set<Int>, of run: RunID) { lookUps[run]?.step = .rows(missing: rows) }

    /// A row arrived, or cannot be fetched (`piece` is nil). True if it was the last one, nil if it was not awaited.
    mutating func rowCame(
        _ index: Int, _ piece: OpenClawHistory.Piece?, of run: RunID, reason: String?
    ) -> Bool? {
        guard case .rows(var missing) = lookUps[run]?.step, missing.remove(index) != nil else { return nil }
        lookUps[run]?.step = .rows(missing: missing)
        if let piece, lookUps[run]?.finding?.pieces.indices.contains(index) == true {
            lookUps[run]?.finding?.isHere(piece, at: index, reason: reason)
        }
        return missing.isEmpty
    }

    /// The look-up is answered.
    mutating func remove(_ run: RunID) -> LookUp? { lookUps.removeValue(forKey: run) }

    /// The run's end was seen: only a look-up of the core still needs an answer.
    mutating func ended(_ run: RunID) {
        if lookUps[run]?.isAsked == false { lookUps[run] = nil }
    }

    mutating func socketLost() {
        for run in lookUps.keys { lookUps[run]?.step = .due }
    }
}
