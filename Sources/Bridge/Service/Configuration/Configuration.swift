package import AgentKit
package import BridgeCore
package import Sealing
package import Vocabulary

/// All that a user can set, with what holds when nothing is set.
///
/// A value comes from a flag, else from the environment, else from the file, else it is the one written here. Everything
/// is checked at once by `ConfigurationLoader`; a bridge never begins with a configuration that has a fault.
package struct Configuration: Hashable, Sendable {
    package var connections: [Connection] = []
    /// Where pairing keeps its token, and where the file is looked for; nil: there is no home either.
    package var configDirectory: String?
    /// Where the durable state lies.
    package var stateDirectory: String
    /// It may lie on a file system that does not keep the journal's promises.
    package var anyFileSystem = false
    /// Where frames and updates are recorded; nil: nowhere.
    package var recordDirectory: String?
    /// What this machine is called when it is paired; nil: its own name.
    package var hostLabel: String?
    /// The listener of metrics and health, `ADDRESS:PORT` or `unix:PATH`; nil if it is disabled.
    package var metrics: String?
    package var log = Log()
    package var onStop = OnStop.resume
    /// Hosts outside private networks that may be spoken to without encryption.
    package var allowPlain: [String] = []
    package var limits = Limits()
    package var notify = Notify()
    package var terminal = Terminal()

    package init(stateDirectory: String) { self.stateDirectory = stateDirectory }

    /// An installation token and an agent.
    package struct Connection: Hashable, Sendable {
        package static let usualName = ConnectionName("default")

        package var name = usualName
        package var relay = Relay()
        package var agent: AgentSettings
        package var encryption = Encryption.auto
        package var devices = DeviceBook.Trust.pin
        package var whenBusy = WhenBusy.wait
        package var mirror = Mirror.cron
        package var deletedChats = DeletedChats.new
        package var agentFiles = AgentFiles.auto
        package var messageFiles = MessageFiles.all
        package var routines = Routines.auto
        package var asks = Asks()
        /// Nil: its agent has no use for them, or none is known.
        package var workspaces: Workspaces?

        package init(agent: AgentSettings) { self.agent = agent }
    }

    package struct Relay: Hashable, Sendable {
        package var address = WebAddress(.https, "api.sophon.at")
        /// Nil: the one that pairing has saved.
        package var token: Secret?
        /// The certificates of a private authority; nil: the system's.
        package var authorityFile: String?
        package var http2 = false

        package init() {}
    }

    /// Whether the phone may have the files that the agent's tools touch. A loopback address may lead out of this machine's file system,
    /// into a container or through a tunnel: only a person knows.
    package enum AgentFiles: String, Hashable, Sendable, CaseIterable { case auto, off }

    /// Which of the runs that no phone message began are shown on the phone.
    package enum Mirror: String, Hashable, Sendable, CaseIterable { case all, cron, none }

    /// What becomes of the runs of a session whose chat the person has deleted: another chat, or none.
    package enum DeletedChats: String, Hashable, Sendable, CaseIterable { case new, mute }

    /// What the relay may do with the agent's scheduler, in the open: see `RoutinePolicy`.
    package enum Routines: String, Hashable, Sendable, CaseIterable { case auto, allow, off }

    /// What an agent asks a person to allow.
    package struct Asks: Hashable, Sendable {
        package var whenAsked = AskSettings.WhenAsked.refuse
        package var whenUnanswered = AskSettings.WhenUnanswered.hold
        /// Besides the built-in rules.
        package var severity: [SeverityMatch] = []

        package init() {}
    }

    /// What becomes of running turns when the bridge is stopped.
    package enum OnStop: String, Hashable, Sendable, CaseIterable { case resume, close }

    package struct Log: Hashable, Sendable {
        package enum Level: String, Hashable, Sendable, CaseIterable { case error, warning, info, debug }
        package enum Format: String, Hashable, Sendable, CaseIterable { case text, json }

        package var level = Level.info
        package var format = Format.text

        package init() {}
    }

    /// How the one who started the program is spoken to: from flags and the environment, never from the file.
    package struct Terminal: Hashable, Sendable {
        package var json = false
        package var color = true
        /// Pairing shows its code instead of opening a browser.
        package var manualPair = false

        package init() {}
    }

    package struct Limits: Hashable, Sendable {
        /// To one relay; eight of them are kept for the opens and ends of bubbles.
        package var relayConnections = 64
        /// For one whole call.
        package var relayCall = Duration.seconds(10)
        /// How long a stop waits for calls that are under way.
        package var stopFlush = Duration.seconds(5)
        /// The memory limit of all queues of all connections; at it reading from agents pauses until there is room.
        package var memoryMegabytes = 64
        package var memoryBytes: Int { memoryMegabytes << 20 }
        /// Children of all connections that may run at once.
        package var agents = 8
        /// The part of one connection of so many.
        package func memory(of connections: Int) -> Int { memoryBytes / max(1, connections) }
        /// Of that, what its lanes may hold.
        package func heldBytes(of connections: Int) -> Int { memory(of: connections) / 4 }

        /// What is fetched of one file that comes with a message, and for how long.
        package var fileMegabytes = 25
        package var fileBytes: Int { fileMegabytes << 20 }
        package var fileTime = Duration.seconds(60)
        /// How long an ask is held open for a person.
        package var unanswered = Duration.seconds(12 * 3_600)
        /// How long nothing is heard of a run before its bubble says how it is; zero: never.
        package var quiet = Duration.seconds(5 * 60)
        /// How long before the chat says once that there is still nothing; zero: never.
        package var stuck = Duration.seconds(20 * 60)

        package init() {}
    }
}

extension Configuration {
    /// `home`: of the user that the bridge runs as.
    package func askSettings(of connection: Connection, home: String?) -> AskSettings {
        var settings = AskSettings()
        settings.whenAsked = connection.asks.whenAsked
        settings.whenUnanswered = connection.asks.whenUnanswered
        settings.patience = limits.unanswered
        settings.severity = connection.asks.severity
        settings.home = home
        settings.ownFolders = [configDirectory, stateDirectory].compactMap(\.self)
        return settings
    }
}

extension Configuration.Limits {
    /// `TurnSettings.quiet` and `stuck`.
    package var silence: (quiet: Duration?, stuck: Duration?) {
        (quiet == .zero ? nil : quiet, stuck == .zero ? nil : stuck)
    }
}

extension AskSettings.WhenUnanswered: CaseIterable {
    package static var allCases: [Self] { [.hold, .deny] }
}
