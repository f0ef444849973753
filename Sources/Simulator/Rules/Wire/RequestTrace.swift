/// Headers that identify a call: `X-Request-ID`, `traceparent`, `tracestate` (relay.md#headers).
struct RequestTrace {
    let requestID: String
    private let parent: String
    private let state: String?

    init(_ headers: [RawHeader], using identifiers: inout IdentifierSource) {
        if let own = headers.value(of: "x-request-id"), Self.isEchoed(own) {
            requestID = own
        } else {
            requestID = "req_" + identifiers.hex16()
        }
        if let inbound = headers.value(of: "traceparent"), let kept = Self.traceAndFlags(of: inbound) {
            parent = "00-\(kept.trace)-\(identifiers.hex16())-\(kept.flags)"
        } else {
            parent = "00-\(identifiers.hex16())\(identifiers.hex16())-\(identifiers.hex16())-01"
        }
        state = headers.value(of: "tracestate")
    }

    var headers: [RawHeader] {
        var headers = [RawHeader("X-Request-ID", requestID), RawHeader("traceparent", parent)]
        if let state { headers.append(RawHeader("tracestate", state)) }
        return headers
    }

    private static func isEchoed(_ value: String) -> Bool {
        (1...64).contains(value.utf8.count)
            && value.utf8.allSatisfy { $0.isASCIIAlphanumeric || Array("._:-".utf8).contains($0) }
    }

    /// Parts of `00-<32 hex>-<16 hex>-<2 hex>`, or nil if the value has another form or an id of zeros alone.
    private static func traceAndFlags(of value: String) -> (trace: Substring, flags: Substring)? {
        let parts = value.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "00", parts[1].utf8.count == 32, parts[2].utf8.count == 16,
            parts[3].utf8.count == 2,
            parts.allSatisfy({ $0.utf8.allSatisfy { hexDigit($0) != nil && !$0.isASCIIUppercase } }),
            parts[1].utf8.contains(where: { $0 != UInt8(ascii: "0") }),
            parts[2].utf8.contains(where: { $0 != UInt8(ascii: "0") })
        else { return nil }
        return (parts[1], parts[3])
    }
}

extension UInt8 {
    var isASCIIUppercase: Bool { self &- UInt8(ascii: "A") < 26 }
    var isASCIIAlphanumeric: Bool {
        self &- UInt8(ascii: "0") < 10 || self &- UInt8(ascii: "a") < 26 || isASCIIUppercase
    }
}
