/// A misfortune of the bridge's socket that was asked for (relay sheet 16); it is no breach of anybody.
package struct SocketFault: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        // The next connections.
        case refused(status: Int, code: String)
        /// Accepted; nothing is sent, and what comes is ignored.
        case silent
        /// `ready`, and from then on nothing is sent or read.
        case halfOpen
        /// Accepted and closed at once, without `ready`. The code must be one that may be sent.
        case acceptedThenClosed(code: Int)
        case acceptedThenCut
        case withoutPings
        // The next updates.
        /// Sent two times in a row.
        case doubled
        /// A message of the user comes under a second update id, as from another node of the relay (sheet 3.4).
        case secondIdentifier
        /// The flat form of the RFC (sheet 4.1).
        case flat
    }

    package var kind: Kind
    package var count: Int

    package init(_ kind: Kind, count: Int = 1) {
        self.kind = kind
        self.count = count
    }
}

extension SocketFault.Kind {
    var isRefusal: Bool {
        if case .refused = self { return true }
        return false
    }

    var strikesOpening: Bool {
        switch self {
        case .silent, .halfOpen, .acceptedThenClosed, .acceptedThenCut, .withoutPings: true
        case .refused, .doubled, .secondIdentifier, .flat: false
        }
    }
}
