/// An injected fault of the bridge's socket, of what goes over it, or of an approval (relay.md#gaps-and-what-the-emulator-should-do);
/// no one's breach of the rules.
package struct SocketFault: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        // The next connections.
        case refused(status: Int, code: String)
        /// Something between the bridge and the relay answers the upgrade.
        case page(ProxyPage, status: Int)
        /// Accepted; nothing is sent, and input is ignored.
        case silent
        /// `ready`, and from then on nothing is sent or read.
        case halfOpen
        /// Accepted and closed at once, without `ready`. The code must be one that may be sent.
        case acceptedThenClosed(code: Int)
        case acceptedThenCut
        case withoutPings
        /// Does not replace the open ones (relay.md#delivery-ack-replay: two bridge processes on one token).
        case joined
        // The next updates.
        /// Sent two times in a row.
        case doubled
        /// A message of the user comes under a second update id, as from another node of the relay (relay.md#delivery-ack-replay).
        case secondIdentifier
        /// The flat form of the RFC (relay.md#wrapper).
        case flat
        // The next messages of the user.
        /// The open sockets are cut before it goes out, so that it comes as backlog of the next connection.
        case backlog
        /// Stop is pressed at once.
        case earlyStop
        // The next grants.
        case lateGrant, noGrant
        // The next acknowledgements.
        case lostAcknowledgement
        // The next approvals that are asked for.
        /// It expires.
        case cardEnds(reason: String, milliseconds: Int)
        /// Denied at once, without the phone.
        case cardOverLimit(reason: String)
        /// One that names its life is refused for it.
        case cardLifeUnknown
    }

    package var kind: Kind
    package var count: Int

    package init(_ kind: Kind, count: Int = 1) {
        self.kind = kind
        self.count = count
    }
}

extension SocketFault.Kind {
    package var name: String {
        switch self {
        case .refused: "refused"
        case .page(.html, _): "upgrade_html"
        case .page(.empty, _): "upgrade_empty"
        case .page(.json, _): "upgrade_json"
        case .silent: "silent"
        case .halfOpen: "half_open"
        case .acceptedThenClosed: "accept_then_close"
        case .acceptedThenCut: "accept_then_drop"
        case .withoutPings: "no_pings"
        case .joined: "second_bridge"
        case .doubled: "doubled"
        case .secondIdentifier: "second_id"
        case .flat: "flat"
        case .backlog: "backlog"
        case .earlyStop: "early_stop"
        case .lateGrant: "grant_late"
        case .noGrant: "grant_never"
        case .lostAcknowledgement: "ack_lost"
        case .cardEnds: "card_ends"
        case .cardOverLimit: "card_limit"
        case .cardLifeUnknown: "card_life_unknown"
        }
    }

    var isRefusal: Bool {
        switch self {
        case .refused, .page: true
        default: false
        }
    }

    func strikesCard(hasLife: Bool) -> Bool {
        switch self {
        case .cardEnds, .cardOverLimit: true
        case .cardLifeUnknown: hasLife
        default: false
        }
    }

    var strikesOpening: Bool {
        switch self {
        case .silent, .halfOpen, .acceptedThenClosed, .acceptedThenCut, .withoutPings, .joined: true
        default: false
        }
    }
}
