/// Protection of everything that a turn shows: fixed when the turn begins, and stored with it.
package enum TurnSealing: Hashable, Sendable {
    case open
    /// Sealed under this key to the turn's end, even if the session changes its key. Nil until
    /// the key arrives; only the sealed empty text may leave before.
    case sealed(KeyName?)
    /// The key is lost: the turn cannot show any word of the agent.
    case keyGone(KeyName)

    package var isSealed: Bool { self != .open }

    /// Key that the turn counts as a user of, even if lost: the ring may not know of the loss.
    package var key: KeyName? {
        switch self {
        case .open: nil
        case .sealed(let key): key
        case .keyGone(let key): key
        }
    }

    /// Whether the agent's words can leave: in the open, or under an existing key.
    package var canSpeak: Bool {
        switch self {
        case .open, .sealed(.some): true
        case .sealed(nil), .keyGone: false
        }
    }
}

/// Reason to answer a message with a fixed sentence. The agent never sees the message.
package enum MessageRefusal: String, Hashable, Sendable, CaseIterable {
    /// The message came sealed and stays unreadable: made with another key, altered, or sent a second time.
    case unreadable
    /// The message came in the open, and `encryption` is `require`.
    case cameOpen
    /// The message came sealed, and `encryption` is `off`.
    case cameSealed
}

/// A sealed message of the user, opened after its key arrived.
package enum OpenedText: Hashable, Sendable {
    case text(String)
    case unreadable
}

/// Sealing in the configuration.
package enum Encryption: String, Hashable, Sendable, CaseIterable {
    /// Sealed if the phone seals.
    case auto
    /// The bridge refuses open messages and says nothing in the open.
    case require
    case off
}
