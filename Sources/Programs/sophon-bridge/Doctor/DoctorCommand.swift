import AgentKit
import BridgeService
import Commands
import Crypto
import Files
import Glibc
import Links
import Locking
import Transport
import Vocabulary

/// `doctor`: checks everything from the configuration to both live handshakes, and changes nothing.
struct DoctorCommand: Command {
    static let declaration = CommandDeclaration(
        name: "doctor", summary: "check everything from the configuration to both live handshakes; change nothing",
        options: [.config, .stateDirectory, .anyFileSystem],
        examples: ["sophon-bridge doctor", "sophon-bridge doctor --json"])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        let report = Locked(DoctorReport())
        let tell: (DoctorFinding) -> Void = { finding in
            self.show(report.withLock { $0.add(finding) })
        }
        let loaded = try CommandConfiguration.load(command, output)
        let names = loaded.configuration.connections.map(\.name.text).joined(separator: ", ")
        tell(DoctorFinding(.config, .ok, "the configuration has no fault; connections: \(names)"))
        let directories = [loaded.configuration.configDirectory, loaded.configuration.stateDirectory].compactMap(\.self)
        for fault in Set(directories).sorted().compactMap({ PrivateFile.fault(ofDirectory: $0) }) {
            tell(DoctorFinding(.stateDirectory, .failed, fault, exitCode: .usage))
        }
        for warning in Set(directories).sorted().compactMap({ PrivateFile.warning(ofDirectory: $0) }) {
            tell(DoctorFinding(.stateDirectory, .warning, warning))
        }
        switch StateFileSystem.look(
            at: loaded.configuration.stateDirectory, isAllowed: loaded.configuration.anyFileSystem)
        {
        case .fine: break
        case .warning(let words): tell(DoctorFinding(.stateDirectory, .warning, words))
        case .refusal(let words): tell(DoctorFinding(.stateDirectory, .failed, words, exitCode: .unexpected))
        }
        let running = checkState(loaded.configuration.stateDirectory, tell)
        if let finding = DoctorNotify(loaded.configuration).finding { tell(finding) }
        let secrets = output.secrets
        let cover: @Sendable (Secret) -> Void = { secrets.cover($0) }
        for connection in loaded.configuration.connections {
            let status = running?.connections.first { $0.name == connection.name.text }
            DoctorRelay(connection, loaded.configuration, running: status).check(cover, tell)
            if let another = status?.anotherBridge {
                let hour = SystemClock().hour(ofWall: another.last) ?? "an unknown hour"
                tell(
                    DoctorFinding(
                        .anotherBridge, .warning, another.words(hour: hour), remedy: BridgeStatus.Another.remedy,
                        connection: connection.name.text))
            }
            checkKeys(connection, loaded.configuration, tell)
            let folders = WorkspaceFolders(of: loaded.configuration)
            for finding in DoctorFinding.workspaces(of: connection, folders) { tell(finding) }
            DoctorAgent(connection, loaded.configuration).check(cover, tell)
        }
        try end(report.withLock { $0 })
    }

    /// Report of the running bridge, or nil if none runs.
    private func checkState(_ directory: String, _ tell: (DoctorFinding) -> Void) -> BridgeStatus? {
        do throws(FileError) {
            let holder = try InstanceLock.holder(directory: directory)
            if case .process(let number) = holder {
                let who = number.map { " (process \($0))" } ?? ""
                tell(DoctorFinding(.stateDirectory, .ok, "a bridge\(who) works with \(directory)"))
                return try StatusFile.read(in: directory)
            }
            let (path, isThere) = Self.nearest(to: directory)
            let isWritable = access(path, W_OK | X_OK) == 0
            tell(
                isWritable
                    ? DoctorFinding(
                        .stateDirectory, .ok, "\(directory) \(isThere ? "can be written" : "can be made")")
                    : DoctorFinding(
                        .stateDirectory, .failed, "\(path) cannot be written",
                        remedy: "let this user write there, or set SOPHON_STATE_DIR", exitCode: .usage))
        } catch {
            tell(DoctorFinding(.stateDirectory, .failed, error.message, exitCode: .usage))
        }
        return nil
    }

    private func checkKeys(
        _ connection: Configuration.Connection, _ configuration: Configuration, _ tell: (DoctorFinding) -> Void
    ) {
        let files = KeyFiles(connection.name, in: configuration)
        do {
            let library = try OpenSSLSealing()
            let looked = Result { () throws(FileError) in
                let token = connection.relay.token ?? files.pairing(connection, nil)?.credentials.token
                return try files.look(at: connection, token: token, library: library)
            }
            for finding in DoctorFinding.devices(looked, connection) { tell(finding) }
        } catch {
            tell(DoctorFinding(.devices, .failed, "\(error)", connection: connection.name.text, exitCode: .unexpected))
        }
    }

    /// The directory, or the nearest existing one above it.
    private static func nearest(to directory: String) -> (path: String, isThere: Bool) {
        var path = directory[...]
        while !path.isEmpty, access(String(path), F_OK) != 0 {
            path = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        }
        return (path.isEmpty ? "/" : String(path), path.count == directory.count)
    }

    private func show(_ finding: DoctorFinding) {
        var members: [(String, JSONText)] = [
            ("check", .string(finding.check.rawValue)), ("outcome", .string(finding.outcome.rawValue)),
            ("ok", .flag(finding.outcome != .failed)), ("message", .string(finding.message)),
        ]
        if let connection = finding.connection { members.append(("connection", .string(connection))) }
        if let remedy = finding.remedy { members.append(("remedy", .string(remedy))) }
        if let code = finding.exitCode { members.append(("code", .number(code))) }
        output.event("doctor_check", members)
        // The line holds reasons and names of the far sides.
        output.line(VisibleText.value(finding.line))
    }

    private func end(_ report: DoctorReport) throws {
        let failed = report.count(.failed)
        let warnings = report.count(.warning)
        output.event(
            "doctor_summary",
            [
                ("ok", .flag(failed == 0)), ("checks", .number(report.findings.count)), ("failed", .number(failed)),
                ("warnings", .number(warnings)), ("code", .number(report.exitCode)),
            ])
        output.line("")
        output.line(
            failed == 0
                ? "all is well\(warnings == 0 ? "" : ", with \(warnings) to look after")"
                : "\(failed) of \(report.findings.count) checks failed")
        if failed > 0 { output.leave(report.exitCode) }
    }
}

