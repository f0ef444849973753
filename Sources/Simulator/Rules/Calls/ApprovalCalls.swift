// Approvals of `/v1/bridge` (relay.md#requestapproval).
extension Relay {
    /// The plain fields that `details_ct` replaces.
    private static let sealedDetails = ["title", "message", "command", "host", "tool_call_id", "approval_slug"]

    mutating func requestApproval(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8] {
        let action = fields.required("action")
        let slug = fields.optional("approval_slug")
        let call = fields.optional("tool_call_id", atMost: 1_024)
        let severity = fields.enumeration("severity", ["low", "medium", "high", "critical"], required: false)
        var card = card(&fields, at: now)
        let hasLife = fields.member("expires_in_ms") != nil
        let key = fields.key(required: true)
        try fields.check()
        if let known = try replay(key, "requestApproval", body, at: now) { return known }
        if approvals[card.id] != nil {
            throw .conflict("The approval \(card.id) was asked already.", breach: .approvalAskedTwice)
        }
        try checkSession(card.session)
        try checkInteraction(card.interaction, in: card.session, at: now)
        try checkOpened(card.interaction, "The approval")
        let fault = counted(faults.strikeCard(hasLife: hasLife))
        if hasLife, !options.cards.knowsLifetime || fault == .cardLifeUnknown { throw Self.unknownLife }
        if case .cardEnds(let reason, let milliseconds) = fault {
            (card.expiryReason, card.lifetimeMilliseconds) = (reason, Int64(milliseconds))
        }
        card.data = JSONWriter.object { data in
            data.field("approval_id", card.id)
            data.field("session_id", card.session)
            data.field("interaction_id", card.interaction)
            data.field("approval_slug", slug)
            data.field("action", action)
            data.field("tool_call_id", call)
            data.field("title", card.sealedDetails == nil ? card.title : nil)
            data.field("severity", severity ?? "medium")
            data.field("command", card.command)
            data.field("host", card.host)
            data.field("message", card.message)
            data.field("details_ct", card.sealedDetails)
            data.field("expires_in_ms", card.lifetimeMilliseconds)
            data.field("ts", now.milliseconds)
        }
        approvals.ask(card)
        if case .cardOverLimit(let reason) = fault {
            settle(card.id, "deny", reason: reason, isOnPhone: false, at: now)
        } else if approvals.count(at: now, hourlyLimit: options.cards.hourlyLimit) {
            publish("approval_requested", card.data, at: now)
        } else {
            settle(card.id, "deny", reason: options.cards.limitReason, isOnPhone: false, at: now)
        }
        remember(key, "requestApproval", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    /// The card that a person sees, with its names and its life.
    private func card(_ fields: inout Fields, at now: Moment) -> PhoneApproval {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let id = fields.required("approval_id", atMost: 1_024)
        let sealed = fields.envelope("details_ct", atMost: Fields.textLimit)
        if sealed != nil {
            for name in Self.sealedDetails where fields.member(name) != nil {
                fields.complainOfBoth(name, "details_ct")
            }
        }
        let title = sealed == nil ? fields.required("title", atMost: 4_096) : ""
        let message = sealed == nil ? fields.optional("message", atMost: Fields.textLimit) : nil
        if sealed == nil, message?.isEmpty ?? true {
            fields.complain("message", .tooSmall, "at least 1 character", .emptyApprovalMessage)
        }
        let command = fields.optional("command", atMost: Fields.textLimit)
        let host = fields.optional("host", atMost: 4_096)
        let life = fields.integer("expires_in_ms", 1...options.cards.longestLifetimeMilliseconds)
        return PhoneApproval(
            id: id, session: session, interaction: interaction, title: title, command: command, message: message,
            host: host, sealedDetails: sealed, askedAt: now,
            lifetimeMilliseconds: life.map(Int64.init) ?? options.cards.lifetimeMilliseconds,
            expiryReason: options.cards.expiryReason, data: [])
    }

    /// No breach: the documents differ, and a bridge can learn it only from the refusal.
    private static var unknownLife: Refusal {
        let issue = FieldIssue(path: "expires_in_ms", code: .unrecognizedKeys, message: "is not known")
        return Refusal(
            status: 400, code: "invalid_request", message: "The body does not fit: expires_in_ms is not known.",
            issues: [issue])
    }
}
