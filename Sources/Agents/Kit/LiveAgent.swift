package import Vocabulary

/// What a connection's agent may know of the program that it serves.
package struct AgentContext: Sendable {
    package var connection: ConnectionName
    package var environment: [String: String]
    /// Where secrets of this connection's agent are kept; nil: there is no place.
    package var configDirectory: String?
    /// Where a server of the agent's may have its socket and its log; nil: there is no place.
    package var stateDirectory: String?
    /// What the agent calls this machine.
    package var displayName: String
    package var version: String
    package var clock: any Clock

    package init(
        connection: ConnectionName, environment: [String: String], configDirectory: String?,
        stateDirectory: String? = nil, displayName: String, version: String, clock: any Clock
    ) {
        self.connection = connection
        self.environment = environment
        self.configDirectory = configDirectory
        self.stateDirectory = stateDirectory
        self.displayName = displayName
        self.version = version
        self.clock = clock
    }
}

/// The agent of one connection: what `run`, a reload and `doctor` need of it.
package protocol LiveAgent: Sendable {
    /// What a decision may grant.
    var abilities: GrantAbilities { get }
    /// The agent has the same file system as the bridge, so the file viewer may serve the paths that its tools name.
    var sharesFiles: Bool { get }
    /// A prompt has a key by which the agent runs it once, whichever bridge sends it. Without one a prompt waits until the relay has said
    /// which bridge has its message (`Claim`).
    var promptHasKey: Bool { get }
    /// What a person says instead of a yes goes into the run that asked (`UserMessage.steers`).
    var steersWords: Bool { get }
    /// A chat's agent begins runs of its own (background work, schedules), and they belong into the chat.
    var hasRunsOfItsOwn: Bool { get }
    /// The model that a message names is set before the message is handed over (`UserMessage.choice`).
    var choosesModels: Bool { get }
    /// A server that outlives the bridge appends to it for as long as it runs; nil: there is none.
    var serverLog: String? { get }
    /// The agent's session that answers in a chat of the phone's.
    func session(of chat: SessionID) -> AgentSession

    /// Looks into the files that the agent and the bridge keep. These settings would be used; nothing is in force before `use`.
    func read(_ settings: AgentSettings) throws -> AgentReading
    /// From now on, what these settings say.
    func use(_ settings: AgentSettings)

    /// For `doctor`: as `read`, but nothing is made; what is wrong is a finding.
    func examine() -> AgentReading
}

extension LiveAgent {
    package var sharesFiles: Bool { true }
    package var choosesModels: Bool { false }
    package var promptHasKey: Bool { false }
    package var steersWords: Bool { false }
    package var hasRunsOfItsOwn: Bool { false }
    package var serverLog: String? { nil }
}

/// What the files said, and the machine that is made of it.
package struct AgentReading: Sendable {
    /// What people should know: a file that could not be read, and the like.
    package var warnings: [String]
    /// What no output may show.
    package var secrets: [Secret]
    /// Events of this agent's own, for programs that read along.
    package var milestones: [Milestone]
    /// Gives its machine to the host: `{ host in host.carry(machine) }`.
    package var open: @Sendable (any AgentHost) -> any AgentLink

    package struct Milestone: Sendable {
        package var name: String
        package var fields: [(String, String)]

        package init(_ name: String, _ fields: [(String, String)]) {
            self.name = name
            self.fields = fields
        }
    }

    package init(
        warnings: [String] = [], secrets: [Secret] = [], milestones: [Milestone] = [],
        open: @escaping @Sendable (any AgentHost) -> any AgentLink
    ) {
        self.warnings = warnings
        self.secrets = secrets
        self.milestones = milestones
        self.open = open
    }
}

/// Why a configured agent cannot be used.
package struct AgentFault: Error, CustomStringConvertible {
    package var message: String
    package var exitCode: ExitCode

    package init(_ message: String, exitCode: ExitCode) {
        self.message = message
        self.exitCode = exitCode
    }

    package var description: String { message }
}
