package import AgentKit
import Locking
package import Vocabulary

/// How the gateway received this bridge.
package enum GatewayVerdict: Hashable, Sendable {
    /// `missing`: scopes that the bridge requested and did not get; `remedy` says how to grant them.
    case greeted(version: String, scopes: [String]?, missing: [String], remedy: String?)
    case refused(message: String, remedy: String, exitCode: ExitCode)
    case unreachable(reason: String, remedy: String?)
}

package final class GatewayJudge: Sendable {
    private struct State {
        var greeted: (version: String, scopes: [String]?)?
        var missing: [String] = []
        var remedy: String?
    }

    private let state = Locked(State())

    package init() {}

    package func hear(_ order: OpenClawSession.Order) -> GatewayVerdict? {
        state.withLock { state in
            switch order {
            case .note(.connected(let version, _, let scopes)): state.greeted = (version, scopes)
            case .note(.missingScopes(let scopes, let remedy)): (state.missing, state.remedy) = (scopes, remedy)
            case .note(.waiting(let reason, _, nil)): return .unreachable(reason: reason, remedy: nil)
            case .note(.waiting(let reason, _, let trouble?)):
                return trouble.kind == .passing
                    ? .unreachable(reason: reason, remedy: trouble.remedy)
                    : .refused(message: trouble.message, remedy: trouble.remedy, exitCode: trouble.exitCode)
            // The session reports `linkBack` at the end of its greeting, after the scopes.
            case .observed(let observations) where observations.contains(.linkBack):
                guard let greeted = state.greeted else { return nil }
                return .greeted(
                    version: greeted.version, scopes: greeted.scopes, missing: state.missing, remedy: state.remedy)
            case .observed, .replied, .saveDeviceToken, .dial, .send, .load, .dropLoad, .close, .note: return nil
            }
            return nil
        }
    }
}

extension DoctorFinding {
    /// Findings about the gateway and about the scopes that it granted.
    package static func gateway(
        _ verdict: GatewayVerdict?, address: WebAddress, connection: String
    ) -> [DoctorFinding] {
        switch verdict {
        case .greeted(let version, let scopes, let missing, let remedy):
            let gateway = DoctorFinding(
                .gateway, .ok, "OpenClaw \(version) at \(address) takes the bridge in", connection: connection)
            guard missing.isEmpty else {
                return [
                    gateway,
                    DoctorFinding(
                        .scopes, .failed, "the gateway does not let the bridge do \(missing.joined(separator: ", "))",
                        remedy: remedy, connection: connection, exitCode: .agentTokenMissing),
                ]
            }
            let told = scopes.map { "the bridge may: \($0.joined(separator: ", "))" }
            return [
                gateway,
                DoctorFinding(
                    .scopes, .ok, told ?? "the gateway does not list what the bridge may", connection: connection),
            ]
        case .refused(let message, let remedy, let exitCode):
            return [
                DoctorFinding(
                    .gateway, .failed, message, remedy: remedy, connection: connection, exitCode: exitCode)
            ]
        case .unreachable(let reason, let remedy):
            return [
                DoctorFinding(
                    .gateway, .failed, "no connection to OpenClaw at \(address): \(reason)",
                    remedy: remedy ?? "start it: openclaw gateway start; or set OPENCLAW_URL", connection: connection,
                    exitCode: .agentUnreachable)
            ]
        case nil:
            return [
                DoctorFinding(
                    .gateway, .failed, "OpenClaw at \(address) did not greet in time",
                    remedy: "look into its log: openclaw logs", connection: connection, exitCode: .agentUnreachable)
            ]
        }
    }
}
