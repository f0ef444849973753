package import BridgeModel

/// Runs that no phone message began: which of them are shown on the phone, and in which chat (DESIGN, section 6).
///
/// States of a run:
/// - unknown. Can become: *waiting* (its agent session has no chat yet), *shown* (it has one), *left* (it is not asked for).
/// - *waiting*: what it says is kept until its chat is made. Can become: shown; left, when it says too much meanwhile or the
///   chat cannot be made. A run that begins while too many wait is left at once.
/// - *shown*, *left*: final. Of both the names are kept, so that what a run says after its end begins nothing.
///
/// An agent session has one chat for all its runs: a job that runs each morning answers in one place. Chats are asked for no
/// faster than the relay takes it (relay sheet 11.1, bucket `default`); those that must wait are asked for at a housekeeping.
package struct Mirroring: Sendable {
    /// What to do about an event of a run that no turn answers to.
    package enum Step: Hashable, Sendable {
        case none
        case makeChat(AgentSession)
        case begin(Beginning)
    }

    package struct Beginning: Hashable, Sendable {
        package var session: AgentSession
        package var chat: SessionID
        package var run: RunID
        package var said: [RunSignal]
    }

    /// Of one run that waits, and of all together. A chat is made within one call's time, or not at all.
    private static let signalLimit = 512
    private static let allSignalsLimit = 8 * signalLimit
    private static let waitingLimit = 64
    private static let nameLimit = 4_096
    /// Runs that this bridge began, and those that follow them.
    private static let ownPrefixes = ["sophon-", "exec-approval-followup:"]
    static let phonePrefix = "agent:main:sophon-"

    private let mode: Configuration.Mirror
    private var chats: [AgentSession: SessionID] = [:]
    private var sessions: [SessionID: AgentSession] = [:]
    /// A session is in it from when its chat is wanted, though none of its runs may wait any more.
    private var waiting: [AgentSession: [(run: RunID, said: [RunSignal])]] = [:]
    /// Of these, the ones whose chat is still to be asked for, in order.
    private var unasked: [AgentSession] = []
    private var pace = AskingPace()
    /// Chats that the journal does not have yet.
    private var unkept: [AgentSession: SessionID] = [:]
    private var waitingRuns = 0
    private var waitingSignals = 0
    private var known: Set<RunID> = []
    private var order: [RunID] = []
    private var jobs: Set<AgentSession> = []
    private var jobRuns: Set<RunID> = []
    /// Runs that were not asked for.
    package private(set) var left = 0

    package init(_ mode: Configuration.Mirror) { self.mode = mode }

    /// The chat of an agent session, from the journal or the relay.
    package mutating func learn(_ chat: SessionID, of session: AgentSession) {
        chats[session] = chat
        sessions[chat] = session
    }

    /// They were of another installation.
    package mutating func forgetChats() -> [AgentSession] {
        defer { (chats, sessions, unkept) = ([:], [:], [:]) }
        return chats.keys.sorted()
    }

    /// The agent session that answers in a chat which this bridge made.
    package func agentSession(of chat: SessionID) -> AgentSession? { sessions[chat] }

    /// The agent's scheduler began something.
    package mutating func jobStarted(in session: AgentSession?, run: RunID?) {
        if jobs.count + jobRuns.count >= Self.nameLimit { (jobs, jobRuns) = ([], []) }
        if let session { jobs.insert(session) }
        if let run { jobRuns.insert(run) }
    }

    package mutating func heard(_ signal: RunSignal, at now: Instant) -> Step {
        guard let run = signal.run, let session = signal.session, signal.event.tellsOfARun else { return .none }
        if let index = waiting[session]?.firstIndex(where: { $0.run == run }) {
            keep(signal, of: index, in: session)
            return .none
        }
        guard !known.contains(run), !Self.ownPrefixes.contains(where: { run.text.hasPrefix($0) }) else { return .none }
        remember(run)
        guard isWanted(run, session) else {
            left += 1
            return .none
        }
        if let chat = chats[session] {
            return .begin(Beginning(session: session, chat: chat, run: run, said: [signal]))
        }
        guard waitingRuns < Self.waitingLimit, waitingSignals < Self.allSignalsLimit else {
            left += 1
            return .none
        }
        let isFirst = waiting[session] == nil
        waiting[session, default: []].append((run, [signal]))
        waitingRuns += 1
        waitingSignals += 1
        guard isFirst else { return .none }
        guard unasked.isEmpty, pace.take(at: now) else {
            unasked.append(session)
            return .none
        }
        return .makeChat(session)
    }

    /// The chats that had to wait, and may be asked for now.
    package mutating func chatsToMake(at now: Instant) -> [AgentSession] {
        var sessions: [AgentSession] = []
        while let session = unasked.first {
            let isWanted = !(waiting[session]?.isEmpty ?? true)
            guard !isWanted || pace.take(at: now) else { break }
            unasked.removeFirst()
            if isWanted { sessions.append(session) } else { waiting[session] = nil }
        }
        return sessions
    }

    /// The relay has no chat for us now.
    package mutating func chatPutOff(for session: AgentSession, until moment: Instant) {
        pace.rest(until: moment)
        unasked.insert(session, at: 0)
    }

    /// Text with a hole in it would be worse than none: a run that says too much is given up whole.
    private mutating func keep(_ signal: RunSignal, of index: Int, in session: AgentSession) {
        let count = waiting[session]?[index].said.count ?? 0
        guard count < Self.signalLimit, waitingSignals < Self.allSignalsLimit else {
            waiting[session]?.remove(at: index)
            waitingRuns -= 1
            waitingSignals -= count
            left += 1
            return
        }
        waiting[session]?[index].said.append(signal)
        waitingSignals += 1
    }

    private mutating func takeWaiting(of session: AgentSession) -> [(run: RunID, said: [RunSignal])] {
        let runs = waiting.removeValue(forKey: session) ?? []
        waitingRuns -= runs.count
        waitingSignals -= runs.reduce(0) { $0 + $1.said.count }
        return runs
    }

    package mutating func chatMade(_ chat: SessionID, for session: AgentSession) -> [Beginning] {
        learn(chat, of: session)
        return takeWaiting(of: session).map { Beginning(session: session, chat: chat, run: $0.run, said: $0.said) }
    }

    package mutating func chatFailed(for session: AgentSession) {
        left += takeWaiting(of: session).count
    }

    package mutating func wasNotKept(_ chat: SessionID, of session: AgentSession) { unkept[session] = chat }

    package mutating func takeUnkept() -> [AgentSession: SessionID] {
        defer { unkept = [:] }
        return unkept
    }

    private func isWanted(_ run: RunID, _ session: AgentSession) -> Bool {
        switch mode {
        case .none: false
        case .all: true
        case .cron: jobRuns.contains(run) || jobs.contains(session) || session.text.contains(":cron:")
        }
    }

    private mutating func remember(_ run: RunID) {
        known.insert(run)
        order.append(run)
        if order.count > 2 * Self.nameLimit {
            for old in order.prefix(Self.nameLimit) { known.remove(old) }
            order.removeFirst(Self.nameLimit)
        }
    }
}

extension RunEvent {
    /// Enough to begin a bubble with: an approval alone is left to others.
    fileprivate var tellsOfARun: Bool {
        switch self {
        case .started, .text, .tool, .finished, .failed: true
        case .approvalRequested, .approvalSettled, .paused, .retrying: false
        }
    }
}

/// Half of what the relay's bucket gives (relay sheet 11.1), since it is not ours alone.
private struct AskingPace: Sendable {
    private static let most = 15.0
    private static let perSecond = 5.0
    private var level = AskingPace.most
    private var at: Instant?
    private var restsUntil: Instant?

    mutating func take(at now: Instant) -> Bool {
        if let at { level = min(Self.most, level + Self.perSecond * max(0, (now - at).seconds)) }
        at = now
        if let restsUntil, now < restsUntil { return false }
        guard level >= 1 else { return false }
        level -= 1
        return true
    }

    mutating func rest(until moment: Instant) { restsUntil = max(restsUntil ?? moment, moment) }
}
