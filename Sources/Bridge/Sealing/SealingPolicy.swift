package import Vocabulary

/// Decides which turns are sealed, once per turn at its beginning.
package enum SealingPolicy {
    package enum Verdict: Hashable, Sendable {
        case open
        case sealed
        /// The message came in the open, and open messages are refused: a fixed sentence answers, and the agent does not see it.
        case refusesOpen
        /// The message came sealed, and sealing is off: a fixed sentence answers, and the agent does not see it.
        case refusesSealed
    }

    /// Verdict for a message of the user. `hasKey`: its chat has a key, or had one.
    package static func verdict(cameSealed: Bool, hasKey: Bool, _ encryption: Encryption) -> Verdict {
        switch (encryption, cameSealed) {
        case (.off, true): .refusesSealed
        case (.off, false): .open
        case (.auto, true), (.require, true): .sealed
        // A relay that delivers one message in the open must not move a sealed chat into the open.
        case (.auto, false): hasKey ? .sealed : .open
        case (.require, false): .refusesOpen
        }
    }

    /// Verdict for a chat that the bridge makes itself. `hasHeldKey`: some chat of this installation had a key.
    package static func sealsOwnChat(hasHeldKey: Bool, _ encryption: Encryption) -> Bool {
        switch encryption {
        case .off: false
        case .auto: hasHeldKey
        case .require: true
        }
    }
}

extension KeyRing {
    package func sealsOwnChats(_ encryption: Encryption) -> Bool {
        SealingPolicy.sealsOwnChat(hasHeldKey: hasHeldKey, encryption)
    }
}
