package import AgentProtocols
import BridgeModel
import Locking
package import RelayProtocol

/// What the relay made of our token.
package enum RelayVerdict: Hashable, Sendable {
    case taken(installation: String?)
    case refused(message: String, remedy: String)
    case unreachable(reason: String, remedy: String?)
}

/// What the gateway made of us.
package enum GatewayVerdict: Hashable, Sendable {
    /// `missing`: the scopes that were asked for and not given; `remedy` is for them.
    case greeted(version: String, scopes: [String]?, missing: [String], remedy: String?)
    case refused(message: String, remedy: String, exitCode: Int32)
    case unreachable(reason: String, remedy: String?)
}

/// Hears the orders of a link until they tell enough.
package final class RelayJudge: Sendable {
    private let remedy = Locked<String?>(nil)

    package init() {}

    package func hear(_ order: RelayLink.Order) -> RelayVerdict? {
        switch order {
        case .ready(let installation): .taken(installation: installation)
        case .stop(let stop): .refused(message: stop.message, remedy: stop.remedy)
        // The remedy is told just before the loss that it belongs to.
        case .lost(let reason, _): .unreachable(reason: reason, remedy: remedy.withLock { $0 })
        case .note(.remedy(let words)): keep(words)
        case .note(.full), .note(.unknown), .update, .dial, .send, .close: nil
        }
    }

    private func keep(_ words: String) -> RelayVerdict? {
        remedy.withLock { $0 = words }
        return nil
    }
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
            // It comes last of what the greeting brings.
            case .observed(let observations) where observations.contains(.linkBack):
                guard let greeted = state.greeted else { return nil }
                return .greeted(
                    version: greeted.version, scopes: greeted.scopes, missing: state.missing, remedy: state.remedy)
            case .observed, .saveDeviceToken, .dial, .send, .close, .note: return nil
            }
            return nil
        }
    }
}
