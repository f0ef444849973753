package import Vocabulary

/// Facts about the program that a connection's agent may use.
package struct AgentContext: Sendable {
    package var connection: ConnectionName
    package var environment: [String: String]
    /// Folder for secrets of the connection's agent, or nil without one.
    package var configDirectory: String?
    /// Folder for the socket and log of an agent's server, or nil without one.
    package var stateDirectory: String?
    /// Name of this machine for the agent.
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

/// The agent of one connection, for `run`, a reload and `doctor`.
package protocol LiveAgent: Sendable {
    /// Grants that a decision can make.
    var abilities: GrantAbilities { get }
    /// Agent and bridge share a file system, so the file viewer may serve the paths of tools.
    var sharesFiles: Bool { get }
    /// The agent runs a prompt once by its key, whichever bridge sends it. Without a key a prompt waits until the relay has said
    /// which bridge has its message (`Claim`).
    var promptHasKey: Bool { get }
    /// Words instead of a yes go into the run that asked (`UserMessage.steers`).
    var steersWords: Bool { get }
    /// The agent begins runs of its own in a chat, which shows them: background work, schedules.
    var hasRunsOfItsOwn: Bool { get }
    /// The agent sets a message's model before the prompt (`UserMessage.choice`).
    var choosesModels: Bool { get }
    /// Log of a server that outlives the bridge and appends to it while it runs, or nil without such a server.
    var serverLog: String? { get }
    /// Agent session for a chat of the phone.
    func session(of chat: SessionID) -> AgentSession

    /// Reads the files that the agent and the bridge keep, for these settings. They come into force only by `use`.
    func read(_ settings: AgentSettings) throws -> AgentReading
    /// Brings these settings into force.
    func use(_ settings: AgentSettings)

    /// `doctor` calls this instead of `read`: it makes nothing, and a fault is a finding.
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

/// Contents of the files, and the machine made from them.
package struct AgentReading: Sendable {
    /// Faults that people should know, such as an unreadable file.
    package var warnings: [String]
    /// Secrets that no output may show.
    package var secrets: [Secret]
    /// Events of this agent alone, for programs that read the log.
    package var milestones: [Milestone]
    /// Gives the machine to the host: `{ host in host.carry(machine) }`.
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
