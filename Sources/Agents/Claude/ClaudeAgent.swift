import AgentKit
import ConversationEngine
import Locking
import Vocabulary

/// The Claude Code of one connection. It reads no files of its own; the configured variables of its processes may be secrets.
final class ClaudeAgent: LiveAgent {
    private let context: AgentContext
    private let settings: Locked<AgentSettings>

    init(_ settings: AgentSettings, in context: AgentContext) {
        self.context = context
        self.settings = Locked(settings)
    }

    /// An "always" is a rule of the process.
    var abilities: GrantAbilities { GrantAbilities(session: true, permanent: false) }
    var choosesModels: Bool { true }
    /// The words of a refusal go with the denial.
    var steersWords: Bool { true }
    var hasRunsOfItsOwn: Bool { true }
    func session(of chat: SessionID) -> AgentSession { AgentSession("claude:\(ChatName.text(of: chat))") }

    func read(_ settings: AgentSettings) -> AgentReading {
        let environment = context.environment
        let now = Self.machineSettings(settings, environment)
        let secrets = (settings.values as? ClaudeValues)?.environment.values.map { Secret($0) } ?? []
        return AgentReading(secrets: secrets) { host in
            host.carry(ConversationMachine<ClaudeDialect>(now)) {
                self.settings.withLock { Self.machineSettings($0, environment) }
            }
        }
    }

    func use(_ settings: AgentSettings) { self.settings.withLock { $0 = settings } }

    func examine() -> AgentReading {
        let settings = settings.withLock { Self.machineSettings($0, context.environment) }
        let connection = context.connection.text
        return AgentReading { host in
            host.carry(ConversationMachine<ClaudeDialect>(settings, checkOf: connection))
        }
    }

    private static func machineSettings(
        _ settings: AgentSettings, _ environment: [String: String]
    ) -> ClaudeSettings {
        ClaudeSettings(
            settings.values as? ClaudeValues ?? ClaudeValues(), environment: environment,
            withheld: settings.withheld)
    }
}
