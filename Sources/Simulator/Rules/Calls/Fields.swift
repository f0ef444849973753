/// Reads the members of a request body by name and collects all misfits: one answer names all of them.
struct Fields {
    static let textLimit = 65_536
    static let payloadLimit = 102_400

    private let root: JSONValue
    private(set) var issues: [FieldIssue] = []
    /// Misfits that are accepted because the samples have them.
    private(set) var warnings: [WarningCode] = []
    private let acceptsSamples: Bool

    init(_ root: JSONValue, acceptsSamples: Bool = false) {
        self.root = root
        self.acceptsSamples = acceptsSamples
        if case .object = root { return }
        issues.append(FieldIssue(path: "", code: .invalidType, message: "expected an object"))
    }

    /// Parses a body. An empty one is an object without members.
    init(body: [UInt8]) throws(Refusal) {
        guard !body.isEmpty else {
            self.init(.object([]))
            return
        }
        do throws(JSONFault) { self.init(try JSONParser.parse(body)) } catch {
            throw Refusal(status: 400, code: "invalid_request", message: "The body is no JSON: \(error).")
        }
    }

    /// The member, or nil if it is absent or null.
    func member(_ name: String) -> JSONValue? { root[name].flatMap { $0 == .null ? nil : $0 } }

    mutating func required(_ name: String, atMost limit: Int = 256) -> String {
        let value = optional(name, atMost: limit)
        if value == nil, root[name] == nil {
            issues.append(FieldIssue(path: name, code: .invalidType, message: "required"))
        } else if value?.isEmpty == true {
            issues.append(FieldIssue(path: name, code: .tooSmall, message: "must not be empty"))
        }
        return value ?? ""
    }

    mutating func optional(_ name: String, atMost limit: Int = 256) -> String? {
        guard let member = root[name] else { return nil }
        guard let text = member.string else {
            issues.append(FieldIssue(path: name, code: .invalidType, message: "expected a string"))
            return nil
        }
        if text.utf8.count > limit {
            issues.append(
                FieldIssue(path: name, code: .tooBig, message: "at most \(limit) bytes", breach: .oversized))
        }
        return text
    }

    /// A string or null, or nil if the member is absent.
    mutating func nullable(_ name: String, atMost limit: Int) -> Nullable? {
        guard let member = root[name] else { return nil }
        return Nullable(text: member == .null ? nil : optional(name, atMost: limit))
    }

    /// The plain member or its sealed twin, never both (relay.md#bridge-rest-methods). Only a
    /// bridge's envelope is judged: a tester may have the phone send any string.
    mutating func pair(_ name: String, required: Bool, isJudged: Bool = true) -> Pair {
        let plain = optional(name, atMost: Fields.textLimit)
        let twin = "\(name)_ct"
        let sealed = isJudged ? envelope(twin, atMost: Fields.textLimit) : optional(twin, atMost: Fields.textLimit)
        if plain != nil, sealed != nil { complainOfBoth(name, twin) }
        if required, root[name] == nil, root["\(name)_ct"] == nil {
            issues.append(FieldIssue(path: name, code: .invalidType, message: "required"))
        }
        return Pair(plain: plain, sealed: sealed)
    }

    /// Any JSON, as compact text.
    mutating func json(_ name: String) -> String? {
        guard let member = root[name], member != .null else { return nil }
        let text = member.text
        if text.utf8.count > Self.payloadLimit {
            issues.append(FieldIssue(path: name, code: .tooBig, message: "at most 100 KB", breach: .oversized))
        }
        return text
    }

    mutating func enumeration(_ name: String, _ allowed: [String], required: Bool) -> String? {
        guard let member = root[name] else {
            if required { issues.append(FieldIssue(path: name, code: .invalidType, message: "required")) }
            return nil
        }
        guard let text = member.string, allowed.contains(text) else {
            issues.append(
                FieldIssue(
                    path: name, code: .invalidEnumValue, message: "expected one of \(allowed.joined(separator: ", "))"))
            return nil
        }
        return text
    }

