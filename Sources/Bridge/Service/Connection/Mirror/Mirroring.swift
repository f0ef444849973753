package import AgentKit
package import Vocabulary

/// Runs that no phone message began: which of them are shown on the phone, and in which chat (DESIGN.md#a-runs-journey).
///
/// States of a run:
/// - *unknown*. Can become: *waiting* (its agent session has no chat yet), *shown* (it has one), *left* (the settings do not ask for it).
/// - *waiting*: its words are kept until its chat is made. If the relay refuses the chat, the next run asks for one again. Can become:
/// shown; left, if it says too much meanwhile, or if its chat was refused and room is needed. A run that begins while too many wait
/// is left at once.
/// - *shown*, *left*: final. The names of both are kept, so that a signal after the run's end begins nothing.
///
/// An agent session has one chat for all its runs (`RunChat`): a job that runs each morning answers in one place. `SchedulerRuns` judges
/// run by run which are the scheduler's, never by what else a session has held. Chats are requested no faster than the relay allows
/// (relay.md#buckets, bucket `default`); housekeeping requests those that had to wait. If the bridge's own chats are sealed, none is
/// requested before a phone could read it, and a run whose chat's key the phones lack is *waiting* as one without a chat; the journal
/// holds both.
package struct Mirroring: Sendable {
    /// Answer to an event of a run that no turn shows.
    package enum Step: Hashable, Sendable {
        case none
        case makeChat(AgentSession)
        case begin(Beginning)
        /// The run waits for a phone that could read it: write it down.
        case keep(AgentSession)
    }

    /// Permissions that follow from the keys of sealed chats.
    package struct Allowed: Sendable {
        package var makesChats: Bool
        package var begins: @Sendable (SessionID) -> Bool

        package init(makesChats: Bool = true, begins: @escaping @Sendable (SessionID) -> Bool = { _ in true }) {
            self.makesChats = makesChats
            self.begins = begins
        }
    }

    package struct Beginning: Hashable, Sendable {
        package var session: AgentSession
        package var chat: SessionID
        package var run: RunID
        package var said: [RunSignal]
        /// True if an earlier process heard the run's beginning.
        package var isUnseen = false
        /// True if the agent's link was lost after what the run had said.
        package var mayLackWords = false
        /// True if the run is shown in the phone's own chat, sealed as that chat's messages are.
        package var isAtHome = false
    }

    /// The outcome of a request for a chat.
    package enum Asked: Hashable, Sendable {
        case begins([Beginning])
        /// The request is repeated later.
        case later
        /// The words are kept for the chat of the next run.
        case kept(runs: Int)
        /// The chat waits until the phones have its key.
        case keyIsMissing
    }

    private struct Waiting {
        var run: RunID
        var wall: Int64
        var words = HeldWords()
        var isUnseen = false
        var mayLackWords = false
    }

    private static let wordsLimit = 1_000_000
    private static let allWordsLimit = 4_000_000
    private static let waitingLimit = 64
    private static let nameLimit = 4_096
    /// Runs that this bridge began, and those that follow them.
    private static func isOwn(_ run: RunID) -> Bool { run.text.hasPrefix("sophon-") || run.isFollowUp }

    private let mode: Configuration.Mirror
    private let deletedChats: Configuration.DeletedChats
    /// True if the agent begins runs of its own in the phone's chats.
    private let hasHomes: Bool
    private var chats: [AgentSession: RunChat] = [:]
    private var sessions: [SessionID: AgentSession] = [:]
    /// Chats of the phone whose agent begins runs of its own there, whatever the mode.
    private var homes: [AgentSession: SessionID] = [:]
    private var waiting: [AgentSession: [Waiting]] = [:]
    /// Sessions whose chat is not requested yet, in order.
    private var unasked: [AgentSession] = []
    private var pace = AskingPace()
    private var scheduler = SchedulerRuns()
    private var known: Set<RunID> = []
    private var order: [RunID] = []
    private var crowd = Crowd.none

    /// Whether runs are left for want of room, and whether that was reported.
    private enum Crowd { case none, untold, told }

    package init(
        _ mode: Configuration.Mirror, deletedChats: Configuration.DeletedChats = .new, hasHomes: Bool = false
    ) {
        self.mode = mode
        self.hasHomes = hasHomes
        self.deletedChats = deletedChats
    }

    // MARK: What an earlier process knew

    package mutating func learn(_ chat: SessionID, of session: AgentSession) {
        chats[session] = RunChat(.made(chat))
        sessions[chat] = session
    }

    /// False if the record is of no use and can be deleted.
    mutating func learn(_ record: RunChatRecord, of session: AgentSession, wall: Int64) -> Bool {
        // The chat's id and the end of its intent are written together: a session with both an id and a record waits for its chat's key,
        // or the record is of no use.
        let isUnreadable = record.state == .unreadable && chats[session]?.chat != nil
        guard chats[session] == nil || isUnreadable, mode != .none else { return false }
        if record.state == .muted {
            guard deletedChats == .mute else { return false }
            chats[session] = RunChat(.muted)
            return true
        }
        let runs = record.runs.filter { wall.subtractingReportingOverflow($0.wall).partialValue < RunChatRecord.life }
            .prefix(Self.waitingLimit)
        guard !runs.isEmpty else { return false }
        waiting[session] = runs.map { Waiting(run: RunID($0.run), wall: $0.wall, isUnseen: true) }
        for run in runs { remember(RunID(run.run)) }
        if isUnreadable { return true }
        // The try that the crash cut off has an unknown outcome.
        let isSpent = record.state == .refused || record.tries >= RunChat.triesLimit
        chats[session] = RunChat(isSpent ? .refused : .wanted(tries: record.tries, notBefore: nil))
        if !isSpent { unasked.append(session) }
        return true
    }

    /// Forgets the chats of another installation, made or unwanted there, and returns their sessions.
    package mutating func forgetChats() -> [AgentSession] {
        homes = [:]
        sessions = [:]
        let known = chats.filter { $0.value.chat != nil || $0.value.isMuted }.keys.sorted()
        for session in known {
            chats[session] = nil
            wantAgain(session)
        }
        return known
    }

    /// Requests another chat for runs that waited for the key of a chat that is gone.
    private mutating func wantAgain(_ session: AgentSession) {
        guard waiting[session]?.isEmpty == false, chats[session, default: RunChat()].want() else { return }
        unasked.append(session)
    }

    /// Agent session that answers in a chat which this bridge made.
    package func agentSession(of chat: SessionID) -> AgentSession? { sessions[chat] }

    /// A phone message went to a session whose own runs belong in its chat.
    package mutating func isAtHome(_ session: AgentSession, in chat: SessionID) {
        if hasHomes { homes[session] = chat }
    }

    // MARK: From the agent

    package mutating func jobStarted(_ job: AgentJob, at now: Instant) { scheduler.started(job, at: now) }
    package mutating func jobFinished(_ job: AgentJob) { scheduler.finished(job) }

    package mutating func linkLost() {
        scheduler.linkLost()
        for session in waiting.keys {
            for index in waiting[session]?.indices ?? 0..<0 { waiting[session]?[index].mayLackWords = true }
        }
    }

    /// `hasRoom` is true if another turn may open.
    package mutating func heard(
        _ signal: RunSignal, at now: Instant, wall: Int64, allowed: Allowed = Allowed(),
        hasRoom: @autoclosure () -> Bool = true
    ) -> Step {
        guard let session = signal.session else { return .none }
        // A sign of life has nothing to show.
        if case .alive = signal.event { return .none }
        if let index = place(of: signal, in: session) {
            keep(signal, of: index, in: session)
            return .none
        }
        guard let run = signal.run, signal.event.tellsOfARun else { return .none }
        if signal.event.endsTheRun { scheduler.ended(run, in: session) }
        guard !known.contains(run), !Self.isOwn(run) else { return .none }
        remember(run)
        if let home = homes[session] {
            guard hasRoom() else { return noRoom() }
            crowd = .none
            var beginning = Beginning(session: session, chat: home, run: run, said: [signal])
            beginning.isAtHome = true
            return .begin(beginning)
        }
        guard isWanted(run, session, signal.event, at: now), chats[session]?.isMuted != true else { return .none }
        guard hasRoom() else { return noRoom() }
        if let chat = chats[session]?.chat, waiting[session]?.isEmpty ?? true, allowed.begins(chat) {
            crowd = .none
            return .begin(Beginning(session: session, chat: chat, run: run, said: [signal]))
        }
        guard makeRoom() else { return noRoom() }
        var new = Waiting(run: run, wall: wall)
        new.words.take(signal)
        waiting[session, default: []].append(new)
        if chats[session]?.chat != nil { return .keep(session) }
        let isNew = chats[session, default: RunChat()].want()
        if isNew { unasked.append(session) }
        guard allowed.makesChats else { return .keep(session) }
        guard isNew else { return .none }
        // Sessions that waited before this one go first.
        return unasked.count == 1 && pace.take(at: now) ? .makeChat(unasked.removeFirst()) : .none
    }

    /// The run is left.
    private mutating func noRoom() -> Step {
        if crowd == .none { crowd = .untold }
        return .none
    }

    /// True once for each time that runs begin to be left for want of room.
    mutating func takeCrowd() -> Bool {
        defer { if crowd == .untold { crowd = .told } }
        return crowd == .untold
    }

    private mutating func isWanted(
        _ run: RunID, _ session: AgentSession, _ event: RunEvent, at now: Instant
    ) -> Bool {
        switch mode {
        case .none: return false
        case .all: return true
        case .cron:
            let isScheduled = scheduler.isScheduled(run, in: session, begins: event == .started, at: now)
            if !isScheduled, event.endsTheRun { scheduler.ended(run, in: session) }
            return isScheduled
        }
    }

    // MARK: Asking for chats

    /// Chats that had to wait and may be requested now.
    package mutating func chatsToMake(at now: Instant, allowed: Allowed = Allowed()) -> [AgentSession] {
        guard allowed.makesChats else { return [] }
        var due: [AgentSession] = []
        for session in unasked where chats[session]?.mayAsk(at: now) == true {
            guard pace.take(at: now) else { break }
            due.append(session)
        }
        unasked.removeAll { due.contains($0) }
        return due
    }

    /// Intent to write before the call leaves, or nil if no run needs the chat by now.
    mutating func chatIsAsked(for session: AgentSession) -> RunChatRecord? {
        guard waiting[session]?.isEmpty == false else {
            chats[session]?.notWanted()
            return nil
        }
        return chats[session]?.ask().map { RunChatRecord(.wanted, tries: $0, runs: runs(waitingIn: session)) }
    }

    mutating func chatAnswered(
        _ answer: RunChat.Answer, for session: AgentSession, at now: Instant, allowed: Allowed = Allowed()
    ) -> Asked {
        chats[session]?.answered(answer, at: now)
        if case .wait(let pause) = answer { pace.rest(until: now + pause) }
        switch chats[session]?.state {
        case .made(let chat):
            sessions[chat] = session
            return allowed.begins(chat) ? .begins(takeWaiting(session, chat)) : .keyIsMissing
        case .wanted:
            unasked.append(session)
            return .later
        case .refused: return .kept(runs: waiting[session]?.count ?? 0)
        case .absent, .asked, .muted, nil: return .later
        }
    }

    private mutating func takeWaiting(_ session: AgentSession, _ chat: SessionID) -> [Beginning] {
        (waiting.removeValue(forKey: session) ?? []).map {
            Beginning(
                session: session, chat: chat, run: $0.run, said: $0.words.signals, isUnseen: $0.isUnseen,
                mayLackWords: $0.mayLackWords)
        }
    }

    /// Record of a chat that was refused, that is not requested yet, or whose key the phones lack.
    func record(of session: AgentSession) -> RunChatRecord {
        let state: RunChatRecord.State =
            switch chats[session]?.state {
            case .refused, nil: .refused
            case .made: .unreadable
            case .absent, .wanted, .asked, .muted: .wanted
            }
        return RunChatRecord(state, runs: runs(waitingIn: session))
    }

    // MARK: Waiting for a phone

    /// Runs whose chat exists and can be read by now.
    mutating func readable(_ allowed: Allowed) -> [(session: AgentSession, begins: [Beginning])] {
        unreadable.filter { allowed.begins($0.chat) }.map { ($0.session, takeWaiting($0.session, $0.chat)) }
    }

    /// Chats with runs that wait for the phones to have the key.
    var unreadable: [(session: AgentSession, chat: SessionID)] {
        waiting.filter { !$0.value.isEmpty }.keys.sorted().compactMap { session in
            chats[session]?.chat.map { (session, $0) }
        }
    }

    /// Number of runs that wait for a phone that could read them.
    package func waitingForPhone(_ allowed: Allowed) -> Int {
        waiting.reduce(0) { count, session in
            let isMade = chats[session.key]?.chat != nil
            return count + (isMade || !allowed.makesChats ? session.value.count : 0)
        }
    }

    private func runs(waitingIn session: AgentSession) -> [RunChatRecord.Run] {
        (waiting[session] ?? []).map { RunChatRecord.Run(run: $0.run.text, wall: $0.wall) }
    }

    // MARK: The chat is gone

    /// Forgets a chat that the person deleted or archived. Nil if this bridge did not make it.
    mutating func chatDeleted(_ chat: SessionID) -> (session: AgentSession, record: RunChatRecord?)? {
        homes = homes.filter { $0.value != chat }
        guard let session = sessions.removeValue(forKey: chat), chats[session]?.chat == chat else { return nil }
        let mutes = deletedChats == .mute
        chats[session]?.deleted(mute: mutes)
        if mutes { waiting[session] = nil } else { wantAgain(session) }
        return (session, mutes ? RunChatRecord(.muted) : nil)
    }

    // MARK: Room

    /// A signal that names its session alone, such as an approval, belongs to the newest run.
    private func place(of signal: RunSignal, in session: AgentSession) -> Int? {
        guard let runs = waiting[session], !runs.isEmpty else { return nil }
        guard let run = signal.run else { return runs.indices.last }
        return runs.firstIndex { $0.run == run }
    }

    /// A run that says too much is given up whole: text with a hole in it would be worse than none.
    private mutating func keep(_ signal: RunSignal, of index: Int, in session: AgentSession) {
        waiting[session]?[index].words.take(signal)
        let bytes = waiting[session]?[index].words.bytes ?? 0
        if bytes > Self.wordsLimit || allBytes > Self.allWordsLimit {
            waiting[session]?.remove(at: index)
        }
    }

    private var allBytes: Int { waiting.values.reduce(0) { $0 + $1.reduce(0) { $0 + $1.words.bytes } } }

    /// Gives up the oldest run of a refused chat, or of one whose key is missing. False if there is none: runs of a requested chat stay.
    private mutating func makeRoom() -> Bool {
        while waiting.values.reduce(0, { $0 + $1.count }) >= Self.waitingLimit || allBytes >= Self.allWordsLimit {
            let oldest = waiting.filter { (chats[$0.key]?.keepsWords ?? false) && !$0.value.isEmpty }
                .min { ($0.value.first?.wall ?? 0) < ($1.value.first?.wall ?? 0) }
            guard let oldest else { return false }
            waiting[oldest.key]?.removeFirst()
        }
        return true
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
    /// True if the event can begin a bubble; an approval or a question alone is left to other clients.
    fileprivate var tellsOfARun: Bool {
        switch self {
        case .started, .text, .tool, .finished, .failed: true
        case .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying, .alive: false
        }
    }

    fileprivate var endsTheRun: Bool {
        switch self {
        case .finished, .failed: true
        case .started, .text, .tool, .approvalRequested, .approvalSettled, .asked, .questionSettled, .paused, .retrying,
            .alive:
            false
        }
    }
}

/// Half of what the relay's bucket gives (relay.md#buckets), since other calls share it.
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
