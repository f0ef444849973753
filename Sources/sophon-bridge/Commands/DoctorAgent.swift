import AgentProtocols
import BridgeModel
import BridgeService
import Commands
import Crypto
import Files
import FoundationEssentials
import Glibc

/// What `doctor` asks of a connection's agent.
struct DoctorAgent {
    private let connection: Configuration.Connection
    private let loaded: LoadedConfiguration
    private let environment = ProcessInfo.processInfo.environment

    init(_ connection: Configuration.Connection, _ loaded: LoadedConfiguration) {
        self.connection = connection
        self.loaded = loaded
    }

    private var name: String { connection.name.text }

    func check(_ tell: (DoctorFinding) -> Void) {
        switch connection.agent {
        case .openClaw(let agent): check(agent, tell)
        case .oppi, .pi:
            let kind = connection.agent.kind.rawValue
            tell(
                DoctorFinding(
                    .agent, .failed, "this version runs OpenClaw alone, not \(kind)",
                    remedy: "set the agent to openclaw", connection: name, exitCode: 2))
        }
    }

    private func check(_ agent: Configuration.Agent.OpenClaw, _ tell: (DoctorFinding) -> Void) {
        let address = isSet("agent.url") ? agent.address : nil
        if let finding = installation(agent, isElsewhere: address.map { !$0.isPrivate } ?? false) { tell(finding) }
        let found = OpenClawDiscovery(stateDirectory: agent.stateDirectory, environment: environment).find(
            address: address, token: agent.token)
        for warning in found.warnings { tell(DoctorFinding(.agentToken, .warning, warning, connection: name)) }
        if let source = found.tokenSource ?? (found.password == nil ? nil : "OpenClaw's own file") {
            tell(DoctorFinding(.agentToken, .ok, "the gateway's token comes from \(source)", connection: name))
        } else {
            tell(
                DoctorFinding(
                    .agentToken, .warning, "there is no token for the gateway",
                    remedy: "set OPENCLAW_TOKEN, unless the gateway asks for none", connection: name))
        }
        do {
            let settings = try settings(for: found, tell)
            let judge = GatewayJudge()
            let verdict = try Waiting.verdict(
                of: OpenClawSession(settings), authorityFile: agent.authorityFile, judge: { judge.hear($0) })
            for finding in DoctorFinding.gateway(verdict, address: found.address, connection: name) { tell(finding) }
        } catch {
            tell(
                DoctorFinding(.gateway, .failed, "\(error)", connection: name, exitCode: error is ThreadFault ? 1 : 13))
        }
    }

    /// Whether OpenClaw is on this machine; nil where it is meant to be elsewhere.
    private func installation(_ agent: Configuration.Agent.OpenClaw, isElsewhere: Bool) -> DoctorFinding? {
        guard !isElsewhere, let directory = agent.stateDirectory else { return nil }
        let isThere = access(directory, F_OK) == 0
        let isSetUp = access(directory + "/openclaw.json", R_OK) == 0
        if isThere, isSetUp {
            return DoctorFinding(.agent, .ok, "OpenClaw is set up in \(directory)", connection: name)
        }
        // With address and token configured, no files of OpenClaw are needed here.
        if isSet("agent.url"), agent.token != nil { return nil }
        return isThere
            ? DoctorFinding(
                .agent, .failed, "OpenClaw is not set up: there is no \(directory)/openclaw.json",
                remedy: "run: openclaw onboard", connection: name, exitCode: 11)
            : DoctorFinding(
                .agent, .failed, "OpenClaw is not installed here: there is no \(directory)",
                remedy: "install OpenClaw, or set OPENCLAW_URL and OPENCLAW_TOKEN", connection: name, exitCode: 10)
    }

    private func settings(
        for found: OpenClawDiscovery.Found, _ tell: (DoctorFinding) -> Void
    ) throws -> OpenClawSettings {
        let gateway = found.address.description
        var settings = OpenClawSettings(
            url: gateway, token: found.token?.text, password: found.password?.text,
            client: OpenClawClient(
                displayName: loaded.configuration.hostLabel ?? "Sophon bridge", version: HelpText.version))
        guard let directory = loaded.configuration.configDirectory else { return settings }
        let files = OpenClawDeviceFiles(directory: directory)
        // No key is made here: a gateway would be asked to approve a device that is not in use yet.
        struct NoKey: Error {}
        do {
            let kept = try files.seed(wallMilliseconds: 0) { throw NoKey() }
            let key = try DeviceKey(seed: kept.seed)
            settings.device = OpenClawDevice(id: key.deviceID, signer: key)
            settings.deviceToken = try files.token(gateway: gateway, device: key.deviceID)?.text
        } catch is NoKey {
            tell(
                DoctorFinding(
                    .gateway, .skipped,
                    "this bridge has no device key yet; run makes one, and OpenClaw may ask to approve it",
                    connection: name))
        }
        return settings
    }

    private func isSet(_ path: String) -> Bool {
        let index = loaded.configuration.connections.firstIndex { $0.name == connection.name } ?? 0
        let setting = loaded.settings.first { $0.path == "connections[\(index)].\(path)" }
        return setting.map { $0.origin != .fallback } ?? false
    }
}
