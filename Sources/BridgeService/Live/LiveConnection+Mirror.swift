import BridgeCore
import BridgeModel
import Locking

// Runs that no phone message began: their chats, and the turns that show them.
extension LiveConnection {
    func mirror(_ signal: RunSignal) {
        switch mirroring.withLock({ $0.heard(signal) }) {
        case .none: break
        case .begin(let beginning): begin(beginning)
        case .makeChat(let session): makeChat(for: session)
        }
    }

    /// The chat's id is written down before any other call names it; a lost answer costs at worst one empty chat.
    private func makeChat(for session: AgentSession) {
        loose.makeChat { [weak self] chat in
            guard let self else { return }
            guard let chat else {
                mirroring.withLock { $0.chatFailed(for: session) }
                return tell(.note(name, "no chat could be made for a run of the agent's own"))
            }
            let setting = JournalEntry.setting(name: Self.chatSetting + session.text, value: Array(chat.text.utf8))
            journal.submit([setting], .synced) { [weak self] _ in
                guard let self else { return }
                for beginning in mirroring.withLock({ $0.chatMade(chat, for: session) }) { begin(beginning) }
            }
        }
    }

    private func begin(_ beginning: Mirroring.Beginning) {
        let turn = TurnID(StableHash.text(of: "\(name) \(beginning.session) \(beginning.run)"))
        tell(.turnBegan(name, turn, beginning.chat))
        runner?.tell { bridge, now in
            bridge.turnBegins(
                TurnOpening(
                    id: turn, session: beginning.chat, interaction: nil, agentSession: beginning.session,
                    run: beginning.run, message: nil, receivedAt: now, windowEnds: now + UpdateIntake.window), at: now)
            for signal in beginning.said { bridge.agentSays(signal, at: now) }
        }
    }

    static let chatSetting = "chat:"
}
