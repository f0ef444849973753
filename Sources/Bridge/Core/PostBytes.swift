import Vocabulary

// The size of a waiting post, its rest when it has to give way, and whether it may be read on the way.
extension Post {
    /// Bytes of a payload that had to give way, mark included.
    static let cutPayload = 1_000

    /// Bytes that the agent wrote.
    var payloadBytes: Int {
        switch self {
        case .open: 0
        case .text(let text): text.utf8.count
        case .taskStarted(let start): start.arguments.bytes + (start.label?.utf8.count ?? 0)
        case .taskProgress(let progress): progress.partialResult.bytes + (progress.label?.utf8.count ?? 0)
        case .taskEnded(let end): end.result.bytes + (end.error?.utf8.count ?? 0) + (end.label?.utf8.count ?? 0)
        case .approval(let card): card.message.utf8.count + (card.command?.utf8.count ?? 0)
        case .end(let end): end.text.utf8.count
        case .message(let message): message.text.utf8.count
        }
    }

    /// The post of a sealed turn cannot go out without a key.
    var needsKey: Bool {
        switch self {
        case .open: false
        case .text, .taskStarted, .taskProgress, .approval: true
        case .taskEnded(let end): end.label != nil || end.error != nil || end.result != nil
        case .end(let end): !end.text.isEmpty
        case .message(let message): !message.inTheOpen
        }
    }

    var isInTheOpen: Bool { if case .message(let message) = self { message.inTheOpen } else { false } }

    /// Nil if the post holds nothing that may be cut.
    var withPayloadCut: Post? {
        switch self {
        case .taskStarted(var start):
            guard let cut = start.arguments.cut else { return nil }
            start.arguments = cut
            return .taskStarted(start)
        case .taskEnded(var end):
            guard let cut = end.result.cut else { return nil }
            end.result = cut
            return .taskEnded(end)
        case .open, .text, .taskProgress, .approval, .end, .message: return nil
        }
    }
}

// Sealing makes a post a third longer, and escapes several fields into one.
extension Post {
    /// The 100 KB of a payload, should the relay count the base64 (relay.md#size-limits).
    private static let sealedPayload = 74_000

    /// The post, cut to a size that may be sealed. Ends, messages and texts are bounded by their makers.
    var fittingSealed: Post {
        switch self {
        case .taskStarted(var start):
            start.arguments = start.arguments?.cut(to: Self.sealedPayload)
            return .taskStarted(start)
        case .taskEnded(var end):
            end.result = end.result?.cut(to: Self.sealedPayload)
            return .taskEnded(end)
        // `CardText` fits a card when it makes one: words that are cut here could still be allowed.
        case .approval: return self
        case .open, .text, .taskProgress, .end, .message: return self
        }
    }
}

extension JSONText {
    fileprivate func cut(to limit: Int) -> JSONText {
        // Escaping may double it.
        text.utf8.count > limit ? .string(TextCut.marked(text, atMost: limit / 2 - 16)) : self
    }
}

extension JSONText? {
    fileprivate var bytes: Int { self?.text.utf8.count ?? 0 }

    /// Cut JSON would not be JSON, so a string holds its beginning. Nil if the payload is short enough.
    fileprivate var cut: JSONText? {
        guard let text = self?.text, text.utf8.count > Post.cutPayload * 2 + 64 else { return nil }
        return .string(TextCut.marked(text, atMost: Post.cutPayload))
    }
}
