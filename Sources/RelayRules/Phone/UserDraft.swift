/// What the user sends, plain or sealed (relay sheet 9.1).
struct UserDraft {
    var text: String?
    var sealedText: String?
    /// A JSON array in the form of updates: `key`, `url`, `mime`, `name` (relay sheet 4.2, D16).
    var attachments: String?
    var replyTo: String?
    var thoughtLevel: String?
}

/// How far an `approve_always` reaches (relay sheet 4.4, D27).
package struct ApprovalScope: Sendable, Hashable {
    var kind: String?
    var value: String?

    package init(kind: String? = nil, value: String? = nil) {
        self.kind = kind
        self.value = value
    }
}
