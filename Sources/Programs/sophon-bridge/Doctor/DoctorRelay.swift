import AgentKit
import BridgeService
import Files
import Links
import RelayProtocol
import Transport
import Vocabulary

/// Checks of `doctor` on a connection's relay.
struct DoctorRelay {
    private let connection: Configuration.Connection
    private let configuration: Configuration
    /// Report of a bridge that runs already.
    private let running: BridgeStatus.Connection?

    init(
        _ connection: Configuration.Connection, _ configuration: Configuration, running: BridgeStatus.Connection?
    ) {
        self.connection = connection
        self.configuration = configuration
        self.running = running
    }

    private var name: String { connection.name.text }

    /// `cover` takes the token before an answer can repeat it.
    func check(_ cover: (Secret) -> Void, _ tell: (DoctorFinding) -> Void) {
        let token = credentials(tell)
        if let token { cover(token) }
        let answer = health()
        let relay = DoctorFinding.relay(answer, address: connection.relay.address, connection: name)
        tell(relay)
        let wall = SystemClock().wallMilliseconds
        if let clock = DoctorFinding.clock(answer, wallMilliseconds: wall, connection: name) { tell(clock) }
        tell(tokenFinding(token, isReachable: relay.outcome == .ok))
    }

    private func credentials(_ tell: (DoctorFinding) -> Void) -> Secret? {
        if let token = connection.relay.token {
            tell(DoctorFinding(.credentials, .ok, "a token for the relay is set", connection: name))
            return token
        }
        let address = connection.relay.address
        let directory = configuration.configDirectory
        do throws(FileError) {
            let store = directory.map { CredentialStore(directory: $0) }
            if let store, let found = try store.load(connection.name, for: address) {
                let path = store.path(of: connection.name)
                tell(
                    found.warning.map { DoctorFinding(.credentials, .warning, $0, connection: name) }
                        ?? DoctorFinding(.credentials, .ok, "the token is in \(path)", connection: name))
                return found.credentials.token
            }
            if let running, running.relay.isUp {
                tell(
                    DoctorFinding(
                        .credentials, .warning,
                        "there is no token for \(address) here; the bridge that runs has one from its own environment",
                        remedy: "run doctor with the variables of that bridge's service", connection: name))
                return nil
            }
            tell(
                DoctorFinding(
                    .credentials, .failed, "there is no token for \(address)",
                    remedy: "run: sophon-bridge pair, or set SOPHON_BOT_TOKEN", connection: name,
                    exitCode: .tokenRefused))
        } catch {
            tell(DoctorFinding(.credentials, .failed, error.message, connection: name, exitCode: .tokenRefused))
        }
        return nil
    }

    private func health() -> Result<HTTPResponse, HTTPFailure> {
        var settings = CurlClient.Settings()
        settings.authorityFile = connection.relay.authorityFile
        let http = CurlClient(settings: settings)
        defer { http.close() }
        let request = HTTPRequest(method: "GET", url: "\(connection.relay.address)/healthz")
        return Waiting.answer(within: .seconds(12)) { http.send(request, completion: $0) }
            ?? .failure(HTTPFailure(.timedOut, "no answer in 12 seconds", mayHaveBeenApplied: false))
    }

    private func tokenFinding(_ token: Secret?, isReachable: Bool) -> DoctorFinding {
        if let running {
            // A second socket could push the running bridge's own out.
            let isUp = running.relay.isUp
            return DoctorFinding(
                .relayToken, isUp ? .ok : .skipped,
                isUp
                    ? "the relay takes the token of the bridge that runs"
                    : "the bridge that runs has no connection to the relay; see: sophon-bridge status",
                connection: name)
        }
        guard let token, isReachable else {
            let reason = token == nil ? "there is no token" : "the relay cannot be reached"
            return DoctorFinding(.relayToken, .skipped, "the token was not tried: \(reason)", connection: name)
        }
        let judge = RelayJudge()
        let settings = RelayLinkSettings(relay: connection.relay.address, token: token)
        do throws(ThreadFault) {
            let verdict = try Waiting().verdict(
                of: RelayLink(settings), authorityFile: connection.relay.authorityFile, judge: { judge.hear($0) })
            return DoctorFinding.relayToken(verdict, connection: name)
        } catch {
            return DoctorFinding(.relayToken, .failed, "\(error)", connection: name, exitCode: .unexpected)
        }
    }
}
