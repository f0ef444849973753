package import Vocabulary

/// Something that happened on the phone or at the relay (relay.md#updates-relay-to-bridge). It comes at least once: who takes it remembers its id,
/// and besides the message's id or the fingerprint, since two relay nodes may send one update under two ids (relay.md#delivery-ack-replay).
package struct RelayUpdate: Hashable, Sendable {
    package var id: UpdateID
    /// In the relay's words, at most 64 characters.
    package var type: String
    package var receivedAt: Instant
    /// When the relay made it, in milliseconds since 1970, if it says so.
    package var createdAtWallMilliseconds: Int64?
    package var session: SessionID?
    package var interaction: InteractionID?
    package var installation: String?
    package var payload: Payload
    /// A hash of type and payload; nil for a message that has an id of its own.
    package var fingerprint: String?

    package init(
        id: UpdateID, type: String, receivedAt: Instant, createdAtWallMilliseconds: Int64? = nil,
        session: SessionID? = nil, interaction: InteractionID? = nil, installation: String? = nil, payload: Payload,
        fingerprint: String? = nil
    ) {
        self.id = id
        self.type = type
        self.receivedAt = receivedAt
        self.createdAtWallMilliseconds = createdAtWallMilliseconds
        self.session = session
        self.interaction = interaction
        self.installation = installation
        self.payload = payload
        self.fingerprint = fingerprint
    }

    package enum Payload: Hashable, Sendable {
        /// The user wrote. `sealedText`, base64, is what must be opened to have the text, which is empty until then.
        case message(UserMessage, sealedText: String?)
        /// The user pressed Stop, or the session went.
        case stop(StopReason)
        /// The user decided on an approval, or the relay did for the user, with a reason.
        case approval(ApprovalID, ApprovalDecision, Details)
        /// Nil: the agent's own choice.
        case model(String?)
        case sessionStarted
        case sessionEnded
        /// The user or the relay wants one tool call to end.
        case taskStopped(TaskID, reason: String?)
        case deviceAdded(Device)
        case deviceRevoked(device: String)
        /// A session's key, wrapped for this device.
        case sessionKeyGranted(device: String, wrappedKey: String)
        /// The link stops by itself after this.
        case installationRevoked(reason: String?)
        /// Nothing that a bridge acts on: it is counted and acknowledged by the link itself.
        case other
    }

    /// `other` in the words of a later relay.
    package enum StopReason: Hashable, Sendable {
        case userAborted, sessionDeleted, installationRevoked, navigationAway, other
    }

    package struct Details: Hashable, Sendable {
        package var reason: String?
        package var scope: DecisionScope

        package init(reason: String? = nil, scope: DecisionScope = .unscoped) {
            self.reason = reason
            self.scope = scope
        }
    }

    package struct Device: Hashable, Sendable {
        package var id: String
        /// 64 lowercase hexadecimal digits.
        package var publicKey: String
        package var label: String?
        package var platform: String?

        package init(id: String, publicKey: String, label: String? = nil, platform: String? = nil) {
            self.id = id
            self.publicKey = publicKey
            self.label = label
            self.platform = platform
        }
    }
}
