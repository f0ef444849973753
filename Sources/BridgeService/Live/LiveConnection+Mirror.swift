import BridgeCore
import BridgeModel
import Locking

// Runs that no phone message began: their chats, and the turns that show them.
extension LiveConnection {
    /// Called while the bridge is ours, so that no event of the run can come between this one and the turn that it begins. What
    /// comes back are the chats to be made when the bridge is let go.
    func mirror(_ signal: RunSignal, on bridge: inout Bridge, at now: Instant) -> AgentSession? {
        // What begins now would have its chat in the installation that is left.
        guard token.withLock({ $0.farewell == nil }) else { return nil }
        switch mirroring.withLock({ $0.heard(signal, at: now) }) {
        case .none: return nil
        case .begin(let beginning):
            begin(beginning, on: &bridge, at: now)
            return nil
        case .makeChat(let session): return session
        }
    }

    /// The chat's id is written down before any other call names it; a lost answer costs at worst one empty chat.
    func makeChat(for session: AgentSession) {
        loose.makeChat { [weak self] answer in
            guard let self else { return }
            guard case .delivered(let receipt) = answer.outcome, let chat = receipt.session else {
                return noChat(for: session, answer.outcome)
            }
            keep(chat, of: session) { [weak self] in
                guard let self else { return }
                runner?.tell { bridge, now in
                    let beginnings = mirroring.withLock { $0.chatMade(chat, for: session) }
                    for beginning in beginnings { begin(beginning, on: &bridge, at: now) }
                }
            }
        }
    }

    /// What could not be written is shown all the same, and written when there is room: until then a restart would make the
    /// session another chat.
    private func keep(_ chat: SessionID, of session: AgentSession, done: @escaping @Sendable () -> Void) {
        journal.submit([Self.setting(chat, of: session)], .synced) { [weak self] failure in
            if let self, let failure {
                mirroring.withLock { $0.wasNotKept(chat, of: session) }
                journalFails(failure)
            }
            done()
        }
    }

    /// Called when the journal can be written again.
    func keepChats() {
        for (session, chat) in mirroring.withLock({ $0.takeUnkept() }) { keep(chat, of: session) {} }
    }

    private static func setting(_ chat: SessionID, of session: AgentSession) -> JournalEntry {
        .setting(name: chatSetting + session.text, value: Array(chat.text.utf8))
    }

    /// A run whose chat was not made is not shown; the next one of its session asks again. Where the relay only was too busy,
    /// this one does.
    private func noChat(for session: AgentSession, _ outcome: RelayAnswer.Outcome) {
        let reason: String
        switch outcome {
        case .delivered: reason = "its answer named no chat"
        case .unknown(let words): reason = words
        case .refused(let refusal):
            if refusal.code == .rateLimited {
                let moment = clock.now + (refusal.retryAfter ?? .seconds(5))
                return mirroring.withLock { $0.chatPutOff(for: session, until: moment) }
            }
            let remedy = refusal.status == 401 ? "; pair again: sophon-bridge pair" : ""
            reason = "\(refusal.status) \(refusal.code) \(refusal.message)\(remedy)"
        }
        mirroring.withLock { $0.chatFailed(for: session) }
        tell(.note(name, "the relay made no chat for a run of the agent's own, which is not shown: \(reason)"))
    }

    private func begin(_ beginning: Mirroring.Beginning, on bridge: inout Bridge, at now: Instant) {
        let turn = TurnID(StableHash.text(of: "\(name) \(beginning.session) \(beginning.run)"))
        bridge.turnBegins(
            TurnOpening(
                id: turn, session: beginning.chat, interaction: nil, agentSession: beginning.session,
                run: beginning.run, message: nil, receivedAt: now, windowEnds: now + UpdateIntake.window), at: now)
        for signal in beginning.said { bridge.agentSays(signal, at: now) }
    }

    static let chatSetting = "chat:"
}
