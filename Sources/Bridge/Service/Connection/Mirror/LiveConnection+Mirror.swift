import BridgeCore
import Locking
import Sealing
import Vocabulary

// Runs that no phone message began: their chats, and the turns that show them.
extension LiveConnection {
    /// Work to do after the bridge's lock is released.
    enum MirrorWork {
        case makeChat(AgentSession)
        case keep(AgentSession)
    }

    /// Called under the bridge's lock, so that no event of the run can come between this one and the turn that it begins.
    func mirror(_ signal: RunSignal, on bridge: inout Bridge, at now: Instant) -> MirrorWork? {
        // A run that begins now would get its chat in the installation that is being left.
        guard token.withLock({ $0.farewell == nil }) else { return nil }
        let wall = clock.wallMilliseconds
        let allowed = allowed
        let step = mirroring.withLock {
            $0.heard(signal, at: now, wall: wall, allowed: allowed, hasRoom: bridge.hasRoomForMirrored)
        }
        switch step {
        case .none: return nil
        case .begin(let beginning):
            begin(beginning, on: &bridge, at: now)
            return nil
        case .makeChat(let session): return .makeChat(session)
        case .keep(let session): return .keep(session)
        }
    }

    func carryOut(_ work: MirrorWork) {
        switch work {
        case .makeChat(let session): makeChat(for: session)
        case .keep(let session):
            let (record, unreadable) = mirroring.withLock { ($0.record(of: session), $0.unreadable) }
            keep([Self.recordName(session): record.bytes]) {}
            for chat in unreadable where chat.session == session { makeKey(of: chat.chat) }
        }
    }

    // MARK: Keys

    private var allowed: Mirroring.Allowed {
        guard let keys else { return Mirroring.Allowed() }
        return Mirroring.Allowed(makesChats: keys.mayMakeChats, begins: { keys.mayBegin(in: $0) })
    }

    /// Number of runs that wait for a phone that could read them.
    var runsWaitingForPhone: Int {
        let allowed = allowed
        return mirroring.withLock { $0.waitingForPhone(allowed) }
    }

    /// The key is ready once each pinned device has it (`KeyRingOrder.chatGranted`). Without a device, housekeeping tries again.
    private func makeKey(of chat: SessionID) {
        keys?.tell { ring, now, secrets in _ = ring.makeKey(for: chat, at: now, using: secrets) }
    }

    /// Begins the turns of runs that the phones can read by now.
    func beginReadable() {
        guard token.withLock({ $0.farewell == nil }) else { return }
        let allowed = allowed
        var begun: [AgentSession] = []
        runner?.tell { bridge, now in
            for (session, beginnings) in mirroring.withLock({ $0.readable(allowed) }) {
                begun.append(session)
                for beginning in beginnings { begin(beginning, on: &bridge, at: now) }
            }
        }
        for session in begun { keep([Self.recordName(session): nil]) {} }
    }

    /// Reports a crowd when it begins; a run that is shown ends it.
    func tellOfCrowd() {
        guard mirroring.withLock({ $0.takeCrowd() }) else { return }
        tell(
            .note(
                name,
                "too many runs of the agent's own wait for the relay; those that begin now are not shown until some of them "
                    + "have ended there"))
    }

    /// Makes the chats that had to wait, unless an installation is being left.
    func makeChats() {
        guard token.withLock({ $0.farewell == nil }) else { return }
        let (now, allowed) = (clock.now, allowed)
        for session in mirroring.withLock({ $0.chatsToMake(at: now, allowed: allowed) }) { makeChat(for: session) }
        beginReadable()
        for chat in mirroring.withLock({ $0.unreadable }) { makeKey(of: chat.chat) }
    }

    /// Stores the intent before the call leaves, and the chat's id before any other call names it.
    func makeChat(for session: AgentSession) {
        guard let intent = mirroring.withLock({ $0.chatIsAsked(for: session) }) else { return }
        let entry = JournalEntry.setting(name: Self.recordName(session), value: intent.bytes)
        journal.submit([entry], .synced) { [weak self] failure in
            guard let self else { return }
            if let failure {
                journalFails(failure)
                return noChat(.unwritten, "the intent could not be written down", for: session)
            }
            let installation = installation
            guard belonging(to: installation) == .stays else { return noChat(.otherInstallation, for: session) }
            loose.makeChat { [weak self] answer in
                guard let self else { return }
                // The next installation has no use for this chat, and this refusal is not its answer.
                guard belonging(to: installation) == .stays else { return noChat(.otherInstallation, for: session) }
                let (verdict, reason) = RunChat.Answer.judge(answer.outcome)
                guard case .made(let chat) = verdict else { return noChat(verdict, reason, for: session) }
                guard isNew(chat) else {
                    return noChat(.refused, "its answer named the chat \(chat), which was there before", for: session)
                }
                made(chat, in: installation, for: session)
            }
        }
    }

