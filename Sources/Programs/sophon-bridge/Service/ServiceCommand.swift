import AgentKit
import Agents
import BridgeCore
import BridgeService
import Commands
import Files
import FoundationEssentials
import Glibc
import Vocabulary

/// `service install|uninstall|status|restart|stop|logs`: the bridge as a systemd unit of this user.
struct ServiceCommand: Command {
    static let declaration = CommandDeclaration(
        name: "service", summary: "keep the bridge running as a systemd unit of this user",
        operands: "install|uninstall|status|restart|stop|logs",
        actions: ["install", "uninstall", "status", "restart", "stop", "logs"],
        options: [
            .init("dry-run", nil, "say what would be done; install prints the unit"),
            .init("follow", nil, "with logs: go on as new lines come"),
            .config,
            .stateDirectory,
        ],
        examples: ["sophon-bridge service install", "sophon-bridge service logs --follow"])

    private let command: ParsedCommand
    private let output: Output
    private let environment = ProcessInfo.processInfo.environment

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        switch command.operands.first {
        case "install": try install()
        case "uninstall": try uninstall()
        case "status": try status()
        case "restart": try restart()
        case "stop": try stop()
        default: try logs()
        }
    }

    // MARK: Actions

    private func install() throws {
        let loaded = try CommandConfiguration.load(command, output)
        let unit = try unit(for: loaded.configuration)
        if command.switches.contains("dry-run") {
            output.event("service_unit", [("path", .string(try unitPath())), ("text", .string(unit.text))])
            return output.raw(unit.text)
        }
        if let reason = SystemdUnit.whyNotKept(unit.program, temporaryDirectory: environment["TMPDIR"]) {
            throw CommandFailure(
                code: .usage,
                message:
                    "\(unit.program) \(reason), and a service would find nothing there one day; copy the program to "
                    + "where it stays, such as ~/.local/bin, and install the service from there")
        }
        try requireSystemd()
        let path = try unitPath()
        try PrivateFile.write(Array(unit.text.utf8), to: path)
        try systemctl("daemon-reload")
        try systemctl("enable", SystemdUnit.name)
        // Restart a running service too: it must get this program and these settings. A bridge that ends before it is ready fails here.
        var failure: CommandFailure?
        do { try systemctl("restart", SystemdUnit.name) } catch let error as CommandFailure { failure = error }
        output.event("service_installed", [("path", .string(path)), ("unit", .string(SystemdUnit.name))])
        output.line("installed \(path); the bridge \(failure == nil ? "runs, and " : "")begins with your next login")
        output.say("to let it run while nobody is logged in: loginctl enable-linger")
        output.say("variables such as OPENCLAW_TOKEN go into \(unit.environmentFile ?? "the configuration"), chmod 600")
        output.say("see how it is: sophon-bridge status; its log: sophon-bridge service logs")
        guard var failure else { return }
        failure.message += "; the service is installed: see its log, mend it, then sophon-bridge service restart"
        throw failure
    }

    private func uninstall() throws {
        let path = try unitPath()
        if command.switches.contains("dry-run") {
            output.line("would stop and disable \(SystemdUnit.name), and delete \(path)")
            return try endChildren()
        }
        try requireSystemd()
        guard access(path, F_OK) == 0 else {
            output.event("service_uninstalled", [("path", .string(path)), ("deleted", .flag(false))])
            output.line("nothing to do: there is no \(path)")
            return try endChildren()
        }
        try systemctl("disable", "--now", SystemdUnit.name)
        try PrivateFile.remove(path)
        try systemctl("daemon-reload")
        output.event("service_uninstalled", [("path", .string(path)), ("deleted", .flag(true))])
        output.line("stopped, and deleted \(path); the token and the state are kept")
        try endChildren()
    }

    /// Stops the bridge, and then the agents that live on without it.
    private func stop() throws {
        if command.switches.contains("dry-run") {
            output.line("would stop \(SystemdUnit.name)")
            return try endChildren()
        }
        if hasSystemd, try isInstalled() {
            try systemctl("stop", SystemdUnit.name)
            output.event("service_stopped", [("unit", .string(SystemdUnit.name))])
            output.line("stopped; it begins again with your next login, or with: sophon-bridge service restart")
        } else {
            output.line("no service is installed here")
        }
        try endChildren()
    }

    private func endChildren() throws {
        let directory = try CommandConfiguration.load(command, output).configuration.stateDirectory
        let children = LivingChildren(in: directory).all
        if command.switches.contains("dry-run") {
            for child in children { output.line("would end \(child.words)") }
            return
        }
        guard !children.isEmpty else { return }
        guard try InstanceLock.holder(directory: directory) == .nobody else {
            return output.say("a bridge that is no service runs here, and its agents with it: end it, then try again")
        }
        let ended = LivingChildren.end(children)
        for child in children {
            let isEnded = ended.contains { $0.process == child.process }
            output.event("agent_ended", [("process", child.json), ("ended", .flag(isEnded))])
            if isEnded { output.line("ended \(child.words)") } else { output.say("cannot end \(child.words)") }
        }
    }

    private func status() throws {
        try requireSystemd()
        let shown = try systemctl(
            "show", SystemdUnit.name, "--property=LoadState,ActiveState,SubState,MainPID,NRestarts,ExecMainStatus")
        var values: [String: String] = [:]
        for line in shown.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if parts.count == 2 { values[parts[0]] = parts[1] }
        }
        let isInstalled = values["LoadState"] == "loaded"
        let state = values["ActiveState"] ?? "unknown"
        output.event(
            "service_status",
            [
                ("installed", .flag(isInstalled)), ("state", .string(state)),
                ("pid", .number(values["MainPID"].flatMap { Int($0) } ?? 0)),
                ("restarts", .number(values["NRestarts"].flatMap { Int($0) } ?? 0)),
                ("last_exit", .number(values["ExecMainStatus"].flatMap { Int($0) } ?? 0)),
            ])
        guard isInstalled else { return output.line("not installed; install it: sophon-bridge service install") }
        output.line("\(state) (\(values["SubState"] ?? "")), restarted \(values["NRestarts"] ?? "0") times by systemd")
        if state == "failed" {
            let code = values["ExecMainStatus"].flatMap { Int32($0) }
            let meaning = code.flatMap { ExitCode(rawValue: $0)?.meaning } ?? "see: sophon-bridge service logs"
            output.line("it ended with \(values["ExecMainStatus"] ?? "?"): \(meaning)")
        }
    }

    private func restart() throws {
        if command.switches.contains("dry-run") { return output.line("would restart \(SystemdUnit.name)") }
        try requireSystemd()
        guard try isInstalled() else {
            throw CommandFailure(
                code: .unexpected, message: "the service is not installed; install it: sophon-bridge service install")
        }
        try systemctl("restart", SystemdUnit.name)
        output.event("service_restarted", [("unit", .string(SystemdUnit.name))])
        output.line("restarted")
    }

    /// Becomes journalctl, whose output and exit are then the command's own.
    private func logs() throws {
        try requireSystemd()
        var words = ["journalctl", "--user", "--unit=\(SystemdUnit.name)", "--lines=200", "--no-pager"]
        if command.switches.contains("follow") { words.append("--follow") }
        if output.json { words.append("--output=json") }
        var arguments = words.map { strdup($0) } + [nil]
        output.flush()
        // An ignored signal would stay ignored in journalctl.
        signal(SIGPIPE, SIG_DFL)
        execvp("journalctl", &arguments)
        throw CommandFailure(
            code: .unexpected,
            message: "cannot start journalctl: \(String(cString: strerror(errno))); install systemd's journal tools")
    }

    // MARK: Within

    private func unit(for configuration: Configuration) throws -> SystemdUnit {
        guard let program = Self.ownPath else {
            throw CommandFailure(
                code: .unexpected, message: "this program does not find its own path; start it by its full path")
        }
        var arguments = ["run"]
        if let file = command.values["config"] { arguments += ["--config", Self.absolute(file)] }
        // A service has none of this terminal's variables. Those that may hold a token stay out of the unit.
        let kept =
            [
                "PATH", "SOPHON_BASE_URL", "SOPHON_CONFIG_DIR", "SOPHON_STATE_DIR", "SOPHON_HOST_LABEL", "SOPHON_AGENT",
                "SOPHON_METRICS", "SOPHON_ANY_FILESYSTEM", "XDG_STATE_HOME",
            ] + AgentRegistry.all.plugins.flatMap(\.serviceVariables)
        var variables = kept.compactMap { name in
            environment[name].flatMap { value in
                value.isEmpty ? nil : (name: name, value: name == "PATH" ? SystemdUnit.path(value) : value)
            }
        }
        // The flag overrides the variable, as with every command.
        if command.values["state-dir"] != nil {
            variables.removeAll { $0.name == "SOPHON_STATE_DIR" }
            variables.append((name: "SOPHON_STATE_DIR", value: configuration.stateDirectory))
        }
        if let folder = try workspace(of: configuration) { variables.append((name: "SOPHON_WORKSPACE", value: folder)) }
        return SystemdUnit(
            program: program, arguments: arguments, environment: variables,
            environmentFile: configuration.configDirectory.map { $0 + "/bridge.env" },
            startsAgents: configuration.connections.contains {
                AgentRegistry.all[kind: $0.agent.kind]?.isChild ?? false
            })
    }

    /// Folder for `SOPHON_WORKSPACE`: systemd starts a service in the home directory, but agents work where it was installed from, if the
    /// configuration names no other place.
    private func workspace(of configuration: Configuration) throws -> String? {
        let unnamed = configuration.connections.compactMap { connection in
            AgentRegistry.all[kind: connection.agent.kind]?.folder(connection.agent.values) == nil
                ? connection.workspaces?.standard : nil
        }.first { $0.name == nil }
        guard let folder = unnamed?.folder else { return nil }
        guard case .unusable(let sentence) = WorkspaceFolders(of: configuration).look(at: folder) else { return folder }
        throw CommandFailure(code: .usage, message: sentence)
    }

    private static var ownPath: String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    private static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Place of a user's own units (systemd.unit(5)).
    private func unitPath() throws -> String {
        let named = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        guard let directory = named ?? environment["HOME"].map({ $0 + "/.config" }) else {
            throw CommandFailure(code: .usage, message: "nobody knows where units are kept: set HOME")
        }
        return "\(directory)/systemd/user/\(SystemdUnit.name)"
    }

    /// True if there is a unit: from `install`, from a package, or from `make install`.
    private func isInstalled() throws -> Bool {
        let folders = ["/etc", "/usr/local/share", "/usr/share", "/usr/local/lib", "/usr/lib"]
        let shared = folders + (environment["HOME"].map { [$0 + "/.local/share"] } ?? [])
        let paths = try [unitPath()] + shared.map { "\($0)/systemd/user/\(SystemdUnit.name)" }
        return paths.contains { access($0, F_OK) == 0 }
    }

    /// The test that sd_booted(3) documents.
    private var hasSystemd: Bool { access("/run/systemd/system", F_OK) == 0 }

    private func requireSystemd() throws {
        guard !hasSystemd else { return }
        throw CommandFailure(
            code: .unexpected,
            message: "this machine was not started by systemd; let what starts your programs keep `sophon-bridge run` "
                + "running, and see `sophon-bridge service install --dry-run` for what it should set")
    }

    @discardableResult
    private func systemctl(_ arguments: String...) throws -> String {
        let words = ["systemctl", "--user", "--no-pager"] + arguments
        guard let result = ChildProcess.run(words) else {
            throw CommandFailure(code: .unexpected, message: "systemctl cannot be started; install systemd")
        }
        guard result.status == 0 else {
            let said = result.text.split(separator: "\n").first.map(String.init) ?? "it said nothing"
            throw CommandFailure(
                code: .unexpected,
                message: "`\(words.joined(separator: " "))` failed: \(said)"
                    + (said.contains("bus") ? "; log in as this user directly instead of through su or sudo" : ""))
        }
        return result.text
    }
}
