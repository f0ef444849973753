import AgentHosting
import AgentKit
import AgentWork
import Agents
import Attachments
import BridgeCore
import BridgeService
import Children
import Commands
import Crypto
import Files
import Journal
import Links
import Locking
import Recording
import RelayProtocol
import Transport
import Vocabulary

/// Makes the edges of each connection: sockets, HTTP, clock, alarms, the journal, and the contents of files.
final class RunEdges {
    /// The configuration in force.
    private(set) var loaded: LoadedConfiguration
    private let output: Output
    private let log: Log
    private let clock: any Clock
    private let scaled: ScaledClock?
    private var clients: [CurlClient] = []
    private var writers: [KeyWriter] = []
    private let spool: FileSpool
    private var fetchers: [AttachmentFetcher] = []
    private var shown: [LocalFiles] = []
    private var agents: [ConnectionName: any LiveAgent] = [:]
    private let journal: Journal
    private let places: ChildPlaces
    private let notices: SystemNotices
    /// Sink of metrics, or nil if the endpoint is disabled.
    private let meter: Meter?
    /// Why the journal cannot shrink, and what to do, or nil if it can.
    var journalRemedy: String? { journal.remedy }

    init(_ loaded: LoadedConfiguration, output: Output, log: Log, scale: Int, meter: Meter? = nil) throws {
        self.loaded = loaded
        self.meter = meter
        self.output = output
        self.log = log
        scaled = scale > 1 ? ScaledClock(scale: scale) : nil
        let clock: any Clock = scaled ?? SystemClock()
        self.clock = clock
        notices = SystemNotices(children: SystemChildren(), scale: scale)
        places = ChildPlaces(limit: loaded.configuration.limits.agents)
        var committed: (@Sendable (Duration) -> Void)?
        if let meter { committed = { meter.committed(in: $0) } }
        do {
            journal = try Journal.open(
                directory: loaded.configuration.stateDirectory, wall: { clock.wallMilliseconds }, committed: committed)
        } catch {
            throw CommandFailure(code: .unexpected, message: error.message)
        }
        spool = FileSpool(loaded.configuration.stateDirectory + "/files")
        do {
            try spool.open()
        } catch {
            log.warning("files of messages cannot be fetched", [("reason", .text(error.message))])
        }
        if let remedy = journal.remedy { log.warning("the journal keeps its size", [("remedy", .text(remedy))]) }
    }

    func close() {
        journal.close()
        for client in clients { client.close() }
        notices.close()
        for writer in writers { writer.stop() }
        for fetcher in fetchers { fetcher.stop() }
    }

    /// A connection without a token is reported, and waits for one beside the others; if none has one, the program ends.
    func connections(_ tell: @escaping @Sendable (LiveEvent) -> Void) throws -> [LiveConnection] {
        let configured = loaded.configuration.connections
        let tokens = configured.map { connection in
            Result { try relayToken(of: connection, in: loaded) }
        }
        if let first = tokens.first, tokens.allSatisfy({ (try? $0.get()) == nil }) { _ = try first.get() }
        return try zip(configured, tokens).map { connection, token in
            LiveConnection(try parts(of: connection, token, tell), tell: tell)
        }
    }

    /// The agent of a connection, or nil before its parts are made.
    func agent(of name: ConnectionName) -> (any LiveAgent)? { agents[name] }

    /// Called every few seconds: a server may run for months, and the log of a troubled one would fill the disk.
    func boundLogs() {
        for log in agents.values.compactMap(\.serverLog) { LogBound.keep(log) }
    }

    /// Applies another configuration.
    func use(_ loaded: LoadedConfiguration) {
        self.loaded = loaded
        let limits = loaded.configuration.limits
        places.use(limit: limits.agents)
        for client in clients { client.use(maximumConnections: limits.relayConnections) }
        for files in shown { files.hide(loaded.ownFiles) }
        for fetcher in fetchers { fetcher.use(fileLimit: limits.fileBytes, timeLimit: limits.fileTime) }
    }

