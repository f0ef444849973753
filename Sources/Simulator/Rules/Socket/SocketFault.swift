/// An injected fault of the bridge's socket, of its traffic, or of an approval
/// (relay.md#gaps-and-what-the-emulator-should-do); counts as no breach of the rules.
package struct SocketFault: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        // Faults of the next connections.
        case refused(status: Int, code: String)
        /// Something between the bridge and the relay answers the upgrade.
        case page(ProxyPage, status: Int)
        /// The connection is accepted; the relay sends nothing and ignores input.
        case silent
        /// The relay sends `ready`, and from then on neither sends nor reads.
        case halfOpen
        /// The connection is accepted and closed at once, without `ready`. The protocol must allow the code.
        case acceptedThenClosed(code: Int)
        case acceptedThenCut
        case withoutPings
        /// The connection does not replace the open ones (relay.md#delivery-ack-replay: two bridge processes on one token).
        case joined
        // Faults of the next updates.
        /// The update is sent twice in a row.
        case doubled
        /// A message of the user comes again under a second update id, as from another node of the relay (relay.md#delivery-ack-replay).
        case secondIdentifier
        /// The update has the flat form of the RFC (relay.md#wrapper).
        case flat
        // Faults of the next messages of the user.
        /// The open sockets are cut before the message goes out: it comes as backlog of the next connection.
        case backlog
        /// The user presses Stop at once.
        case earlyStop
        // Faults of the next grants.
        case lateGrant, noGrant
        // Faults of the next acknowledgements.
        case lostAcknowledgement
        // Faults of the next approvals.
        /// The card expires.
        case cardEnds(reason: String, milliseconds: Int)
        /// The relay denies at once, without the phone.
        case cardOverLimit(reason: String)
        /// The relay refuses a card that names its life.
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
