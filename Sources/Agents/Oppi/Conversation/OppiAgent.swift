import AgentKit
import Locking
import Vocabulary

/// The Oppi server of one connection. Its token may be in a private file, which the machine reads itself.
final class OppiAgent: LiveAgent {
    private let context: AgentContext
    private let settings: Locked<AgentSettings>

    init(_ settings: AgentSettings, in context: AgentContext) {
        self.context = context
        self.settings = Locked(settings)
    }

    var abilities: GrantAbilities { GrantAbilities(session: true, permanent: true) }
    var sharesFiles: Bool {
        let now = settings.withLock { machineSettings($0) }
        return now.trust.listener.staysHere && now.address.isThisMachine
    }
    var choosesModels: Bool { true }
    var steersWords: Bool { true }
    func session(of chat: SessionID) -> AgentSession { AgentSession("oppi:\(ChatName.text(of: chat))") }

    func read(_ settings: AgentSettings) -> AgentReading {
        let now = machineSettings(settings)
        return AgentReading(secrets: Self.secrets(settings)) { host in
            host.carry(OppiMachine(now)) { self.settings.withLock { self.machineSettings($0) } }
        }
    }

    func use(_ settings: AgentSettings) { self.settings.withLock { $0 = settings } }

    func examine() -> AgentReading {
        let settings = self.settings.withLock { $0 }
        let (now, connection) = (machineSettings(settings), context.connection.text)
        return AgentReading(secrets: Self.secrets(settings)) { host in
            host.carry(OppiMachine(now, checkOf: connection))
        }
    }

    private static func values(_ settings: AgentSettings) -> OppiValues {
        settings.values as? OppiValues ?? OppiValues()
    }

    private func machineSettings(_ settings: AgentSettings) -> OppiSettings {
        OppiSettings(
            Self.values(settings), isAddressSet: settings.keysSet.contains("url"), displayName: context.displayName)
    }

    private static func secrets(_ settings: AgentSettings) -> [Secret] {
        let values = values(settings)
        let invite = values.invite.flatMap { OppiInvite($0.text) }
        return [values.token, values.invite, invite?.token, invite?.pairingToken].compactMap(\.self)
    }
}
