import Locking
package import RelayProtocol
import Vocabulary

/// The relay's verdict on the bridge's token.
package enum RelayVerdict: Hashable, Sendable {
    case taken(installation: String?)
    case refused(message: String, remedy: String)
    case unreachable(reason: String, remedy: String?)
}

/// Collects the orders of a link until there is a verdict.
package final class RelayJudge: Sendable {
    private let remedy = Locked<String?>(nil)

    package init() {}

    package func hear(_ order: RelayLink.Order) -> RelayVerdict? {
        switch order {
        case .ready(let installation): .taken(installation: installation)
        case .stop(let stop): .refused(message: stop.message, remedy: stop.remedy)
        // The remedy precedes the loss that it belongs to.
        case .lost(let reason, _): .unreachable(reason: reason, remedy: remedy.withLock { $0 })
        case .note(.remedy(let words)): keep(words)
        case .note(.full), .note(.unknown), .update, .request, .dial, .send, .ping, .close: nil
        }
    }

    private func keep(_ words: String) -> RelayVerdict? {
        remedy.withLock { $0 = words }
        return nil
    }
}
