/// How what is said in a turn goes out: fixed when the turn begins, and stored with it.
package enum TurnSealing: Hashable, Sendable {
    case open
    /// Under this key to the turn's end, whatever key the session has by then. Nil: it has not come yet, and nothing may go out but
    /// the sealed empty text.
    case sealed(KeyName?)
    /// This key is not there any more: nothing that the agent says can be shown.
    case keyGone(KeyName)

    package var isSealed: Bool { self != .open }

    /// What the turn counts as a use of: also where it is gone, since the ring may not know that.
    package var key: KeyName? {
        switch self {
        case .open: nil
        case .sealed(let key): key
        case .keyGone(let key): key
        }
    }

    /// What the agent says can go out: in the open, or under a key that is there.
    package var canSpeak: Bool {
        switch self {
        case .open, .sealed(.some): true
        case .sealed(nil), .keyGone: false
        }
    }
}

/// Why a message is answered by a fixed sentence, and the agent never sees it.
package enum MessageRefusal: String, Hashable, Sendable, CaseIterable {
    /// It came sealed and can never be read here: made with another key, altered, or sent a second time.
    case unreadable
    /// It came in the open, and `encryption` is `require`.
    case cameOpen
    /// It came sealed, and `encryption` is `off`.
    case cameSealed
}

/// A message of the user that came sealed, when its key is there.
package enum OpenedText: Hashable, Sendable {
    case text(String)
    case unreadable
}

/// What the configuration says of sealing.
package enum Encryption: String, Hashable, Sendable, CaseIterable {
    /// Sealed where the phone seals.
    case auto
    /// Nothing is taken or said in the open.
    case require
    case off
}
