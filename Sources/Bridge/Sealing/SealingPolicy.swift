package import Vocabulary

/// Which turns are sealed. Asked once for each, when it begins.
package enum SealingPolicy {
    package enum Verdict: Hashable, Sendable {
        case open
        case sealed
        /// It came in the open and nothing in the open is taken: a fixed sentence answers, and the agent does not see it.
        case refusesOpen
        /// It came sealed and sealing is switched off: likewise.
        case refusesSealed
    }

    /// For a message of the user. `hasKey`: its chat has a key, or had one.
    package static func verdict(cameSealed: Bool, hasKey: Bool, _ encryption: Encryption) -> Verdict {
        switch (encryption, cameSealed) {
        case (.off, true): .refusesSealed
        case (.off, false): .open
        case (.auto, true), (.require, true): .sealed
        // Whatever the relay makes of one message, what was begun sealed is not gone on with in the open.
        case (.auto, false): hasKey ? .sealed : .open
        case (.require, false): .refusesOpen
        }
    }

    /// For a chat that the bridge makes by itself. `hasHeldKey`: some chat of this installation had a key.
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
