package import Vocabulary

/// Content without a key (relay.md#symmetric-envelope): a bubble's opening, and its end if no key ever came.
extension SealedContent {
    package static let emptyText = SealedContent([Member(.text, Envelope.emptyText)])

    /// Nil if the call has content.
    package static func withoutKey(of call: RelayCall) -> SealedContent? {
        switch call.post {
        case .open: emptyText
        case .message(let message): message.text.isEmpty ? emptyText : nil
        case .end(let end): end.text.isEmpty ? emptyText : nil
        case .taskEnded(let end): end.label == nil && end.error == nil && end.result == nil ? SealedContent([]) : nil
        case .text, .taskStarted, .taskProgress, .approval, nil: nil
        }
    }
}

// Seals the content of relay calls: the streamed form piece by piece, the stored form whole (relay.md#key-schedule).
extension SessionSealer {
    /// Most UTF-8 bytes of one field whose base64 stays within the relay's 64 KB (relay.md#size-limits).
    package static let fieldLimit = 65_536 / 4 * 3 - Envelope.overhead

    /// Nil if the call has no content. A call of another session traps: the devices of this one could read its content.
    package func content(of call: RelayCall, random: some SecretRandom) -> SealedContent? {
        var members: [SealedContent.Member] = []
        func add(_ field: SealedContent.Field, _ text: String?, _ path: SealedPath) {
            guard let text else { return }
            members.append(.init(field, seal(text, path, random: random)))
        }
        if case .chat(let chat, _) = call.address { precondition(chat == session, "sealed for another chat") }
        switch call.post {
        case .open:
            guard let mark = call.mark else { return .emptyText }
            add(.text, StateMark.text(mark), .messages)
        case .message(let message): add(.text, message.text, .messages)
        case .text(let text): add(.delta, text, .messages)
        case .end(let end): add(.text, end.text, .messages)
        case .taskStarted(let start):
            add(.statusLabel, start.label, .tasks)
            add(.arguments, start.arguments?.text, .tasks)
        case .taskProgress(let progress):
            add(.statusLabel, progress.label, .tasks)
            add(.partialResult, progress.partialResult?.text, .tasks)
        case .taskEnded(let end):
            add(.statusLabel, end.label, .tasks)
            add(.error, end.error, .tasks)
            add(.result, end.result?.text, .tasks)
        case .approval(let card):
            members.append(.init(.details, Base64.encode(seal(Self.details(of: card), .approvals, random: random))))
        case nil: return nil
        }
        return SealedContent(members)
    }

    /// Names the file for the phone alone; the relay knows only its blind index (relay.md#notifytoolfile).
    package func content(of file: SeenFile, random: some SecretRandom) -> SealedContent {
        let index = blindIndex(ofFile: file.path)
        return SealedContent([
            .init(.path, seal(file.path, .agentFile(index), random: random)),
            .init(.displayName, seal(file.name, .agentFile(index), random: random)), .init(.blindIndex, index.text),
        ])
    }

    /// relay.md#requestapproval.
    private static func details(of card: ApprovalCard) -> [UInt8] {
        var json = JSONObjectWriter()
        json.string("title", card.title)
        json.string("message", card.message)
        json.string("command", card.command)
        json.string("host", card.host)
        json.string("tool_call_id", card.toolCall?.text)
        json.string("approval_slug", card.slug)
        return json.finish()
    }
}
