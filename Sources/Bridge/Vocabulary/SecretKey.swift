/// Thirty-two secret bytes: a session's key, a key derived from one, or a device's secret half.
///
/// All owners share one copy, which the last of them overwrites on release. Printing and
/// dumping hide it, and comparing takes the same time for any bytes.
package final class SecretKey: @unchecked Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    package static let length = 32

    // Unchecked, because only `deinit` writes here, when no other reference is left.
    private var storage: [UInt8]

    /// Nil unless there are exactly 32 bytes.
    package init?(_ bytes: consuming [UInt8]) {
        guard bytes.count == Self.length else { return nil }
        storage = bytes
    }

    /// Nil unless `hex` is 64 hexadecimal digits.
    package convenience init?(hex: String) {
        guard let bytes = Hexadecimal.bytes(hex) else { return nil }
        self.init(bytes)
    }

    deinit { Self.erase(&storage) }

    /// Bytes for the library's calls. A caller that keeps the array defeats the erasure.
    package var bytes: [UInt8] { storage }

    /// Digits for the key's file.
    package var hex: String { Hexadecimal.text(storage) }

    package static func == (left: SecretKey, right: SecretKey) -> Bool {
        var difference: UInt8 = 0
        for index in 0..<length { difference |= left.storage[index] ^ right.storage[index] }
        return difference == 0
    }

    package var description: String { "(hidden)" }
    package var debugDescription: String { "(hidden)" }
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }

    /// Not optimised: the compiler may drop a write to memory that is freed next.
    @inline(never) @_optimize(none)
    private static func erase(_ bytes: inout [UInt8]) {
        for index in bytes.indices { bytes[index] = 0 }
    }
}

/// Pairs of hexadecimal digits.
package enum Hexadecimal {
    /// Lower-case digits.
    package static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Accepts either case. Nil for any other text.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = text.utf8.map { digit in
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
            default: UInt8.max
            }
        }
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0 < 16 }) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
