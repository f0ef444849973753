/// One call of the relay's bridge API, as a value (relay.md#bridge-rest-methods): its address, its content, and
/// the key by which the relay recognises a repetition. The room RelayProtocol encodes it.
package struct RelayCall: Hashable, Sendable {
    package enum Address: Hashable, Sendable {
        case chat(SessionID, InteractionID?)
        /// An open bubble.
        case bubble(MessageID)
        /// The relay itself.
        case relay
    }

    package enum Content: Hashable, Sendable {
        case post(Post)
        case newSession(source: String?)
        case toolFile(ToolFile.Use, SeenFile)
    }

    package var address: Address
    package var content: Content
    /// Nil if the method has none.
    package var key: IdempotencyKey?
    /// `StateMark.bits` of a placeholder, or nil if the placeholder is one space.
    package var mark: UInt32?

    package init(_ post: Post, to address: Address, key: IdempotencyKey, mark: UInt32? = nil) {
        content = .post(post)
        self.address = address
        self.key = key
        self.mark = mark
    }

    private init(_ content: Content, to address: Address) { (self.content, self.address) = (content, address) }

    /// A lost reply costs one empty chat.
    package static func newSession(source: String?) -> RelayCall { RelayCall(.newSession(source: source), to: .relay) }
    /// The relay identifies the file by chat and path, and accepts a repetition.
    package static func toolFile(_ use: ToolFile.Use, _ file: SeenFile, in session: SessionID) -> RelayCall {
        RelayCall(.toolFile(use, file), to: .chat(session, nil))
    }

    package var post: Post? { if case .post(let post) = content { post } else { nil } }
    package var interaction: InteractionID? { if case .chat(_, let interaction) = address { interaction } else { nil } }
}

/// Token buckets of the relay that this bridge draws from (relay.md#buckets).
package enum RelayBucket: String, Hashable, Sendable, CaseIterable {
    case msg, delta, task, approval
    case `default`
}
