/// Destination of notices.
package enum NoticeRecipient: Hashable, Sendable {
    /// A program and its arguments. `withheld` names variables that it must not see, besides those of the bridge.
    case command([String], withheld: [String])
    case webhook(NoticeAddress, token: Secret?)
}

/// Address of a webhook. Its query may contain a secret and is in no log.
package struct NoticeAddress: Hashable, Sendable, CustomStringConvertible {
    package let address: WebAddress
    package let query: String?

    package init(_ address: WebAddress, query: String? = nil) {
        self.address = address
        self.query = query
    }

    /// Address of the request, with its query.
    package var whole: String { query.map { "\(address)?\($0)" } ?? "\(address)" }
    package var description: String { query == nil ? "\(address)" : "\(address)?***" }
}

package enum NoticeAnswer: Hashable, Sendable {
    case told
    /// The reason has constant words and codes; `retryAfter` is the recipient's own wish.
    case failed(reason: String, retryAfter: Duration? = nil)
}

/// The way to a recipient. Each try gets one answer, in bounded time, even from a silent recipient.
package protocol NoticePort: Sendable {
    func tell(
        _ body: [UInt8], to recipient: NoticeRecipient, completion: @escaping @Sendable (NoticeAnswer) -> Void)
}
