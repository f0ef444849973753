/// Where notices go.
package enum NoticeRecipient: Hashable, Sendable {
    /// A program and its arguments. `withheld`: variables that it must not see, besides those of the bridge.
    case command([String], withheld: [String])
    case webhook(NoticeAddress, token: Secret?)
}

/// The address of a webhook. What is behind its question mark may hold a secret, and is in no log.
package struct NoticeAddress: Hashable, Sendable, CustomStringConvertible {
    package let address: WebAddress
    package let query: String?

    package init(_ address: WebAddress, query: String? = nil) {
        self.address = address
        self.query = query
    }

    /// For the request.
    package var whole: String { query.map { "\(address)?\($0)" } ?? "\(address)" }
    package var description: String { query == nil ? "\(address)" : "\(address)?***" }
}

package enum NoticeAnswer: Hashable, Sendable {
    case told
    /// Constant words and codes; `retryAfter`: the recipient's own wish.
    case failed(reason: String, retryAfter: Duration? = nil)
}

/// The way to a recipient. Each try is answered once, in bounded time, whatever the recipient does.
package protocol NoticePort: Sendable {
    func tell(
        _ body: [UInt8], to recipient: NoticeRecipient, completion: @escaping @Sendable (NoticeAnswer) -> Void)
}