    private func parts(
        of connection: Configuration.Connection, _ known: Result<Secret, any Error>,
        _ tell: @escaping @Sendable (LiveEvent) -> Void
    ) throws -> LiveConnection.Parts {
        let token = (try? known.get()) ?? Secret("")
        log.cover(token)
        let recorder = try recorder(of: connection)
        let isSealed = Locked(false)
        var settings = BridgeSettings()
        let agent = try agent(of: connection)
        settings.turn.abilities = agent.abilities
        settings.turn.hasOtherClients = !agent.hasRunsOfItsOwn
        settings.turn.promptHasKey = agent.promptHasKey
        settings.turn.steersWords = agent.steersWords
        settings.choosesModels = agent.choosesModels
        settings.whenBusy = connection.whenBusy
        settings.turn.files = connection.messageFiles
        settings.turn.asks = loaded.asks(of: connection)
        settings.words.agent = AgentRegistry.all[kind: connection.agent.kind]?.name ?? settings.words.agent
        settings.words.version = HelpText.version
        settings.words.workspaces = connection.workspaces
        let limits = loaded.configuration.limits
        (settings.turn.quiet, settings.turn.stuck) = limits.silence
        settings.delivery.connections = limits.relayConnections
        // Lanes cut the payloads of cards above a quarter of this connection's share; the rest is for what is never cut.
        let connections = loaded.configuration.connections.count
        settings.delivery.heldBytes = limits.heldBytes(of: connections)
        var http = CurlClient.Settings()
        http.maximumConnections = limits.relayConnections
        http.authorityFile = connection.relay.authorityFile
        http.http2 = connection.relay.http2
        let client = CurlClient(settings: http)
        clients.append(client)
        let journal = journal.connection(connection.name)
        var parts = LiveConnection.Parts(
            name: connection.name, bridge: settings,
            relay: RelayLinkSettings(relay: connection.relay.address, token: token),
            relayAddress: RelayAddress(baseURL: connection.relay.address.description, token: token.text),
            runner: BridgeRunner.Edges(
                http: meter.map { MeteredClient(client, $0, of: connection.name) } ?? client, clock: clock,
                alarm: try alarm(), random: SystemRandom(), journal: journal,
                callLimit: limits.relayCall),
            relayLink: try linkEdges(connection.relay.authorityFile, recorder?.relay), journal: journal,
            agentSession: { agent.session(of: $0) },
            agent: try link(
                to: agent, of: connection, journal, recorder, isSealed: { isSealed.withLock { $0 } }, tell)
        )
        let files = connection.agentFiles == .off ? nil : LocalFiles(of: agent, in: loaded)
        if let files { shown.append(files) }
        parts.files = FileParts(
            fetcher: fetcher(of: connection),
            viewer: try files.map { FileViewer.Parts(files: $0, alarm: try alarm()) })
        parts.runner.meter = meter
        parts.runner.folders = SystemFolders(WorkspaceFolders(of: loaded.configuration))
        parts.statePlace = LiveConnection.StatePlace(
            StatePlace.name(of: loaded.configuration.stateDirectory), start: StatePlace.start, random: SystemRandom())
        parts.mirror = connection.mirror
        parts.hasRunsOfItsOwn = agent.hasRunsOfItsOwn
        parts.memoryLimit = limits.memory(of: connections)
        if case .failure(let error) = known { parts.missingToken = "\(error)" }
        parts.deletedChats = connection.deletedChats
        parts.notices = notices(of: connection)
        parts.keys = try keys(of: connection, try? known.get(), tell)
        parts.keys?.hasSecrets = {
            isSealed.withLock { $0 = true }
            recorder?.coverWords()
        }
        return parts
    }

    private func notices(of connection: Configuration.Connection) -> LiveNotices.Parts {
        if let token = loaded.configuration.notify.token { log.cover(token) }
        let scaled = scaled
        var parts = LiveNotices.Parts { if let scaled { try ScaledAlarm(scaled) } else { try SystemAlarm() } }
        parts.settings = loaded.configuration.notify.settings
        parts.recipient = loaded.configuration.notify.recipient
        parts.agent = connection.agent.kind.rawValue
        parts.host = loaded.configuration.hostLabel ?? MachineName.own ?? ""
        parts.port = notices
        return parts
    }

    private func fetcher(of connection: Configuration.Connection) -> AttachmentFetcher {
        var settings = FetchSettings(relay: connection.relay.address)
        settings.authorityFile = connection.relay.authorityFile
        settings.fileLimit = loaded.configuration.limits.fileBytes
        settings.timeLimit = loaded.configuration.limits.fileTime
        let fetcher = AttachmentFetcher(into: spool, settings)
        fetchers.append(fetcher)
        return fetcher
    }

    /// Opens the connection's keys. A file that cannot be read ends the start: without it a chat would be answered under no key.
    private func keys(
        of connection: Configuration.Connection, _ token: Secret?, _ tell: @escaping @Sendable (LiveEvent) -> Void
    ) throws -> LiveKeys.Parts {
        let (name, clock) = (connection.name, clock)
        let library = try OpenSSLSealing()
        let files = KeyFiles(name, in: loaded.configuration)
        let opened = try files.open(
            for: connection, token: token, library: library, random: library,
            wallMilliseconds: clock.wallMilliseconds)
        log.cover(opened.deviceSecret)
        for warning in opened.warnings { log.warning("keys", [("remedy", .text(warning))]) }
        if let copies = opened.copies {
            log.warning("keys", [("reason", .text(copies.words)), ("remedy", .text(copies.remedy))])
        }
        let writer = try KeyWriter(files, clock: clock) { tell(.keyFiles(name, $0)) }
        writers.append(writer)
        var keys = LiveKeys.Parts(
            ring: opened.ring, library: library, secrets: library, alarm: try alarm(),
            save: { writer.save($0, done: $1) })
        keys.encryption = connection.encryption
        keys.routines = connection.routines
        keys.label = loaded.configuration.hostLabel ?? MachineName.own
        return keys
    }

