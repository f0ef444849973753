package import AgentKit
import Crypto
import Files
import Locking
package import Vocabulary

/// One connection's credentials for its OpenClaw gateway: the configuration, OpenClaw's own files, and this bridge's device.
/// The agent reads the files at the start, at a reload, and before each retry after a refusal: a person may have mended one.
package final class OpenClawAgent: LiveAgent {
    struct Reading {
        var session: OpenClawSettings
        /// Warnings for people, such as a file that could not be read.
        var warnings: [String]
        var tokenSource: String?
    }

    private let context: AgentContext
    /// The configured address, which only a start changes, or nil if OpenClaw's own files give it.
    private let address: WebAddress?
    private let settings: Locked<AgentSettings>

    package init(_ settings: AgentSettings, in context: AgentContext) {
        self.context = context
        address = settings.keysSet.contains("url") ? Self.values(settings).address : nil
        self.settings = Locked(settings)
    }

    static func values(_ settings: AgentSettings) -> OpenClawValues {
        settings.values as? OpenClawValues ?? OpenClawValues()
    }

    private var values: OpenClawValues { settings.withLock { Self.values($0) } }

    package var abilities: GrantAbilities { OpenClawSession.abilities }
    /// The idempotency key of `chat.send` (openclaw.md#chatsend), since every bridge uses the same session for a chat.
    package var promptHasKey: Bool { true }
    package var sharesFiles: Bool { values.listener.staysHere && discover(values).address.isThisMachine }
    package var choosesModels: Bool { true }
    package func session(of chat: SessionID) -> AgentSession { SessionNames.session(of: chat) }

    package func use(_ settings: AgentSettings) { self.settings.withLock { $0 = settings } }

    package func read(_ settings: AgentSettings) throws -> AgentReading {
        let reading = try read(Self.values(settings))
        return AgentReading(
            warnings: reading.warnings, secrets: reading.session.secrets,
            milestones: reading.tokenSource.map { [.init("openclaw_token_resolved", [("source", $0)])] } ?? []
        ) { host in
            host.carry(
                OpenClawMachine(
                    reading.session, authorityFile: self.values.authorityFile, listener: self.values.listener)
            ) {
                // A file that cannot be read may be half written: the machine rereads it before its next try.
                try? self.read(self.values).session
            }
        }
    }

    /// Credentials that follow from these values. Creates the device's key where none exists.
    private func read(_ values: OpenClawValues) throws -> Reading {
        let found = discover(values)
        guard let files else {
            throw AgentFault(
                "nobody knows where the device's key is kept: set HOME or SOPHON_CONFIG_DIR", exitCode: .usage)
        }
        let kept = try files.seed(wallMilliseconds: context.clock.wallMilliseconds) { try DeviceKey.generate().seed }
        var session = introduction(to: found, isAdmin: values.isAdmin)
        try show(kept.seed, to: &session, files)
        return Reading(
            session: session, warnings: found.warnings + (kept.warning.map { [$0] } ?? []),
            tokenSource: found.tokenSource)
    }

    private func discover(_ values: OpenClawValues) -> OpenClawDiscovery.Found {
        OpenClawDiscovery(stateDirectory: values.stateDirectory, environment: context.environment).find(
            address: address, token: values.token)
    }

    private func introduction(to found: OpenClawDiscovery.Found, isAdmin: Bool) -> OpenClawSettings {
        var settings = OpenClawSettings(
            url: found.address.description, token: found.token?.text, password: found.password?.text,
            client: OpenClawClient(displayName: context.displayName, version: context.version),
            mayShowDeviceToken: found.address.isThisMachine)
        if isAdmin { settings.scopes.append("operator.admin") }
        return settings
    }

    private func show(_ seed: [UInt8], to session: inout OpenClawSettings, _ files: OpenClawDeviceFiles) throws {
        let key = try DeviceKey(seed: seed)
        session.device = OpenClawDevice(id: key.deviceID, signer: key)
        session.deviceToken = try files.token(gateway: session.url, device: key.deviceID)?.text
    }

    private var files: OpenClawDeviceFiles? { context.configDirectory.map { OpenClawDeviceFiles(directory: $0) } }
}

extension OpenClawSettings {
    /// Texts that no log may show.
    var secrets: [Secret] { [token, password, deviceToken].compactMap { $0 }.map { Secret($0) } }
}

// MARK: Doctor

extension OpenClawAgent {
    package func examine() -> AgentReading {
        let name = context.connection.text
        let values = self.values
        var findings: [DoctorFinding] = []
        if let finding = installation(values, isElsewhere: address.map { !$0.isPrivate } ?? false) {
            findings.append(finding)
        }
        let found = discover(values)
        findings += found.warnings.map { DoctorFinding(.agentToken, .warning, $0, connection: name) }
        if let source = found.tokenSource ?? (found.password == nil ? nil : "OpenClaw's own file") {
            findings.append(
                DoctorFinding(.agentToken, .ok, "the gateway's token comes from \(source)", connection: name))
        } else {
            findings.append(
                DoctorFinding(
                    .agentToken, .warning, "there is no token for the gateway",
                    remedy: "set OPENCLAW_TOKEN, unless the gateway asks for none", connection: name))
        }
        do {
            let session = try introductionAsItStands(to: found) { findings.append($0) }
            let check = GatewayCheck(of: found.address, connection: name, known: findings)
            return AgentReading(secrets: session.secrets) { host in
                host.carry(
                    OpenClawMachine(session, authorityFile: values.authorityFile, listener: values.listener, check))
            }
        } catch {
            findings.append(
                DoctorFinding(.gateway, .failed, "\(error)", connection: name, exitCode: .agentTokenMissing))
            let known = findings
            return AgentReading { host in host.carry(FindingsMachine(known)) }
        }
    }

    /// Whether OpenClaw is set up on this machine, or nil if the gateway runs elsewhere.
    private func installation(_ values: OpenClawValues, isElsewhere: Bool) -> DoctorFinding? {
        guard !isElsewhere, let directory = values.stateDirectory else { return nil }
        let name = context.connection.text
        switch OpenClawDiscovery.presence(in: directory) {
        case .isSetUp: return DoctorFinding(.agent, .ok, "OpenClaw is set up in \(directory)", connection: name)
        // A configured address and token make OpenClaw's own files unnecessary.
        case _ where address != nil && values.token != nil: return nil
        case .isThere:
            return DoctorFinding(
                .agent, .failed, "OpenClaw is not set up: there is no \(directory)/openclaw.json",
                remedy: "run: openclaw onboard", connection: name, exitCode: .agentNotInitialised)
        case .isAbsent:
            return DoctorFinding(
                .agent, .failed, "OpenClaw is not installed here: there is no \(directory)",
                remedy: "install OpenClaw, or set OPENCLAW_URL and OPENCLAW_TOKEN", connection: name,
                exitCode: .agentNotInstalled)
        }
    }

    /// Reads the device's key without creating one: the gateway would keep a pairing request for a device that no bridge uses.
    private func introductionAsItStands(
        to found: OpenClawDiscovery.Found, _ tell: (DoctorFinding) -> Void
    ) throws -> OpenClawSettings {
        var session = introduction(to: found, isAdmin: values.isAdmin)
        guard let files else { return session }
        struct NoKey: Error {}
        do {
            let kept = try files.seed(wallMilliseconds: 0) { throw NoKey() }
            try show(kept.seed, to: &session, files)
        } catch is NoKey {
            tell(
                DoctorFinding(
                    .gateway, .skipped,
                    "this bridge has no device key yet; run makes one, and OpenClaw may ask to approve it",
                    connection: context.connection.text))
        }
        return session
    }
}
