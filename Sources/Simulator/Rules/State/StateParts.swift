// The two forms of each part of a relay's state, writer and reader together.

extension PhoneMessage {
    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("role", role.rawValue)
        writer.field("interaction", interaction)
        writer.field("text", text)
        writer.field("sealed_text", sealedText)
        writer.field("is_final", isFinal)
        writer.field("usage", json: usage)
        writer.field("finish_reason", finishReason)
        writer.moment("at", at)
        writer.field("streamed", streamed)
        writer.field("deltas", Int64(deltas))
        writer.field("attachments", json: attachments)
        writer.field("reply_to", replyTo)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        id = try reader.string("id")
        role = try reader.choice("role")
        interaction = try reader.optional("interaction")
        text = try reader.string("text")
        sealedText = try reader.optional("sealed_text")
        isFinal = try reader.flag("is_final")
        usage = reader.optionalJSON("usage")
        finishReason = try reader.optional("finish_reason")
        at = try reader.moment("at")
        streamed = try reader.string("streamed")
        deltas = try reader.integer("deltas")
        attachments = reader.optionalJSON("attachments")
        replyTo = try reader.optional("reply_to")
    }
}

extension PhoneTask {
    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("kind", kind)
        writer.field("interaction", interaction)
        writer.field("label", label)
        writer.field("arguments", json: arguments)
        writer.field("partial_result", json: partialResult)
        writer.field("result", json: result)
        writer.field("error", error)
        if let percent { writer.field("percent", Int64(percent)) }
        writer.field("status", status)
        writer.object("sealed") { twins in
            for (name, value) in sealed.sorted(by: { $0.key < $1.key }) { twins.field(name, value) }
        }
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        id = try reader.string("id")
        kind = try reader.string("kind")
        interaction = try reader.optional("interaction")
        label = try reader.optional("label")
        arguments = reader.optionalJSON("arguments")
        partialResult = reader.optionalJSON("partial_result")
        result = reader.optionalJSON("result")
        error = try reader.optional("error")
        percent = try reader.optionalInteger("percent")
        status = try reader.optional("status")
        let twins = try reader.object("sealed")
        for name in ["status_label_ct", "args_ct", "partial_result_ct", "error_ct", "result_ct"] {
            sealed[name] = try twins.optional(name)
        }
    }
}

extension PhoneApproval {
    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("session", session)
        writer.field("interaction", interaction)
        writer.field("title", title)
        writer.field("command", command)
        writer.field("message", message)
        writer.field("host", host)
        writer.field("details_ct", sealedDetails)
        writer.moment("asked_at", askedAt)
        writer.field("lifetime", lifetimeMilliseconds)
        writer.field("expiry_reason", expiryReason)
        writer.field("decision", decision)
        writer.field("reason", reason)
        writer.bytes("data", data)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        id = try reader.string("id")
        session = try reader.string("session")
        interaction = try reader.optional("interaction")
        title = try reader.string("title")
        command = try reader.optional("command")
        message = try reader.optional("message")
        host = try reader.optional("host")
        sealedDetails = try reader.optional("details_ct")
        askedAt = try reader.moment("asked_at")
        // Older states have neither: every card lived as long then.
        let usual = RelayOptions.Cards()
        lifetimeMilliseconds = try reader.optionalInteger("lifetime").map(Int64.init) ?? usual.lifetimeMilliseconds
        expiryReason = try reader.optional("expiry_reason") ?? usual.expiryReason
        decision = try reader.optional("decision")
        reason = try reader.optional("reason")
        data = try reader.bytes("data")
    }
}

extension PhoneEvent {
    func write(to writer: inout JSONWriter) {
        writer.field("id", json: String(id))
        writer.field("type", type)
        writer.bytes("data", data)
        writer.moment("at", at)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        id = try reader.number("id")
        type = try reader.string("type")
        data = try reader.bytes("data")
        at = try reader.moment("at")
    }
}