    mutating func finishReason() -> String? {
        let documented = ["stop", "length", "content_filter", "tool_call"]
        guard acceptsSamples, root["finish_reason"]?.string == "error" else {
            return enumeration("finish_reason", documented, required: false)
        }
        warnings.append(.undocumentedFinishReason)
        return "error"
    }

    mutating func integer(_ name: String, _ range: ClosedRange<Int>) -> Int? {
        guard let member = root[name] else { return nil }
        guard let value = member.integer, range.contains(value) else {
            issues.append(FieldIssue(path: name, code: .invalidType, message: "expected a whole number in \(range)"))
            return nil
        }
        return value
    }

    /// Attachments that a bridge adds to a message: `[{key, mime, size, name}]`, as JSON
    /// (relay.md#sendmessage-whole-reply-or-the-placeholder-of-a-streamed-one).
    mutating func attachments() -> String? {
        guard let member = member("attachments") else { return nil }
        guard case .array(let list) = member, list.count <= 32 else {
            complain("attachments", .invalidType, "expected a list of at most 32", .malformedRequest)
            return nil
        }
        for (index, attachment) in list.enumerated() {
            guard attachment["key"]?.string != nil, attachment["mime"]?.string != nil,
                let size = attachment["size"]?.integer
            else {
                complain("attachments.\(index)", .invalidType, "needs key, mime and size", .malformedRequest)
                continue
            }
            if !(0...26_214_400).contains(size) {
                complain("attachments.\(index).size", .tooBig, "at most 25 MB", .oversized)
            }
        }
        return list.isEmpty ? nil : member.text
    }

    /// 1 to 64 characters of `[a-zA-Z0-9_-]` (relay.md#rules).
    mutating func key(required: Bool) -> String? {
        guard let member = root["idempotency_key"] else {
            if required {
                issues.append(
                    FieldIssue(path: "idempotency_key", code: .invalidType, message: "required", breach: .missingKey))
            }
            return nil
        }
        let text = member.string ?? ""
        let fits =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
        // The samples' keys have colons, and one contains the text of its delta: count characters, not bytes.
        if !fits, acceptsSamples, (1...64).contains(text.unicodeScalars.count) {
            warnings.append(.keyOutsideAlphabet)
        } else if !fits {
            issues.append(
                FieldIssue(
                    path: "idempotency_key", code: .invalidString, message: "1 to 64 characters of [a-zA-Z0-9_-]",
                    breach: .badKey))
        }
        return text
    }

    /// Warns about a deviation of the samples, or complains in strict mode.
    mutating func mind(
        _ warning: WarningCode, _ path: String, _ code: FieldIssue.Code, _ message: String, _ breach: BreachCode
    ) {
        if acceptsSamples { warnings.append(warning) } else { complain(path, code, message, breach) }
    }

    mutating func complain(_ path: String, _ code: FieldIssue.Code, _ message: String, _ breach: BreachCode) {
        issues.append(FieldIssue(path: path, code: code, message: message, breach: breach))
    }

    func check() throws(Refusal) {
        guard let first = issues.first else { return }
        throw Refusal(
            status: 400, code: "invalid_request", message: "The body does not fit: \(first.path) \(first.message).",
            issues: issues, breach: first.breach)
    }
}

/// A present member: a string, or null.
struct Nullable: Hashable, Sendable {
    var text: String?
}

struct Pair: Hashable, Sendable {
    var plain: String?
    var sealed: String?

    func write(_ name: String, to writer: inout JSONWriter) {
        writer.field(name, plain)
        writer.field("\(name)_ct", sealed)
    }

    /// Writes a pair whose plain form is JSON already.
    func writeJSON(_ name: String, to writer: inout JSONWriter) {
        writer.field(name, json: plain)
        writer.field("\(name)_ct", sealed)
    }
}
