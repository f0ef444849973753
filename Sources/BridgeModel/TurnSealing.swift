/// How what is said in a turn goes out: fixed when the turn begins, and stored with it.
package enum TurnSealing: Hashable, Sendable {
    case open
    /// Under this key to the turn's end, whatever key the session has by then. Nil: it has not come yet, and nothing may go out but
    /// the sealed empty text.
    case sealed(KeyName?)

    package var isSealed: Bool { self != .open }
}

/// What the configuration says of sealing.
package enum Encryption: String, Hashable, Sendable, CaseIterable {
    /// Sealed where the phone seals.
    case auto
    /// Nothing is taken or said in the open.
    case require
    case off
}
