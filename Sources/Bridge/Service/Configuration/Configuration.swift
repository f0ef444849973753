package import AgentKit
package import BridgeCore
package import Sealing
package import Vocabulary

/// Everything that a user can set, with the defaults.
///
/// A value comes from a flag, else from the environment, else from the file, else it is the default here. `ConfigurationLoader` checks everything
/// at once; a bridge never starts with a faulty configuration.
package struct Configuration: Hashable, Sendable {
    package var connections: [Connection] = []
    /// Folder of the paired token and of the configuration file, or nil without a home directory.
    package var configDirectory: String?
    /// Folder of the durable state.
    package var stateDirectory: String
    /// Allows a state directory on a file system that does not keep the journal's promises.
    package var anyFileSystem = false
    /// Folder for recordings of frames and updates, or nil if recording is disabled.
    package var recordDirectory: String?
    /// Name of this machine in pairing, or nil for its own name.
    package var hostLabel: String?
    /// Listener of metrics and health, `ADDRESS:PORT` or `unix:PATH`, or nil if it is disabled.
    package var metrics: String?
    package var log = Log()
    package var onStop = OnStop.resume
    /// Hosts outside private networks that the bridge may reach without encryption.
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
        /// Folders for the agent's chats, or nil if the agent uses none or none is known.
        package var workspaces: Workspaces?

        package init(agent: AgentSettings) { self.agent = agent }
    }

    package struct Relay: Hashable, Sendable {
        package var address = WebAddress(.https, "api.sophon.at")
        /// Token of the installation, or nil for the one that pairing saved.
        package var token: Secret?
        /// Certificates of a private authority, or nil for the system's.
        package var authorityFile: String?
        package var http2 = false

        package init() {}
    }

    /// Whether the phone may read files that the agent's tools touch. A loopback address may lead out of this machine's file system, into a
    /// container or
    /// through a tunnel: only a person knows.
    package enum AgentFiles: String, Hashable, Sendable, CaseIterable { case auto, off }

    /// Runs without a phone message that are shown on the phone.
    package enum Mirror: String, Hashable, Sendable, CaseIterable { case all, cron, none }

    /// Later runs of a session whose chat the person deleted: shown in another chat, or not at all.
    package enum DeletedChats: String, Hashable, Sendable, CaseIterable { case new, mute }

    /// Which requests for the agent's scheduler the relay may make, unencrypted: see `RoutinePolicy`.
    package enum Routines: String, Hashable, Sendable, CaseIterable { case auto, allow, off }

    /// Treatment of an agent's requests for permission.
    package struct Asks: Hashable, Sendable {
        package var whenAsked = AskSettings.WhenAsked.refuse
        package var whenUnanswered = AskSettings.WhenUnanswered.hold
        /// Rules beside the built-in ones.
        package var severity: [SeverityMatch] = []

        package init() {}
    }

    /// Treatment of running turns when the bridge stops.
    package enum OnStop: String, Hashable, Sendable, CaseIterable { case resume, close }

    package struct Log: Hashable, Sendable {
        package enum Level: String, Hashable, Sendable, CaseIterable { case error, warning, info, debug }
        package enum Format: String, Hashable, Sendable, CaseIterable { case text, json }

        package var level = Level.info
        package var format = Format.text

        package init() {}
    }

    /// Output to the person at the terminal: set by flags and the environment, never by the file.
    package struct Terminal: Hashable, Sendable {
        package var json = false
        package var color = true
        /// Pairing shows its code instead of opening a browser.
        package var manualPair = false

        package init() {}
    }

    package struct Limits: Hashable, Sendable {
        /// Connections to one relay; eight of them are reserved for the opens and ends of bubbles.
        package var relayConnections = 64
        /// Timeout of one whole call.
        package var relayCall = Duration.seconds(10)
        /// How long a stop waits for calls that are under way.
        package var stopFlush = Duration.seconds(5)
        /// Memory limit of all queues of all connections. Reading from agents pauses at the limit until there is room.
        package var memoryMegabytes = 64
        package var memoryBytes: Int { memoryMegabytes << 20 }
        /// Children of all connections that may run at once.
        package var agents = 8
        /// Share of one out of `connections` connections.
        package func memory(of connections: Int) -> Int { memoryBytes / max(1, connections) }
        /// Part of that share for the connection's lanes.
        package func heldBytes(of connections: Int) -> Int { memory(of: connections) / 4 }

        /// Limits of one file that comes with a message: its size, and the time to fetch it.
        package var fileMegabytes = 25
        package var fileBytes: Int { fileMegabytes << 20 }
        package var fileTime = Duration.seconds(60)
        /// How long an ask stays open for a person.
        package var unanswered = Duration.seconds(12 * 3_600)
        /// Silence of a run after which its bubble says how it is, or zero for never.
        package var quiet = Duration.seconds(5 * 60)
        /// Silence of a run after which the chat says once that there is still nothing, or zero for never.
        package var stuck = Duration.seconds(20 * 60)

        package init() {}
    }
}

extension Configuration {
    /// Settings of a connection's asks; `home` is the home directory of the bridge's user.
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
    /// Values of `TurnSettings.quiet` and `stuck`, where nil means never.
    package var silence: (quiet: Duration?, stuck: Duration?) {
        (quiet == .zero ? nil : quiet, stuck == .zero ? nil : stuck)
    }
}

extension AskSettings.WhenUnanswered: CaseIterable {
    package static var allCases: [Self] { [.hold, .deny] }
}