extension PendingUpdate {
    func write(to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("type", type)
        writer.field("installation", installation)
        writer.field("session", session)
        writer.field("interaction", interaction)
        writer.bytes("payload", payload)
        writer.moment("at", at)
        writer.field("was_sent", wasSent)
        writer.field("is_flat", isFlat)
        writer.field("is_doubled", isDoubled)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        id = try reader.string("id")
        type = try reader.string("type")
        installation = try reader.string("installation")
        session = try reader.optional("session")
        interaction = try reader.optional("interaction")
        payload = try reader.bytes("payload")
        at = try reader.moment("at")
        wasSent = try reader.flag("was_sent")
        isFlat = try reader.flag("is_flat")
        isDoubled = try reader.flag("is_doubled")
    }
}

extension Chats.Interaction {
    func write(_ id: String, to writer: inout JSONWriter) {
        writer.field("id", id)
        writer.field("session", session)
        writer.moment("since", since)
        writer.field("placeholder", placeholder)
        writer.field("ended", ended)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        session = try reader.string("session")
        since = try reader.moment("since")
        placeholder = try reader.optional("placeholder")
        ended = try reader.flag("ended")
    }
}

extension Relay.Remembered {
    func write(_ key: String, to writer: inout JSONWriter) {
        writer.field("key", key)
        writer.field("method", method)
        writer.bytes("body", body)
        writer.bytes("result", result)
        writer.moment("at", at)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        method = try reader.string("method")
        body = try reader.bytes("body")
        result = try reader.bytes("result")
        at = try reader.moment("at")
    }
}

extension AnnouncedFile {
    func write(to writer: inout JSONWriter) {
        writer.field("session", session)
        writer.field("blind_index", blindIndex)
        writer.field("path", path)
        writer.field("name", name)
        writer.field("tool", tool)
        writer.field("mime", mimeType)
        if let size { writer.field("size", Int64(size)) }
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        session = try reader.string("session")
        blindIndex = try reader.optional("blind_index")
        path = try reader.string("path")
        name = try reader.optional("name") ?? ""
        tool = try reader.optional("tool") ?? ""
        mimeType = try reader.optional("mime")
        size = try reader.optionalInteger("size")
    }
}

extension PairingCode {
    func write(to writer: inout JSONWriter) {
        writer.field("code", code)
        writer.field("poll_token", pollToken)
        writer.field("connector", connector)
        writer.moment("started_at", startedAt)
        writer.field("token", token)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        code = try reader.string("code")
        pollToken = try reader.string("poll_token")
        connector = try reader.string("connector")
        startedAt = try reader.moment("started_at")
        token = try reader.optional("token")
    }
}

extension RateBucket {
    func write(_ name: String, to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("tokens", json: "\(tokens)")
        writer.moment("as_of", asOf)
    }

    /// The bucket's shape comes from the options, which may have changed.
    mutating func restore(_ reader: StateReader) throws(StateReader.Fault) {
        tokens = min(shape.capacity, try reader.amount("tokens"))
        asOf = try reader.optionalMoment("as_of")
    }
}

extension Breach {
    func write(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("sentence", sentence)
        writer.field("method", method)
        writer.field("request", request)
        writer.moment("at", at)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        code = try reader.choice("code")
        sentence = try reader.string("sentence")
        method = try reader.string("method")
        request = try reader.string("request")
        at = try reader.moment("at")
    }
}

extension Warning {
    func write(to writer: inout JSONWriter) {
        writer.field("code", code.rawValue)
        writer.field("method", method)
        writer.field("count", Int64(count))
        writer.field("request", request)
        writer.moment("at", at)
    }

    init(_ reader: StateReader, number: UInt64) throws(StateReader.Fault) {
        code = try reader.choice("code")
        method = try reader.string("method")
        count = try reader.integer("count", from: 1)
        request = try reader.string("request")
        at = try reader.moment("at")
        self.number = number
    }
}

extension Tally {
    func write(to writer: inout JSONWriter) {
        writer.counts("calls", calls)
        writer.counts("refusals", refusals)
        writer.field("replays", Int64(replays))
        writer.field("faults", Int64(faults))
        writer.counts("tokens_taken", tokensTaken)
    }

    init(_ reader: StateReader) throws(StateReader.Fault) {
        calls = try reader.counts("calls")
        refusals = try reader.counts("refusals")
        replays = try reader.integer("replays")
        faults = try reader.integer("faults")
        tokensTaken = try reader.counts("tokens_taken")
    }
}
