/// A call that is answered with an error envelope (relay.md#response-envelope, relay.md#errors).
struct Refusal: Error {
    var status: Int
    var code: String
    var message: String
    var issues: [FieldIssue] = []
    var retryAfterMilliseconds: Int64?
    /// Rule that the bridge broke with the call, or nil for the phone's calls and for injected faults.
    var breach: BreachCode?

    static func notFound(_ code: String, _ what: String, breach: BreachCode?) -> Refusal {
        Refusal(status: 404, code: code, message: "\(what) is not known.", breach: breach)
    }

    static func conflict(_ message: String, breach: BreachCode) -> Refusal {
        Refusal(status: 409, code: "idempotency_conflict", message: message, breach: breach)
    }

    var body: [UInt8] {
        JSONWriter.object { writer in
            writer.field("ok", false)
            writer.object("error") { error in
                error.field("code", code)
                error.field("message", message)
                if !issues.isEmpty {
                    error.array("errors") { list in
                        for issue in issues { list.objectElement(issue.write) }
                    }
                }
                if let retryAfterMilliseconds { error.field("retry_after_ms", retryAfterMilliseconds) }
            }
        }
    }
}

/// A field that does not fit the schema. The codes are those of zod (relay.md#envelope-notes).
struct FieldIssue: Hashable, Sendable {
    enum Code: String, Hashable, Sendable {
        case invalidType = "invalid_type"
        case invalidString = "invalid_string"
        case invalidEnumValue = "invalid_enum_value"
        case tooSmall = "too_small"
        case tooBig = "too_big"
        case unrecognizedKeys = "unrecognized_keys"
        case custom
    }

    /// Dot-joined, array indexes bare; empty for the root.
    var path: String
    var code: Code
    var message: String
    var breach = BreachCode.malformedRequest

    func write(to writer: inout JSONWriter) {
        writer.field("path", path)
        writer.field("code", code.rawValue)
        writer.field("message", message)
    }
}
