package import AgentKit
import RelayProtocol
package import Vocabulary

// Answers of the relay as findings. The exit codes are those of DESIGN.md#what-the-user-sees.
extension DoctorFinding {
    /// Difference of the clocks beyond which times on the phone look wrong.
    private static let skewLimit: Int64 = 30_000

    package static func relay(
        _ answer: Result<HTTPResponse, HTTPFailure>, address: WebAddress, connection: String
    ) -> DoctorFinding {
        switch answer {
        // relay.md#layers: "`GET /healthz` answers 2xx when the API is up".
        case .success(let response) where Self.isPage(response):
            DoctorFinding(
                .relay, .failed,
                "\(address)/healthz: \(ForeignAnswer(status: response.status, body: response.body, server: response.header("Server")))",
                remedy: ForeignAnswer.remedy, connection: connection, exitCode: .relayUnreachable)
        case .success(let response) where (200..<300).contains(response.status):
            DoctorFinding(.relay, .ok, "the relay at \(address) answers", connection: connection)
        case .success(let response):
            DoctorFinding(
                .relay, .failed, "\(address)/healthz answered \(response.status)",
                remedy: "check SOPHON_BASE_URL, or wait until the relay is well again", connection: connection,
                exitCode: .relayUnreachable)
        case .failure(let failure):
            DoctorFinding(
                .relay, .failed, "the relay at \(address) cannot be reached: \(failure.message)",
                remedy: "check the network and SOPHON_BASE_URL", connection: connection, exitCode: .relayUnreachable)
        }
    }

    /// A healthy relay's answer is documented by its status alone, but it is no web page (relay.md#layers).
    private static func isPage(_ response: HTTPResponse) -> Bool {
        ForeignAnswer(status: response.status, body: response.body).content == .webPage
    }

    /// Nil if the relay sent no time.
    package static func clock(
        _ answer: Result<HTTPResponse, HTTPFailure>, wallMilliseconds: Int64, connection: String
    ) -> DoctorFinding? {
        guard case .success(let response) = answer, let date = response.header("Date").flatMap(HTTPDate.seconds) else {
            return nil
        }
        let skew = wallMilliseconds - date * 1_000
        guard abs(skew) > skewLimit else {
            return DoctorFinding(.clock, .ok, "this machine's clock agrees with the relay's", connection: connection)
        }
        let way = skew > 0 ? "ahead of" : "behind"
        return DoctorFinding(
            .clock, .warning, "this machine's clock is \(abs(skew) / 1_000) s \(way) the relay's",
            remedy: "let the system set it: timedatectl set-ntp true", connection: connection)
    }

    /// Finding for a verdict, or for nil if none came in time.
    package static func relayToken(_ verdict: RelayVerdict?, connection: String) -> DoctorFinding {
        switch verdict {
        case .taken(let installation):
            let name = installation.map { ", as \($0)" } ?? ""
            return DoctorFinding(.relayToken, .ok, "the relay takes the token\(name)", connection: connection)
        case .refused(let message, let remedy):
            return DoctorFinding(
                .relayToken, .failed, message, remedy: remedy, connection: connection, exitCode: .tokenRefused)
        case .unreachable(let reason, let remedy):
            return DoctorFinding(
                .relayToken, .failed, "the relay's socket did not open: \(reason)",
                remedy: remedy ?? "look for a proxy that takes no WebSocket, and try again", connection: connection,
                exitCode: .relayUnreachable)
        case nil:
            return DoctorFinding(
                .relayToken, .failed, "the relay did not say in time whether it takes the token",
                remedy: "try again; if it stays so, look for a proxy that holds WebSocket back",
                connection: connection, exitCode: .relayUnreachable)
        }
    }
}
