/// Path and query of a request, split and decoded.
struct RequestTarget {
    let segments: [String]
    private let query: String
    private let path: String
    private let parameters: [String: String]

    init(_ target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = Self.decoded(parts.first ?? "")
        query = parts.count > 1 ? Self.decoded(parts[1]) : ""
        parameters = (parts.count > 1 ? parts[1] : "").split(separator: "&").reduce(into: [:]) { found, pair in
            let words = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            found[Self.decoded(words[0])] = words.count > 1 ? Self.decoded(words[1]) : ""
        }
        segments = (parts.first ?? "").split(separator: "/").map(Self.decoded)
    }

    /// A parameter of the query; the last of a name counts.
    func parameter(_ name: String) -> String? { parameters[name] }

    /// Whether path or query has a token, which is refused (relay.md#bridge-token): a known one, or any text in the shape of a bridge token.
    func carriesToken(_ options: RelayOptions) -> Bool {
        [path, query].contains { part in
            guard part.utf8.count > 8 else { return false }
            return Self.holds(part, options.bridgeToken) || Self.holds(part, options.userToken)
                || (Self.holds(part, "inst_") && (Self.holds(part, ":s_live_") || Self.holds(part, ":s_test_")))
        }
    }

    /// Compares bytes: every call needs five comparisons, and `contains` of characters was a sixth of a whole simulation.
    private static func holds(_ text: String, _ word: String) -> Bool {
        guard let first = word.utf8.first else { return false }
        var rest = text.utf8[...]
        while let at = rest.firstIndex(of: first) {
            rest = rest[at...]
            if rest.starts(with: word.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Percent-decoded. An invalid escape stays unchanged.
    private static func decoded(_ text: Substring) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(UInt8(ascii: "%")) else { return String(text) }
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexDigit(bytes[index + 1]),
                let low = hexDigit(bytes[index + 2])
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
