/// Finds secrets in free text by their shape: relay tokens, keys with a known beginning, `Bearer …`, private keys, and the value after
/// a secret's name (`"token":"…"`, `password=…`, `Authorization: …`).
///
/// Redaction errs on the side of too much. A secret without a name or a shape passes, and so does one that is split over two frames;
/// `known` finds those of the bridge itself.
struct SecretShapes {
    /// Values that are secret in any position.
    private let known: [[UInt8]]
    private static let shortestKnown = 6

    init(known: [String] = []) {
        self.known = known.map { Array($0.utf8) }.filter { $0.count >= Self.shortestKnown }
    }

    /// Ranges to replace, in order and without overlaps.
    func ranges(in text: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var index = 0
        while index < text.count {
            if let range = knownValue(text, index) ?? Self.shape(text, index) ?? Self.named(text, index) {
                found.append(range)
                index = range.upperBound
            } else {
                index += 1
            }
        }
        return found
    }

    private func knownValue(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        for value in known where value[0] == text[index] && Bytes.has(text, index, value) {
            return index..<(index + value.count)
        }
        return nil
    }

    // MARK: Shapes

    private struct Prefix {
        var bytes: [UInt8]
        var shortest: Int

        init(_ text: String, _ shortest: Int) {
            bytes = Array(text.utf8)
            self.shortest = shortest
        }
    }

    private static let prefixes = [
        Prefix("s_live_", 16), Prefix("s_test_", 16), Prefix("dt_", 20), Prefix("pt_", 20), Prefix("sk_", 20),
        Prefix("sk-", 16), Prefix("agt_", 16), Prefix("ghp_", 20), Prefix("gho_", 20), Prefix("ghs_", 20),
        Prefix("ghu_", 20), Prefix("github_pat_", 20), Prefix("glpat-", 16), Prefix("xoxb-", 10), Prefix("xoxp-", 10),
        Prefix("xoxa-", 10), Prefix("xapp-", 10), Prefix("AKIA", 16), Prefix("AIza", 30),
    ]
    /// Most bytes to look at before a judgement, so that no text costs more than its length times this.
    private static let judged = 300
    private static let installation = Array("inst_".utf8)
    private static let jwt = Array("eyJ".utf8)
    private static let pem = Array("-----BEGIN ".utf8)
    private static let pemKind = Array("PRIVATE KEY-----".utf8)
    private static let pemEnd = Array("-----END ".utf8)
    private static let schemes = ["bearer ", "basic "].map { Array($0.utf8) }

    private static func shape(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        switch text[index] {
        case UInt8(ascii: "i"): return relayToken(text, index)
        case UInt8(ascii: "-"): return privateKey(text, index)
        case UInt8(ascii: "e"): return jsonWebToken(text, index)
        case UInt8(ascii: "B"), UInt8(ascii: "b"): return credentials(text, index)
        case UInt8(ascii: "s"), UInt8(ascii: "d"), UInt8(ascii: "p"), UInt8(ascii: "a"), UInt8(ascii: "g"),
            UInt8(ascii: "x"), UInt8(ascii: "A"):
            return prefixed(text, index)
        default: return nil
        }
    }

    /// `inst_…:s_…`, also with its colon as `%3A`, in any position.
    private static func relayToken(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        guard Bytes.has(text, index, installation) else { return nil }
        var end = Bytes.run(text, index + installation.count, Bytes.isAlphanumeric)
        guard end > index + installation.count, end < text.count else { return nil }
        if text[end] == UInt8(ascii: ":") {
            end += 1
        } else if Bytes.has(text, end, Array("%3A".utf8)) || Bytes.has(text, end, Array("%3a".utf8)) {
            end += 3
        } else {
            return nil
        }
        guard Bytes.has(text, end, Array("s_".utf8)) else { return nil }
        return index..<Bytes.run(text, end, Bytes.isWord)
    }

    private static func prefixed(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        guard Bytes.beginsWord(text, index) else { return nil }
        for prefix in prefixes where Bytes.has(text, index, prefix.bytes) {
            let start = index + prefix.bytes.count
            let end = Bytes.run(text, start, atMost: judged, Bytes.isWord)
            if end - start >= prefix.shortest, Bytes.looksRandom(text[start..<end]) {
                return index..<Bytes.run(text, end, Bytes.isWord)
            }
        }
        return nil
    }

    private static func jsonWebToken(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        guard Bytes.has(text, index, jwt), Bytes.beginsWord(text, index) else { return nil }
        var end = index
        for part in 0..<3 {
            let start = end
            end = Bytes.run(text, start, atMost: part == 0 ? judged : .max, Bytes.isWord)
            guard end - start >= 8 else { return nil }
            if part < 2 {
                guard end < text.count, text[end] == UInt8(ascii: ".") else { return nil }
                end += 1
            }
        }
        return index..<end
    }

    private static func credentials(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        guard Bytes.beginsWord(text, index) else { return nil }
        for scheme in schemes where Bytes.has(text, index, scheme, ignoringCase: true) {
            let start = index + scheme.count
            let end = Bytes.run(text, start, Bytes.isCredential)
            if end - start >= 8, Bytes.looksRandom(text[start..<end]) { return start..<end }
        }
        return nil
    }

    private static func privateKey(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        guard Bytes.has(text, index, pem) else { return nil }
        let near = index..<min(text.count, index + 60)
        guard let head = near.first(where: { Bytes.has(text, $0, pemKind) }) else { return nil }
        // Without an end the rest of the text counts as the key.
        guard let end = (head..<text.count).first(where: { Bytes.has(text, $0, pemEnd) }) else {
            return index..<text.count
        }
        return index..<end
    }

    // MARK: Values by name

    /// `index` is at the sign between a name and its value.
    private static func named(_ text: [UInt8], _ index: Int) -> Range<Int>? {
        let isColon = text[index] == UInt8(ascii: ":")
        guard isColon || text[index] == UInt8(ascii: "=") else { return nil }
        var last = index
        while last > 0, index - last < 8, Bytes.isQuoteOrBlank(text[last - 1]) { last -= 1 }
        var first = last
        while first > 0, last - first < 80, Bytes.isWord(text[first - 1]) { first -= 1 }
        let name = text[first..<last]
        guard !name.isEmpty, SecretNames.isSecret(name) else { return nil }
        let nameIsQuoted = text[last..<index].contains(where: Bytes.isQuote)
        guard !isColon || nameIsQuoted || SecretNames.isPlain(name) else { return nil }
        return value(text, after: index, takesLine: isColon && !nameIsQuoted && SecretNames.takesLine(name))
    }

    private static func value(_ text: [UInt8], after separator: Int, takesLine: Bool) -> Range<Int>? {
        var start = separator + 1
        var isQuoted = false
        while start < text.count, Bytes.isQuoteOrBlank(text[start]) {
            isQuoted = isQuoted || Bytes.isQuote(text[start])
            start += 1
        }
        let end = Bytes.run(text, start) { byte in
            if Bytes.isQuote(byte) || byte == UInt8(ascii: "\\") || byte == 10 || byte == 13 { return false }
            return isQuoted || takesLine || !Bytes.endsPlainValue(byte)
        }
        guard end > start, !text[start..<end].elementsEqual(Redaction.marker) else { return nil }
        return start..<end
    }
}
