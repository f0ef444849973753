import Vocabulary

/// What is asked of the history: which runs, for whom, and how far each question is.
///
/// - A run is looked up once at a time; asked again meanwhile, it is looked up again afterwards (`joins`).
/// - A lost socket makes every question due again.
struct LookUps {
    struct LookUp {
        enum Step: Hashable {
            /// The link is away, or the question comes with the next one. Can transition to: history.
            case due
            /// Can transition to: waiting, rows, or the answer.
            case history
            /// The rows did not say whether the run is over: `agent.wait` is asked. Can transition to: lastHistory, rows, or the
            /// answer.
            case waiting
            /// It is over: its last rows are fetched. Can transition to: rows, or the answer.
            case lastHistory
            /// Rows that were cut are fetched in full, these are still to come.
            case rows(missing: Set<Int>)
        }

        let session: AgentSession
        /// The core waits for it. The result of our own look-up is reported as an end of the run, if it is one.
        fileprivate(set) var isAsked: Bool
        /// It also shows whether an unanswered message had arrived.
        fileprivate(set) var settlesSend = false
        fileprivate(set) var step = Step.due
        fileprivate(set) var begunAt: Instant
        /// Asked for again when the first answer was under way: that one may be too old.
        fileprivate(set) var isAgain = false
        /// The history was asked for the beginnings of its rows.
        fileprivate(set) var isShort = false
        /// As of the last history, also of one on an earlier socket.
        fileprivate(set) var finding: OpenClawHistory.Finding?

        fileprivate init(session: AgentSession, isAsked: Bool, begunAt: Instant) {
            self.session = session
            self.isAsked = isAsked
            self.begunAt = begunAt
        }
    }

    private static let limit = 256
    /// An answer that is younger is new enough for a second question.
    private static let freshFor = Duration.milliseconds(500)

    private var lookUps: [RunID: LookUp] = [:]

    subscript(run: RunID) -> LookUp? { lookUps[run] }

    var hasRoom: Bool { lookUps.count < Self.limit }

    var sessions: [AgentSession] { lookUps.values.map(\.session) }

    func asks(about session: AgentSession) -> Bool { lookUps.values.contains { $0.session == session } }

    /// What is to be asked, one history a session.
    var due: [(session: AgentSession, runs: [RunID])] {
        Dictionary(grouping: lookUps.filter { $0.value.step == .due }, by: \.value.session)
            .sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.map(\.key).sorted()) }
    }

    // MARK: Questions

    /// False: the run is not looked up yet.
    mutating func joins(_ run: RunID, isAsked: Bool, at now: Instant) -> Bool {
        guard let known = lookUps[run] else { return false }
        lookUps[run]?.isAsked = known.isAsked || isAsked
        if known.step != .due, now - known.begunAt > Self.freshFor { lookUps[run]?.isAgain = true }
        return true
    }

    mutating func begin(_ run: RunID, in session: AgentSession, isAsked: Bool, at now: Instant) {
        lookUps[run] = LookUp(session: session, isAsked: isAsked, begunAt: now)
    }

    /// For the next history.
    mutating func mark(_ run: RunID, in session: AgentSession, isAsked: Bool, at now: Instant) {
        if lookUps[run] == nil { begin(run, in: session, isAsked: isAsked, at: now) }
        if isAsked { lookUps[run]?.isAsked = true }
    }

    mutating func settleSend(of run: RunID) { lookUps[run]?.settlesSend = true }

    /// Its message leaves again, and gets its own answer.
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

    /// A row came, or will not (`piece` is nil). Nil: it was not awaited. True: it was the last.
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

    /// It is answered.
    mutating func remove(_ run: RunID) -> LookUp? { lookUps.removeValue(forKey: run) }

    /// The end was seen: only the core still waits for an answer.
    mutating func ended(_ run: RunID) {
        if lookUps[run]?.isAsked == false { lookUps[run] = nil }
    }

    mutating func socketLost() {
        for run in lookUps.keys { lookUps[run]?.step = .due }
    }
}
