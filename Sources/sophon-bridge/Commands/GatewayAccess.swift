import AgentProtocols
import BridgeModel
import BridgeService
import Commands
import Crypto
import Files
import FoundationEssentials
import Locking

/// How one connection shows itself to its OpenClaw gateway: what is configured, what OpenClaw's own files hold, and this bridge's
/// device. Read at the start, at a reload, and again before a refused link is tried anew, since a person may have mended a file.
final class GatewayAccess: Sendable {
    struct Reading {
        var settings: OpenClawSettings
        /// What people should know: a file that could not be read, and the like.
        var warnings: [String]
        var tokenSource: String?
    }

    private let name: ConnectionName
    private let environment: [String: String]
    private let directory: String?
    private let displayName: String
    /// Nil: it is found in OpenClaw's own files.
    private let address: WebAddress?
    private let agent: Locked<Configuration.Agent.OpenClaw>

    init(
        _ agent: Configuration.Agent.OpenClaw, of name: ConnectionName, address: WebAddress?,
        in configuration: Configuration, environment: [String: String]
    ) {
        self.name = name
        self.address = address
        self.environment = environment
        directory = configuration.configDirectory
        displayName = configuration.hostLabel ?? "Sophon bridge"
        self.agent = Locked(agent)
    }

    /// From now on, what this configuration says.
    func use(_ agent: Configuration.Agent.OpenClaw) { self.agent.withLock { $0 = agent } }

    /// As it stands now. Makes the device's key where there is none yet.
    func read() throws -> Reading { try read(agent.withLock { $0 }) }

    /// As another configuration would have it.
    func read(_ agent: Configuration.Agent.OpenClaw) throws -> Reading {
        let found = OpenClawDiscovery(stateDirectory: agent.stateDirectory, environment: environment).find(
            address: address, token: agent.token)
        guard let files else {
            throw CommandFailure(
                code: .usage, message: "nobody knows where the device's key is kept: set HOME or SOPHON_CONFIG_DIR")
        }
        let kept = try files.seed(wallMilliseconds: SystemClock().wallMilliseconds) { try DeviceKey.generate().seed }
        let key = try DeviceKey(seed: kept.seed)
        let gateway = found.address.description
        let settings = OpenClawSettings(
            url: gateway, token: found.token?.text, password: found.password?.text,
            deviceToken: try files.token(gateway: gateway, device: key.deviceID)?.text,
            device: OpenClawDevice(id: key.deviceID, signer: key),
            client: OpenClawClient(displayName: displayName, version: HelpText.version),
            mayShowDeviceToken: ["127.0.0.1", "::1", "localhost"].contains(found.address.host))
        return Reading(
            settings: settings, warnings: found.warnings + (kept.warning.map { [$0] } ?? []),
            tokenSource: found.tokenSource)
    }

    func save(_ token: OpenClawSession.DeviceToken) throws {
        try files?.save(
            token: Secret(token.token), gateway: token.gateway, device: token.deviceID, role: token.role,
            scopes: token.scopes, wallMilliseconds: SystemClock().wallMilliseconds)
    }

    private var files: OpenClawDeviceFiles? { directory.map { OpenClawDeviceFiles(directory: $0) } }
}

extension OpenClawSettings {
    /// What no log may show.
    var secrets: [Secret] { [token, password, deviceToken].compactMap { $0 }.map { Secret($0) } }
}
