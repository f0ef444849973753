/// An IPv4 or IPv6 address in figures. Names are no addresses: the network resolves them.
package enum NumericAddress: Hashable, Sendable {
    case version4([UInt8])
    /// Eight groups of sixteen bits.
    case version6([UInt16])

    package init?(_ text: String) {
        if let bytes = Self.version4Bytes(text[...]) {
            self = .version4(bytes)
        } else if let groups = Self.version6Groups(text) {
            self = .version6(groups)
        } else {
            return nil
        }
    }

    /// Whether the address leads to this machine, or to a network without public routes (RFC 1918, 3927, 4193, 4291).
    package var isPrivate: Bool {
        switch self {
        case .version4(let bytes): Self.isPrivate(bytes)
        case .version6(let groups): Self.isPrivate(groups)
        }
    }

    private static func isPrivate(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (127, _), (10, _), (192, 168), (169, 254), (172, 16...31): true
        default: false
        }
    }

    private static func isPrivate(_ groups: [UInt16]) -> Bool {
        if groups.dropLast().allSatisfy({ $0 == 0 }) { return groups[7] == 1 }
        if groups.prefix(5).allSatisfy({ $0 == 0 }), groups[5] == 0xFFFF {
            return isPrivate([UInt8(groups[6] >> 8), UInt8(groups[6] & 255), UInt8(groups[7] >> 8), 0])
        }
        return groups[0] & 0xFE00 == 0xFC00 || groups[0] & 0xFFC0 == 0xFE80
    }

    /// Whether the address is a host of the public internet. This machine, private, shared and link-local networks, groups of hosts, and
    /// addresses reserved for documents and protocols (the special-purpose registries of IANA, RFC 6890) are not.
    package var isPublic: Bool {
        switch self {
        case .version4(let bytes): Self.isPublic(bytes)
        case .version6(let groups): Self.isPublic(groups)
        }
    }

    private static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 4, !isPrivate(bytes) else { return false }
        return switch (bytes[0], bytes[1], bytes[2]) {
        case (0, _, _), (224..., _, _): false
        case (100, 64...127, _): false
        case (192, 0, 0), (192, 0, 2), (192, 88, 99), (198, 18...19, _), (198, 51, 100), (203, 0, 113): false
        default: true
        }
    }

    private static func isPublic(_ groups: [UInt16]) -> Bool {
        guard groups.count == 8 else { return false }
        // A translator's prefix (RFC 6052): the host is the embedded IPv4 address.
        if groups[0] == 0x64, groups[1] == 0xFF9B, groups[2..<6].allSatisfy({ $0 == 0 }) {
            return isPublic([
                UInt8(groups[6] >> 8), UInt8(groups[6] & 255), UInt8(groups[7] >> 8), UInt8(groups[7] & 255),
            ])
        }
        // Addresses beyond global unicast, mapped, compatible and unique local ones among them.
        guard groups[0] & 0xE000 == 0x2000 else { return false }
        return switch (groups[0], groups[1]) {
        // Protocols, tunnels with an embedded address (Teredo), documents.
        case (0x2001, 0..<0x200), (0x2001, 0xDB8): false
        // Tunnels with an embedded IPv4 address (6to4).
        case (0x2002, _): false
        case (0x3FFF, 0..<0x1000): false
        default: true
        }
    }

    /// Four figures without leading zeros, which some parsers read as octal.
    private static func version4Bytes(_ text: Substring) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in
            UInt8(part).flatMap { String($0) == part ? $0 : nil }
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6Groups(_ text: String) -> [UInt16]? {
        guard text.utf8.count <= 45, let gap = text.firstGap else {
            return groups(text[...]).flatMap { $0.count == 8 ? $0 : nil }
        }
        guard let left = groups(text[..<gap.lowerBound]), let right = groups(text[gap.upperBound...]),
            left.count + right.count <= 7
        else { return nil }
        return left + Array(repeating: 0, count: 8 - left.count - right.count) + right
    }

    /// Groups between colons. The last may be an IPv4 address, which makes two.
    private static func groups(_ text: Substring) -> [UInt16]? {
        if text.isEmpty { return [] }
        var parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 8 else { return nil }
        var tail: [UInt16] = []
        if let last = parts.last, let bytes = version4Bytes(last) {
            parts.removeLast()
            tail = [UInt16(bytes[0]) << 8 | UInt16(bytes[1]), UInt16(bytes[2]) << 8 | UInt16(bytes[3])]
        }
        let groups = parts.compactMap { part in
            (1...4).contains(part.utf8.count) && part.allSatisfy(\.isHexDigit) ? UInt16(part, radix: 16) : nil
        }
        return groups.count == parts.count ? groups + tail : nil
    }
}

extension String {
    /// Position of the one `::`.
    fileprivate var firstGap: Range<Index>? {
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            if next < endIndex, self[index] == ":", self[next] == ":" { return index..<self.index(after: next) }
            index = next
        }
        return nil
    }
}
