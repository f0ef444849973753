/// A misfortune asked for: it hits the next calls of a method, and is no breach of anybody.
package struct Fault: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case rateLimited(retryAfterMilliseconds: Int64, namesBucket: Bool)
        case status(Int, retryAfterMilliseconds: Int64?)
        /// Before the write took effect.
        case reset
        case slow(milliseconds: Int)
        /// After the write took effect.
        case replyLost
        case html
        /// Half a reply, after the write took effect.
        case truncated
        /// A reply of 10 MB, after the write took effect.
        case huge
        /// 429 whose `Retry-After` is this text.
        case oddRetryAfter(String)
        case redirect
        case unauthorized
        case refused(status: Int, code: String)
    }

    package var kind: Kind
    /// Nil: whatever bridge method comes next.
    package var method: String?
    package var count: Int

    package init(_ kind: Kind, method: String? = nil, count: Int = 1) {
        self.kind = kind
        self.method = method
        self.count = count
    }
}
