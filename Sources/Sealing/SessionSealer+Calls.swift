package import BridgeModel

/// Content that needs no key (relay.md#symmetric-envelope): what a bubble opens with, and what it ends with when no key ever came.
extension SealedContent {
    package static let emptyText = SealedContent([Member(.text, Envelope.emptyText)])

    /// Nil for a call that says something.
    package static func withoutKey(of call: RelayCall) -> SealedContent? {
        switch call {
        case .sendMessage(let call): call.text.isEmpty ? emptyText : nil
        case .sendMessageEnd(let call): call.text.isEmpty ? emptyText : nil
        case .finishTask(let call):
            call.label == nil && call.error == nil && call.result == nil ? SealedContent([]) : nil
        case .sendMessageDelta, .createTask, .updateTask, .requestApproval, .createSession: nil
        }
    }
}

// What a relay call says, sealed: its streamed form in pieces, its stored form whole (relay.md#key-schedule).
extension SessionSealer {
    /// The most UTF-8 bytes of one field that still keep its base64 within the relay's 64 KB (relay.md#size-limits).
    package static let fieldLimit = 65_536 / 4 * 3 - Envelope.overhead

    /// Nil for a call without content. A call of another session is a caller's error: its content would be sealed for
    /// those of this one.
    package func content(of call: RelayCall, random: some SecretRandom) -> SealedContent? {
        var members: [SealedContent.Member] = []
        func add(_ field: SealedContent.Field, _ text: String?, _ path: SealedPath) {
            guard let text else { return }
            members.append(.init(field, seal(text, path, random: random)))
        }
        switch call {
        case .sendMessage(let call):
            precondition(call.session == session, "sealed for another chat")
            add(.text, call.text, .messages)
        case .sendMessageDelta(let call): add(.delta, call.delta, .messages)
        case .sendMessageEnd(let call): add(.text, call.text, .messages)
        case .createTask(let call):
            precondition(call.session == session, "sealed for another chat")
            add(.statusLabel, call.label, .tasks)
            add(.arguments, call.arguments?.text, .tasks)
        case .updateTask(let call):
            precondition(call.session == session, "sealed for another chat")
            add(.statusLabel, call.label, .tasks)
            add(.partialResult, call.partialResult?.text, .tasks)
        case .finishTask(let call):
            precondition(call.session == session, "sealed for another chat")
            add(.statusLabel, call.label, .tasks)
            add(.error, call.error, .tasks)
            add(.result, call.result?.text, .tasks)
        case .requestApproval(let call):
            precondition(call.session == session, "sealed for another chat")
            members.append(.init(.details, Base64.encode(seal(Self.details(of: call), .approvals, random: random))))
        case .createSession: return nil
        }
        return SealedContent(members)
    }

    /// relay.md#requestapproval.
    private static func details(of call: RequestApproval) -> [UInt8] {
        var json = JSONObjectWriter()
        json.string("title", call.title)
        json.string("message", call.message)
        json.string("command", call.command)
        json.string("host", call.host)
        json.string("tool_call_id", call.toolCall?.text)
        json.string("approval_slug", call.slug)
        return json.finish()
    }
}