    /// False if the chat existed before. A relay that names a person's chat would have it answered by a run of the agent's own, under another key.
    private func isNew(_ chat: SessionID) -> Bool {
        let isKeyed = keys?.ask { $0.isSealed(chat) } ?? false
        let isShown = mirroring.withLock { $0.agentSession(of: chat) != nil }
        return !isKeyed && !isShown && ask { $0.hasTurn(in: chat) } != true
    }

    private func made(_ chat: SessionID, in installation: Substring?, for session: AgentSession) {
        let mustWait = !allowed.begins(chat)
        let record = mirroring.withLock { RunChatRecord(.unreadable, runs: $0.record(of: session).runs) }
        let settings = [
            Self.chatName(session): Array(chat.text.utf8), Self.recordName(session): mustWait ? record.bytes : nil,
        ]
        keep(settings) { [weak self] in
            guard let self else { return }
            let allowed = allowed
            var isLost = false
            var keyIsMissing = false
            runner?.tell { bridge, now in
                isLost = belonging(to: installation) != .stays
                guard !isLost else { return }
                let asked = mirroring.withLock { $0.chatAnswered(.made(chat), for: session, at: now, allowed: allowed) }
                if case .keyIsMissing = asked { keyIsMissing = true }
                guard case .begins(let beginnings) = asked else { return }
                for beginning in beginnings { begin(beginning, on: &bridge, at: now) }
            }
            if keyIsMissing { makeKey(of: chat) }
            guard isLost else { return }
            journal.submit(Self.forgetting(session), .written, done: nil)
            noChat(.otherInstallation, for: session)
        }
    }

    private func noChat(_ answer: RunChat.Answer, _ reason: String = "", for session: AgentSession) {
        let now = clock.now
        let (asked, record) = mirroring.withLock {
            ($0.chatAnswered(answer, for: session, at: now), $0.record(of: session))
        }
        guard case .kept(let runs) = asked else { return }
        keep([Self.recordName(session): record.bytes]) {}
        tell(
            .note(
                name,
                "the relay made no chat for \(runs) runs of the agent's own, whose words are kept for the chat of the next "
                    + "one: \(reason)"))
    }

    /// Changes apply even if they could not be written, and are written once there is room. A restart before that would make the session
    /// another chat.
    private func keep(_ settings: [String: [UInt8]?], done: @escaping @Sendable () -> Void) {
        journal.submit(settings.map { .setting(name: $0.key, value: $0.value) }, .synced) { [weak self] failure in
            if let self, let failure {
                condition.withLock { $0.unkeptChats.merge(settings) { _, new in new } }
                journalFails(failure)
            }
            done()
        }
    }

    /// Called once the journal can be written again.
    func keepChats() {
        let settings = condition.withLock { state in
            defer { state.unkeptChats = [:] }
            return state.unkeptChats
        }
        if !settings.isEmpty { keep(settings) {} }
    }

    // MARK: The chat is gone

    /// Forgets the turn's chat after a refusal that reports it gone (relay.md#codes).
    func forgetChat(of turn: TurnID, after refusal: RelayRefusal) {
        guard refusal.isFinal, refusal.code == .sessionNotFound || refusal.code == .sessionDeleted,
            let chat = ask({ $0.turn(turn)?.opening.session }) ?? nil
        else { return }
        forgetChat(chat)
        // Keep the key after "not found": the relay may say so of a chat that exists, and the key would not come back.
        if refusal.code == .sessionDeleted { keys?.tell { ring, now, _ in ring.sessionEnded(chat, at: now) } }
    }

    /// Forgets a chat that the person deleted or archived: the next run gets another, or none.
    func forgetChat(_ chat: SessionID) {
        guard let gone = mirroring.withLock({ $0.chatDeleted(chat) }) else { return }
        keep([Self.chatName(gone.session): nil, Self.recordName(gone.session): gone.record?.bytes]) {}
    }

