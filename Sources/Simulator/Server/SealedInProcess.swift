import Locking
package import RelayRules

// Sealed chats for a bridge or a phone in the same process, which makes and opens the boxes and envelopes itself.
extension RelaySimulator {
    /// Makes an empty chat of the user and returns its id.
    package func userStartsSession() -> String {
        let now = clock.now()
        return change { $0.relay.userStartsSession(at: now) }
    }

    /// The user writes, in an envelope.
    @discardableResult
    package func userSends(sealedText: String, session: String) -> UserMessage {
        let now = clock.now()
        return change { state in
            let sent = state.relay.userSends(sealedText: sealedText, session: session, at: now)
            return UserMessage(session: sent.session, interaction: sent.interaction, message: sent.message)
        }
    }

    /// Returns the id of the bridge's device.
    package func bridgeRegisters(publicKey: String, label: String) -> String {
        let now = clock.now()
        return change { $0.relay.bridgeRegisters(publicKey: publicKey, label: label, at: now).device }
    }

    package func userGrants(session: String, _ boxes: [(device: String, box: String)]) {
        let now = clock.now()
        change { $0.relay.userGrants(session: session, boxes, at: now) }
    }

    package func bridgeGrants(session: String, _ boxes: [(device: String, box: String)]) {
        let now = clock.now()
        change { $0.relay.bridgeGrants(session: session, boxes, at: now) }
    }

    package var phoneDevices: [Device] { state.withLock { $0.relay.phoneDevices } }
}