/// Waits for an answer from another thread.
struct Waiting {
    static func answer<Value: Sendable>(
        within limit: Duration, _ begin: (@escaping @Sendable (Value) -> Void) -> Void
    ) -> Value? {
        let answer = Locked<Value?>(nil)
        begin { value in answer.withLock { $0 = value } }
        _ = Pace.wait(atMost: limit) { answer.withLock { $0 != nil } }
        return answer.withLock { $0 }
    }

    /// Drives a link to its verdict and closes it in order.
    func verdict<Machine: SessionMachine & ~Copyable, Verdict: Sendable>(
        of machine: consuming sending Machine, authorityFile: String?,
        judge: @escaping @Sendable (Machine.Order) -> Verdict?
    ) throws(ThreadFault) -> Verdict? {
        let verdict = Locked<Verdict??>(nil)
        let probe = LinkProbe(
            machine,
            edges: LinkEdges(
                sockets: CurlWebSocketClient(), clock: SystemClock(), alarm: try SystemAlarm(), random: SystemRandom(),
                authorityFile: authorityFile),
            limit: .seconds(15), deadline: try SystemAlarm(), judge: judge,
            completion: { heard in verdict.withLock { $0 = .some(heard) } })
        probe.start()
        _ = Pace.wait(atMost: .seconds(20)) { verdict.withLock { $0 != nil } }
        _ = Pace.wait(atMost: .seconds(2)) { probe.close() }
        probe.stop()
        return verdict.withLock { $0 } ?? nil
    }
}