    // MARK: Settings

    /// Restores the ids first: an intent whose chat was made is of no use.
    func restoreChats(_ settings: [String: [UInt8]]) {
        let wall = clock.wallMilliseconds
        var useless: [JournalEntry] = []
        mirroring.withLock { mirroring in
            for (setting, value) in settings where setting.hasPrefix(Self.chatSetting) {
                let session = AgentSession(String(setting.dropFirst(Self.chatSetting.count)))
                mirroring.learn(SessionID(String(decoding: value, as: UTF8.self)), of: session)
            }
            for (setting, value) in settings.sorted(by: { $0.key < $1.key })
            where setting.hasPrefix(RunChatRecord.settingPrefix) {
                let session = AgentSession(String(setting.dropFirst(RunChatRecord.settingPrefix.count)))
                let isOfUse = RunChatRecord(value).map { mirroring.learn($0, of: session, wall: wall) } ?? false
                if !isOfUse { useless.append(.setting(name: setting, value: nil)) }
            }
        }
        if !useless.isEmpty { journal.submit(useless, .written, done: nil) }
    }

    private static let chatSetting = "chat:"

    /// Entries that delete the session's chat and its record.
    static func forgetting(_ session: AgentSession) -> [JournalEntry] {
        [.setting(name: chatName(session), value: nil), .setting(name: recordName(session), value: nil)]
    }

    private static func chatName(_ session: AgentSession) -> String { chatSetting + session.text }
    private static func recordName(_ session: AgentSession) -> String { RunChatRecord.settingPrefix + session.text }

    // MARK: Turns

    private func ownSealing(of chat: SessionID, for turn: TurnID) -> TurnSealing? {
        keys?.ownSealing(of: chat, for: turn) ?? .open
    }

    /// Nil if the chat is sealed and its key is missing; the run is not shown then.
    private func homeSealing(of chat: SessionID, for turn: TurnID) -> TurnSealing? {
        guard let keys else { return .open }
        return keys.homeSealing(of: chat, for: turn)
    }

    private func begin(_ beginning: Mirroring.Beginning, on bridge: inout Bridge, at now: Instant) {
        let turn = TurnID(StableHash.text(of: "\(name) \(beginning.session) \(beginning.run)"))
        let own =
            beginning.isAtHome ? homeSealing(of: beginning.chat, for: turn) : ownSealing(of: beginning.chat, for: turn)
        guard let sealing = own else { return }
        bridge.turnBegins(
            TurnOpening(
                id: turn, session: beginning.chat, interaction: nil, agentSession: beginning.session,
                run: beginning.run, message: nil, receivedAt: now, windowEnds: now + UpdateIntake.window,
                sealing: sealing), at: now)
        if beginning.isUnseen { bridge.beganUnseen(turn, at: now) }
        for signal in beginning.said { bridge.agentSays(signal, at: now) }
        if beginning.mayLackWords { bridge.linkWasLost(behind: turn, at: now) }
    }
}

extension RunChat.Answer {
    /// Ask again once the next installation has its token.
    static let otherInstallation = RunChat.Answer.wait(.zero)

    /// Judges by the status and the relay's code (relay.md#codes); the reason says why there is no chat.
    static func judge(_ outcome: RelayAnswer.Outcome) -> (RunChat.Answer, reason: String) {
        switch outcome {
        case .delivered(let receipt):
            receipt.session.map { (.made($0), "") } ?? (.unknown, "its answer named no chat")
        case .unknown(let reason): (.unknown, reason)
        case .refused(let refusal): judge(refusal)
        }
    }

    private static func judge(_ refusal: RelayRefusal) -> (RunChat.Answer, reason: String) {
        let remedy = refusal.status == 401 ? "; pair again: sophon-bridge pair" : ""
        let reason = "\(refusal.status) \(refusal.code) \(refusal.message)\(remedy)"
        switch refusal.status {
        case 429, 503: return (.wait(refusal.retryAfter ?? .seconds(5)), reason)
        case 408, 425, 500...: return (.unknown, reason)
        default: return (refusal.code == .rateLimited ? .wait(refusal.retryAfter ?? .seconds(5)) : .refused, reason)
        }
    }
}
