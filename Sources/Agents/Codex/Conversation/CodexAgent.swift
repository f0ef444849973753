import AgentKit
import Locking
import Vocabulary

/// The Codex of one connection. It reads no files of its own; the configured variables of its server may be secrets.
final class CodexAgent: LiveAgent {
    private let context: AgentContext
    private let settings: Locked<AgentSettings>

    init(_ settings: AgentSettings, in context: AgentContext) {
        self.context = context
        self.settings = Locked(settings)
    }

    /// Codex's permanent rule would hold in every project (codex.md#server-requests).
    var abilities: GrantAbilities { GrantAbilities(session: true, permanent: false) }
    var choosesModels: Bool { true }
    var sharesFiles: Bool {
        guard let values = settings.withLock({ $0.values as? CodexValues }),
            case .web(let address) = values.address
        else { return true }
        return values.listener.staysHere && address.isThisMachine
    }
    func session(of chat: SessionID) -> AgentSession { AgentSession("codex:\(ChatName.text(of: chat))") }

    func read(_ settings: AgentSettings) -> AgentReading {
        let context = context
        let now = Self.machineSettings(settings, context)
        let values = settings.values as? CodexValues
        let secrets = (values?.environment.values.map { Secret($0) } ?? []) + [values?.token].compactMap(\.self)
        return AgentReading(secrets: secrets) { host in
            host.carry(CodexMachine(now)) { self.settings.withLock { Self.machineSettings($0, context) } }
        }
    }

    var serverLog: String? {
        let isOwn = settings.withLock { ($0.values as? CodexValues)?.address == nil }
        return isOwn ? Self.logPath(context) : nil
    }

    var steersWords: Bool { true }

    func use(_ settings: AgentSettings) { self.settings.withLock { $0 = settings } }

    func examine() -> AgentReading {
        let settings = settings.withLock { Self.machineSettings($0, context) }
        let connection = context.connection.text
        return AgentReading { host in host.carry(CodexMachine(settings, checkOf: connection)) }
    }

    // MARK: Settings

    private static func machineSettings(_ settings: AgentSettings, _ context: AgentContext) -> CodexSettings {
        let values = settings.values as? CodexValues ?? CodexValues()
        let server: CodexSettings.Server =
            if let address = values.address {
                .named(address, values.token)
            } else {
                .own(own(values, without: settings.withheld, context))
            }
        var machine = CodexSettings(
            server: server, folder: values.folder, sandbox: values.sandbox, approvalPolicy: values.approvalPolicy,
            version: context.version)
        machine.listener = values.listener
        return machine
    }

    private static func own(
        _ values: CodexValues, without withheld: [String], _ context: AgentContext
    ) -> CodexSettings.Own {
        let environment = ChildEnvironment(dropping: withheld, adding: values.environment)
        let state = context.stateDirectory ?? "/tmp"
        let name = context.connection.text
        let entries = environment.entries(of: context.environment.map { "\($0.key)=\($0.value)" })
        let lasting = entries.filter { entry in !isOfTerminal(String(entry.prefix { $0 != "=" })) }
        // Variables may be secrets: only a hash of them is kept.
        let fingerprint = StableHash.text(of: (values.command + lasting).joined(separator: "\n"))
        return CodexSettings.Own(
            // Each thread names its own folder, so a workspace that is gone must not stop the program.
            command: values.command, environment: environment, folder: "/",
            socket: socketPath(name, state: state, context.environment), log: logPath(context),
            lock: context.stateDirectory.map { lockPath(in: $0, entries) }, fingerprint: fingerprint)
    }

    private static func logPath(_ context: AgentContext) -> String {
        "\(context.stateDirectory ?? "/tmp")/codex-\(context.connection.text).log"
    }

    /// The state directory, or another private folder if that path is too long (codex.md#starting-it).
    private static func socketPath(_ name: String, state: String, _ environment: [String: String]) -> String? {
        let short = "sophon-codex-\(StableHash.text(of: "\(state)\n\(name)").prefix(12)).sock"
        let places = [environment["XDG_RUNTIME_DIR"], environment["HOME"]].compactMap(\.self)
        return (["\(state)/codex-\(name).sock"] + places.map { "\($0)/\(short)" }).first {
            $0.hasPrefix("/") && $0.utf8.count <= CodexSettings.socketPathLimit
        }
    }

    /// One lock for each CODEX_HOME, in the state directory that all connections and `doctor` share.
    private static func lockPath(in state: String, _ entries: [String]) -> String {
        func value(_ name: String) -> String? {
            entries.last { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
        }
        let home = value("CODEX_HOME") ?? "\(value("HOME") ?? "")/.codex"
        return "\(state)/codex-start-\(StableHash.text(of: home).prefix(12)).lock"
    }

    /// Variables that differ between terminals and change nothing for Codex.
    private static func isOfTerminal(_ name: String) -> Bool {
        let names: Set = [
            "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLORTERM", "COLUMNS", "LINES", "DISPLAY", "WINDOWID", "TMUX",
            "TMUX_PANE", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "LS_COLORS", "NO_COLOR",
            "WAYLAND_DISPLAY", "STY", "WINDOW",
        ]
        return names.contains(name) || ["SSH_", "XDG_SESSION_", "TERM_", "DBUS_"].contains { name.hasPrefix($0) }
    }
}
