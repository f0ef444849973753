import AgentKit
import BridgeService
import Commands
import Vocabulary

/// SIGHUP: reloads the configuration, whole or not at all. Everything is read and judged before anything changes.
struct RunReload {
    private let command: ParsedCommand
    private let output: Output
    private let log: Log

    private struct Change {
        var connection: LiveConnection
        var settings: Configuration.Connection
        var token: Secret?
        var pairing: (device: SecretKey?, pairedAt: Int64?)?
        var agent: (agent: any LiveAgent, settings: AgentSettings, reading: AgentReading)?
    }

    init(_ command: ParsedCommand, _ output: Output, _ log: Log) {
        self.command = command
        self.output = output
        self.log = log
    }

    /// The configuration in force after the reload, or nil if nothing changed.
    func run(
        from old: LoadedConfiguration, _ connections: [LiveConnection], _ edges: RunEdges
    ) -> Configuration? {
        do {
            let loaded = try CommandConfiguration.load(command, output)
            let fixed = Reload.fixedKeys(from: old, to: loaded)
            guard fixed.isEmpty else {
                throw CommandFailure(
                    code: .usage,
                    message:
                        "\(fixed.joined(separator: ", ")) can only change at a start: restart the bridge, or undo it")
            }
            let changes = try changes(to: loaded, connections, edges)
            apply(changes, loaded, edges)
            log.info("the configuration was read anew")
            output.event("reloaded")
            return loaded.configuration
        } catch {
            log.error("the configuration was not taken", [("reason", .text("\(error)"))])
            output.event(
                "error",
                [
                    ("code", .number(.usage)),
                    ("message", .string("the configuration was not taken: \(error)")),
                ])
            return nil
        }
    }

    private func changes(
        to loaded: LoadedConfiguration, _ connections: [LiveConnection], _ edges: RunEdges
    ) throws -> [Change] {
        var tokens: [Secret: Int] = [:]
        return try loaded.configuration.connections.enumerated().compactMap { index, configured in
            guard let connection = connections.first(where: { $0.name == configured.name }) else { return nil }
            let key = "connections[\(index)].relay.token"
            var change = Change(connection: connection, settings: configured)
            do { change.token = try edges.relayToken(of: configured, in: loaded) } catch {
                // A connection without a token may stay without; one that has a token must not lose it.
                if connection.hasToken { throw CommandFailure(code: .usage, message: "\(key): \(error)") }
            }
            if let token = change.token {
                change.pairing = try edges.pairing(of: configured, token, in: loaded)
                if let other = tokens.updateValue(index, forKey: token) {
                    throw CommandFailure(
                        code: .usage, message: "\(key) is the token of connections[\(other)]; each needs one of its own"
                    )
                }
            }
            if let agent = edges.agent(of: configured.name) {
                do { change.agent = (agent, configured.agent, try agent.read(configured.agent)) } catch {
                    throw CommandFailure(code: .usage, message: "connections[\(index)].agent.token: \(error)")
                }
            }
            return change
        }
    }

    private func apply(_ changes: [Change], _ loaded: LoadedConfiguration, _ edges: RunEdges) {
        let configuration = loaded.configuration
        // Cover secrets first: the lines that follow may name them.
        for change in changes {
            for secret in [change.token].compactMap({ $0 }) + (change.agent?.reading.secrets ?? []) {
                log.cover(secret)
            }
        }
        if let token = configuration.notify.token { log.cover(token) }
        log.level = configuration.log.level
        log.format = configuration.log.format
        edges.use(loaded)
        for change in changes {
            change.connection.use(configuration.limits, connections: changes.count)
            if let agent = change.agent {
                agent.agent.use(agent.settings)
                change.connection.renewAgent()
            }
            change.connection.use(loaded.asks(of: change.settings))
            change.connection.use(configuration.notify.settings, configuration.notify.recipient)
            change.connection.keys?.use(
                change.settings.encryption, change.settings.devices, change.settings.routines)
            if let pairing = change.pairing {
                change.connection.keys?.use(device: pairing.device, pairedAt: pairing.pairedAt)
            }
            if let token = change.token { change.connection.use(token) }
        }
    }
}