    /// Device key and time that pairing left for a token that comes while the bridge runs.
    func pairing(
        of connection: Configuration.Connection, _ token: Secret, in loaded: LoadedConfiguration
    ) throws -> (device: SecretKey?, pairedAt: Int64?) {
        let found = KeyFiles(connection.name, in: loaded.configuration).pairing(connection, token)
        guard let hex = found?.credentials.bridgeSecret?.text else { return (nil, found?.savedAt) }
        log.cover(Secret(hex))
        guard let secret = SecretKey(hex: hex) else {
            throw CommandFailure(
                code: .usage, message: "the credentials of \(connection.name) are damaged; run: sophon-bridge pair")
        }
        return (secret, found?.savedAt)
    }

    private func alarm() throws(ThreadFault) -> any Alarm {
        if let scaled { try ScaledAlarm(scaled) } else { try SystemAlarm() }
    }

    private func linkEdges(
        _ authorityFile: String?, _ record: (@Sendable (Bool, [UInt8]) -> Void)?
    ) throws(ThreadFault) -> LinkEdges {
        var edges = LinkEdges(
            sockets: CurlWebSocketClient(), clock: clock, alarm: try alarm(), random: SystemRandom(),
            authorityFile: authorityFile)
        edges.record = record
        return edges
    }

    private func recorder(of connection: Configuration.Connection) throws -> Recorder? {
        guard let directory = loaded.configuration.recordDirectory else { return nil }
        let (log, name) = (log, connection.name)
        let recorder = try Recorder(
            directory: directory, connection: name, agent: connection.agent.kind, clock: clock,
            hiding: output.secrets
        ) { failure in
            log.error(
                "the recording has ended",
                [
                    ("connection", .text(name.text)), ("reason", .text("\(failure)")),
                    ("remedy", .text("make room in \(directory) and start the bridge again; it works on without it")),
                ])
        }
        output.say("recording to \(recorder.file)")
        return recorder
    }

    func relayToken(of connection: Configuration.Connection, in loaded: LoadedConfiguration) throws -> Secret {
        if let token = connection.relay.token { return token }
        if let directory = loaded.configuration.configDirectory {
            let store = CredentialStore(directory: directory)
            if let found = try store.load(connection.name, for: connection.relay.address) {
                if let warning = found.warning { log.warning("credentials", [("remedy", .text(warning))]) }
                return found.credentials.token
            }
        }
        throw CommandFailure(
            code: .tokenRefused,
            message: "connection \(connection.name) has no token for \(connection.relay.address); "
                + "run: sophon-bridge pair, or set SOPHON_BOT_TOKEN")
    }

    // MARK: The agent

    private func agent(of connection: Configuration.Connection) throws -> any LiveAgent {
        let name = connection.name
        guard let agent = AgentRegistry.all.live(connection, in: loaded.configuration, clock: clock) else {
            throw CommandFailure(
                code: .usage,
                message: "this version runs \(AgentRegistry.all.liveNames) alone; set the agent of \(name) to "
                    + AgentRegistry.all.plugins[0].kind.rawValue)
        }
        agents[name] = agent
        return agent
    }

    private func link(
        to agent: any LiveAgent, of connection: Configuration.Connection, _ journal: any TurnJournal,
        _ recorder: Recorder?, isSealed: @escaping @Sendable () -> Bool,
        _ tell: @escaping @Sendable (LiveEvent) -> Void
    ) throws -> @Sendable (@escaping @Sendable (AgentLinkEvent) -> Void) -> any AgentLink {
        let name = connection.name
        let reading = try agent.read(connection.agent)
        for warning in reading.warnings { tell(.remedy(name, .agent, warning)) }
        for milestone in reading.milestones {
            let fields = milestone.fields.map { ($0, JSONText.string($1)) }
            output.event(milestone.name, [("connection", .string(name.text))] + fields)
        }
        let log = log
        for secret in reading.secrets { log.cover(secret) }
        var edges = AgentEdges.system(
            of: connection, in: loaded.configuration, journal: journal, clock: clock, alarm: try alarm(),
            places: places, redact: { log.covered($0.withoutSecrets) }, record: recorder?.agent)
        edges.isSealed = isSealed
        return { [edges] in reading.open(ConnectionHost(edges, AgentOutlets(tell: $0, cover: { log.cover($0) }))) }
    }
}
