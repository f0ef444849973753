package import Vocabulary

/// An event on the phone or at the relay (relay.md#updates-relay-to-bridge). It comes at least once: its taker remembers its id, and also the
/// message's id or the fingerprint, since two relay nodes may send one update under two ids (relay.md#delivery-ack-replay).
package struct RelayUpdate: Hashable, Sendable {
    package var id: UpdateID
    /// The relay's word, at most 64 bytes.
    package var type: String
    package var receivedAt: Instant
    /// Time of the relay in milliseconds since 1970, or nil if the update has none.
    package var createdAtWallMilliseconds: Int64?
    package var session: SessionID?
    package var interaction: InteractionID?
    package var installation: String?
    package var payload: Payload
    /// Hash of type and payload, or nil for a message with an id of its own.
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
        /// The user wrote. `sealedText` is base64; until it is opened, the message's text is empty.
        case message(UserMessage, sealedText: String?)
        /// The user pressed Stop, or the session is gone.
        case stop(StopReason)
        /// The user decided on an approval, or the relay did, with a reason.
        case approval(ApprovalID, ApprovalDecision, Details)
        /// A model, or nil for the agent's own choice.
        case model(String?)
        case sessionStarted
        case sessionEnded
        /// The user or the relay wants one tool call to end.
        case taskStopped(TaskID, reason: String?)
        case deviceAdded(Device)
        case deviceRevoked(device: String)
        /// A session's key, wrapped for the device.
        case sessionKeyGranted(device: String, wrappedKey: String)
        /// The link stops by itself after this.
        case installationRevoked(reason: String?)
        /// No bridge acts on it. The link itself counts and acknowledges it.
        case other
    }

    /// `other` is a reason of a later relay.
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
        /// 64 lower-case hexadecimal digits.
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
