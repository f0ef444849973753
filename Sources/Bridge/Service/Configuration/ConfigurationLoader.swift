package import AgentKit
import BridgeCore
package import ConfigurationFile
import Vocabulary

/// A configuration without a fault, and where each value of it came from.
package struct LoadedConfiguration: Sendable {
    package var configuration: Configuration
    package var settings: [SettingInForce]
    /// Variables that set a value, by its path.
    package var variables: [String: [String]] = [:]
    /// Variables of the environment whose names nearly match one of the bridge's.
    package var strayVariables: [(name: String, near: String)] = []
}

/// The one place that merges the sources and names every key of the file.
package struct ConfigurationLoader {
    private static let connectionLimit = 64
    private let sources: ConfigurationSources
    private let agents: AgentRegistry
    private var reader: ConfigurationReader
    private let certificates: ValueForm<String>
    private let directory: ValueForm<String>
    private var allowPlain: [String] = []

    private init(_ sources: ConfigurationSources, _ agents: AgentRegistry) {
        self.sources = sources
        self.agents = agents
        reader = ConfigurationReader(sources)
        certificates = .readableFile(home: sources.environment["HOME"])
        directory = .path("the path of a directory, from / or ~", home: sources.environment["HOME"])
    }

    package static func load(
        _ sources: ConfigurationSources, agents: AgentRegistry
    ) throws(ConfigurationError) -> LoadedConfiguration {
        var loader = ConfigurationLoader(sources, agents)
        let root = try loader.parsedFile()
        let configuration = loader.configuration(root)
        guard loader.reader.faults.isEmpty else { throw ConfigurationError(faults: loader.reader.faults) }
        return LoadedConfiguration(
            configuration: configuration, settings: loader.reader.settings, variables: loader.reader.variables,
            strayVariables: loader.strayVariables(root))
    }

    private func parsedFile() throws(ConfigurationError) -> ConfigurationValue? {
        guard let file = sources.file else { return nil }
        do { return try ConfigurationParser.parse(file.bytes) } catch {
            if file.bytes.allSatisfy({ [0x20, 0x09, 0x0A, 0x0D].contains($0) }) {
                throw ConfigurationError(faults: [
                    ConfigurationFault(
                        path: "", found: "\(file.name) is empty", expected: "an object in braces",
                        remedy: "write one with: sophon-bridge config example > \(file.name)")
                ])
            }
            throw ConfigurationError(faults: [
                ConfigurationFault(
                    path: "", found: "\(file.name) is not valid JSON: found \(error.found)", expected: error.expected,
                    remedy: "look at line \(error.line), column \(error.column) of \(file.name)")
            ])
        }
    }

    private mutating func configuration(_ root: ConfigurationValue?) -> Configuration {
        let top = reader.section(
            root, at: "",
            keys: [
                "connections", "workspaces", "default_workspace", "state_dir", "any_filesystem", "record_dir",
                "host_label", "metrics", "log", "on_stop",
                "allow_plain", "limits", "notify",
            ])
        var result = Configuration(stateDirectory: stateDirectory(top))
        result.configDirectory = configDirectory()
        result.anyFileSystem = reader.value(
            "any_filesystem", of: top, as: .switchWord, environment: ["SOPHON_ANY_FILESYSTEM"],
            else: result.anyFileSystem)
        result.recordDirectory = reader.optional("record_dir", of: top, as: directory)
        result.terminal = terminal()
        result.hostLabel = reader.optional(
            "host_label", of: top, as: .label, environment: ["SOPHON_HOST_LABEL"])
        result.metrics = reader.optional(
            "metrics", of: top, as: .listenAddress(home: sources.environment["HOME"]),
            environment: ["SOPHON_METRICS"])
        result.onStop = reader.value("on_stop", of: top, as: .choice, else: result.onStop)
        result.log = log(top)
        result.limits = limits(top)
        allowPlain = reader.value(
            "allow_plain", of: top,
            as: .words(atMost: 64, "a list of at most 64 host names", mayBeEmpty: true), else: []
        ).map { $0.lowercased() }
        result.allowPlain = allowPlain
        result.notify = NotifyReading().notify(top, plain: allowPlain, &reader)
        result.connections = connections(top["connections"])
        giveWorkspaces(to: &result, top)
        let withheld = Set(reader.settings.compactMap(\.privateVariable) + agents.plugins.flatMap(\.secretVariables))
        for index in result.connections.indices { result.connections[index].agent.withheld = withheld.sorted() }
        result.notify.withheld = withheld.sorted()
        return result
    }

    private mutating func giveWorkspaces(to result: inout Configuration, _ top: ConfigurationSection) {
        let reading = WorkspacesReading(sources, directory: directory, result)
        let users = result.connections.indices.filter {
            agents[kind: result.connections[$0].agent.kind]?.usesWorkspaces ?? false
        }
        var folders: [Int: String] = [:]
        for index in users {
            let agent = result.connections[index].agent
            folders[index] = agents[kind: agent.kind]?.folder(agent.values)
        }
        let shared = reading.workspaces(top, isUsed: folders.count < users.count, &reader)
        for index in users {
            guard let folder = folders[index] else {
                result.connections[index].workspaces = shared
                continue
            }
            result.connections[index].workspaces = reading.own(
                folder, at: "connections[\(index)].agent.directory", besides: top["workspaces"] != nil, &reader)
        }
    }

    private mutating func stateDirectory(_ top: ConfigurationSection) -> String {
        // The XDG base directory specification: "all paths must be absolute", others are to be ignored.
        let states = sources.environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let usual = states ?? home(".local/state")
        let path = reader.value(
            "state_dir", of: top, as: directory, environment: ["SOPHON_STATE_DIR"],
            else: usual.map { $0 + "/sophon" } ?? "",
            from: states == nil ? .fallback : .environment("XDG_STATE_HOME"))
        if path.isEmpty, reader.faults.allSatisfy({ $0.path != "state_dir" }) {
            reader.complain(
                "state_dir", found: "not set, and neither is HOME", expected: "the path of a directory",
                origin: .fallback, also: "set SOPHON_STATE_DIR")
        }
        return path
    }

    private func home(_ path: String) -> String? { sources.environment["HOME"].map { $0 + "/" + path } }

    private func strayVariables(_ root: ConfigurationValue?) -> [(name: String, near: String)] {
        let prefix = "SOPHON_"
        let read = Set(reader.variables.values.joined() + Self.tokenVariables + ["SOPHON_AGENT", "SOPHON_WORKSPACE"])
        let named = Set((root?.strings ?? []).compactMap(\.variableName))
        let names = read.filter { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }.sorted()
        return sources.environment.keys.sorted().compactMap { name in
            guard name.hasPrefix(prefix), !read.contains(name), !named.contains(name) else { return nil }
            return NearestName.to(String(name.dropFirst(prefix.count)), among: names).map { (name, prefix + $0) }
        }
    }

    // MARK: Settings outside the file

    private mutating func configDirectory() -> String? {
        reader.value(
            "config_dir", of: ConfigurationSection(path: ""), as: directory.optional,
            environment: ["SOPHON_CONFIG_DIR"], else: home(".config/sophon"))
    }

    private mutating func terminal() -> Configuration.Terminal {
        var terminal = Configuration.Terminal()
        let section = ConfigurationSection(path: "")
        terminal.json = reader.value(
            "json", of: section, as: .switchWord, environment: ["SOPHON_JSON"], else: terminal.json)
        terminal.color = !reader.value(
            "no_color", of: section, as: .presence, environment: ["NO_COLOR"], else: !terminal.color)
        terminal.manualPair = reader.value(
            "manual_pair", of: section, as: .switchWord, environment: ["SOPHON_MANUAL_PAIR"],
            else: terminal.manualPair)
        return terminal
    }

    // MARK: The rest of the file

    private mutating func log(_ top: ConfigurationSection) -> Configuration.Log {
        var log = Configuration.Log()
        let section = reader.section(top["log"], at: "log", keys: ["level", "format"])
        log.level = reader.value("level", of: section, as: .choice, else: log.level)
        log.format = reader.value("format", of: section, as: .choice, else: log.format)
        return log
    }

    private mutating func limits(_ top: ConfigurationSection) -> Configuration.Limits {
        var limits = Configuration.Limits()
        let section = reader.section(
            top["limits"], at: "limits",
            keys: [
                "relay_connections", "relay_call", "stop_flush", "memory_mb", "agents", "file_mb", "file_time",
                "unanswered", "quiet", "stuck",
            ])
        limits.relayConnections = reader.value(
            "relay_connections", of: section, as: .whole(16...256), else: limits.relayConnections)
        limits.relayCall = reader.value(
            "relay_call", of: section, as: .duration(.seconds(1)...(.seconds(60))), else: limits.relayCall)
        limits.stopFlush = reader.value(
            "stop_flush", of: section, as: .duration(.zero...(.seconds(60))), else: limits.stopFlush)
        limits.memoryMegabytes = reader.value(
            "memory_mb", of: section, as: .whole(4...4_096), else: limits.memoryMegabytes)
        limits.agents = reader.value("agents", of: section, as: .whole(1...256), else: limits.agents)
        limits.fileMegabytes = reader.value("file_mb", of: section, as: .whole(1...100), else: limits.fileMegabytes)
        limits.fileTime = reader.value(
            "file_time", of: section, as: .duration(.seconds(1)...(.seconds(90))), else: limits.fileTime)
        limits.unanswered = reader.value(
            "unanswered", of: section, as: .duration(.seconds(60)...(.seconds(24 * 3_600))), else: limits.unanswered)
        limits.quiet = reader.value(
            "quiet", of: section, as: .durationOrOff(.seconds(60)...(.seconds(24 * 3_600))), else: limits.quiet)
        limits.stuck = reader.value(
            "stuck", of: section, as: .durationOrOff(.seconds(300)...(.seconds(24 * 3_600))), else: limits.stuck)
        return limits
    }

    // MARK: Connections

    private mutating func connections(_ value: ConfigurationValue?) -> [Configuration.Connection] {
        guard let value else { return [connection(nil, 0, isOnly: true)] }
        guard case .list(let values) = value.content, (1...Self.connectionLimit).contains(values.count) else {
            let found =
                if case .list(let values) = value.content { "a list of \(values.count)" } else { value.content.shown }
            reader.complain(
                "connections", found: found, expected: "a list of 1 to \(Self.connectionLimit) connections",
                origin: reader.origin(value))
            return []
        }
        let connections = values.enumerated().map { connection($1, $0, isOnly: values.count == 1) }
        refuseRepeats(connections, values)
        if values.count > 1 { refuseAmbiguousVariables(connections, value) }
        return connections
    }

    private mutating func connection(
        _ value: ConfigurationValue?, _ index: Int, isOnly: Bool
    ) -> Configuration.Connection {
        let section = reader.section(
            value, at: "connections[\(index)]",
            keys: [
                "name", "relay", "agent", "encryption", "devices", "when_busy", "mirror", "deleted_job_chats",
                "agent_files", "routines",
                "message_files",
                "when_asked", "when_unanswered", "severity",
            ])
        let name = reader.value("name", of: section, as: .connectionName, else: Configuration.Connection.usualName.text)
        let relay = relay(section, isOnly: isOnly)
        var connection = Configuration.Connection(agent: agent(section, isOnly: isOnly))
        connection.name = ConnectionName(name)
        connection.relay = relay
        connection.encryption = reader.value("encryption", of: section, as: .choice, else: connection.encryption)
        connection.devices = reader.value("devices", of: section, as: .choice, else: connection.devices)
        connection.whenBusy = reader.value("when_busy", of: section, as: .choice, else: connection.whenBusy)
        connection.mirror = reader.value("mirror", of: section, as: .choice, else: connection.mirror)
        connection.deletedChats = reader.value(
            "deleted_job_chats", of: section, as: .choice, else: connection.deletedChats)
        connection.agentFiles = reader.value("agent_files", of: section, as: .choice, else: connection.agentFiles)
        connection.messageFiles = reader.value(
            "message_files", of: section, as: .choice, else: connection.messageFiles)
        connection.routines = reader.value("routines", of: section, as: .choice, else: connection.routines)
        connection.asks.whenAsked = reader.value(
            "when_asked", of: section, as: .choice, else: connection.asks.whenAsked)
        connection.asks.whenUnanswered = reader.value(
            "when_unanswered", of: section, as: .choice, else: connection.asks.whenUnanswered)
        connection.asks.severity = SeverityReading().rules("severity", of: section, &reader)
        return connection
    }

    private mutating func relay(_ connection: ConfigurationSection, isOnly: Bool) -> Configuration.Relay {
        var relay = Configuration.Relay()
        let section = reader.section(
            connection["relay"], at: connection.path(of: "relay"), keys: ["base_url", "token", "ca_file", "http2"])
        // The variable means one relay for all connections; a token belongs to one installation.
        relay.address = reader.value(
            "base_url", of: section, as: .address([.https, .http], plain: allowPlain),
            environment: ["SOPHON_BASE_URL"], else: relay.address)
        relay.token = reader.optional(
            "token", of: section, as: .token, environment: isOnly ? Self.tokenVariables : [])
        relay.authorityFile = reader.optional("ca_file", of: section, as: certificates)
        relay.http2 = reader.value("http2", of: section, as: .bool, else: relay.http2)
        return relay
    }

    private mutating func agent(_ connection: ConfigurationSection, isOnly: Bool) -> AgentSettings {
        var keys = ["kind"]
        for key in agents.plugins.flatMap(\.keys) where !keys.contains(key) { keys.append(key) }
        var section = reader.section(connection["agent"], at: connection.path(of: "agent"), keys: keys)
        let faults = reader.faults.count
        let plugin = plugin(section, isOnly: isOnly)
        // The other keys belong to the agent that was meant; read as another agent's, they would be reported as false faults.
        if reader.faults.count > faults { section.members = [] }
        var own = AgentSection(
            section, reader: reader, isOnly: isOnly, allowPlain: allowPlain, home: sources.environment["HOME"])
        let values = plugin.settings(&own)
        reader = own.reader
        for key in keys.dropFirst() where !plugin.keys.contains(key) {
            guard let value = section[key] else { continue }
            reader.complain(
                section.path(of: key), found: "set", expected: "nothing for the agent \(plugin.kind.rawValue)",
                origin: reader.origin(value))
        }
        return AgentSettings(plugin.kind, values, keysSet: own.keysSet)
    }

    private mutating func plugin(_ section: ConfigurationSection, isOnly: Bool) -> any AgentPlugin {
        let first = agents.plugins[0]
        let kind = reader.value(
            "kind", of: section, as: .word(of: agents.kinds.map(\.rawValue)),
            environment: isOnly ? ["SOPHON_AGENT"] : [], else: first.kind.rawValue)
        return agents[kind: AgentKind(rawValue: kind)] ?? first
    }

    // MARK: Faults across connections

    private static let tokenVariables = ["SOPHON_BOT_TOKEN", "SOPHON_TOKEN"]

    /// Two connections under one name or one token would each take the other's messages.
    private mutating func refuseRepeats(
        _ connections: [Configuration.Connection], _ values: [ConfigurationValue]
    ) {
        for (index, connection) in connections.enumerated() {
            let earlier = connections.prefix(index)
            let origin = reader.origin(values[index])
            if earlier.contains(where: { $0.name == connection.name }) {
                reader.complain(
                    "connections[\(index)].name", found: "\"\(connection.name)\" once more",
                    expected: "a name of its own for each connection", origin: origin)
            }
            if let token = connection.relay.token, earlier.contains(where: { $0.relay.token == token }) {
                reader.complain(
                    "connections[\(index)].relay.token", found: "the token of another connection",
                    expected: "a token of its own for each connection", origin: origin)
            }
        }
    }

    /// With several connections, a variable that belongs to one does not say to which; the file must name it there.
    private mutating func refuseAmbiguousVariables(
        _ connections: [Configuration.Connection], _ value: ConfigurationValue
    ) {
        let named = Set(value.strings.compactMap(\.variableName))
        let kinds = Set(connections.map(\.agent.kind))
        let variables =
            Self.tokenVariables + ["SOPHON_AGENT"]
            + agents.plugins.filter { kinds.contains($0.kind) }.flatMap(\.variables)
        for name in variables where sources.environment[name] != nil && !named.contains(name) {
            reader.complain(
                "connections", found: "a list of \(connections.count), and \(name) is set",
                expected: "\"${\(name)}\" in the connection that it is meant for", origin: reader.origin(value),
                also: "unset \(name)")
        }
    }
}
