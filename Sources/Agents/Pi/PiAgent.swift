import AgentKit
import ConversationEngine
import Locking
import Vocabulary

/// The pi of one connection. It reads no files of its own; the configured variables of its processes may be secrets.
final class PiAgent: LiveAgent {
    private let context: AgentContext
    private let settings: Locked<AgentSettings>

    init(_ settings: AgentSettings, in context: AgentContext) {
        self.context = context
        self.settings = Locked(settings)
    }

    /// pi gets one answer for each dialog, and remembers no decision.
    var abilities: GrantAbilities { GrantAbilities(session: false, permanent: false) }
    var choosesModels: Bool { true }
    var steersWords: Bool { true }
    func session(of chat: SessionID) -> AgentSession { AgentSession("pi:\(ChatName.text(of: chat))") }

    func read(_ settings: AgentSettings) -> AgentReading {
        let now = Self.machineSettings(settings)
        let secrets = (settings.values as? PiValues)?.environment.values.map { Secret($0) } ?? []
        return AgentReading(secrets: secrets) { host in
            host.carry(PiMachine(now)) { self.settings.withLock { Self.machineSettings($0) } }
        }
    }

    func use(_ settings: AgentSettings) { self.settings.withLock { $0 = settings } }

    func examine() -> AgentReading {
        let settings = settings.withLock { Self.machineSettings($0) }
        let connection = context.connection.text
        return AgentReading { host in host.carry(PiMachine(settings, checkOf: connection)) }
    }

    private static func machineSettings(_ settings: AgentSettings) -> PiSettings {
        let values = settings.values as? PiValues ?? PiValues(command: ["pi", "--mode", "rpc"])
        return PiSettings(
            command: values.command, folder: values.folder ?? ".",
            environment: ChildEnvironment(dropping: settings.withheld, adding: values.environment))
    }
}
