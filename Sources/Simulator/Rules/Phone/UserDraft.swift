/// A message of the user, plain or sealed (relay.md#rest).
struct UserDraft {
    var text: String?
    var sealedText: String?
    /// A JSON array in the form of updates: `key`, `url`, `mime`, `name` (relay.md#sessionmessage-the-user-wrote, D16).
    var attachments: String?
    var replyTo: String?
    var thoughtLevel: String?
}

/// Reach of an `approve_always` (relay.md#others, D27).
package struct ApprovalScope: Sendable, Hashable {
    var kind: String?
    var value: String?

    package init(kind: String? = nil, value: String? = nil) {
        self.kind = kind
        self.value = value
    }
}
