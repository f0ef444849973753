/// Size and completeness of a picture, read from its bytes without decoding.
///
/// Agents that keep pictures in their session send them with every later prompt. One picture that the model's provider refuses
/// would fail all of them, so the bridge refuses it first.
enum PictureShape {
    /// Longest edge that the providers of models take.
    static let edgeLimit = 8_000

    /// Rest of a sentence about the fault, or nil for a sound picture and for an unknown form.
    static func problem(of bytes: [UInt8]) -> String? {
        guard let found = png(bytes) ?? jpeg(bytes) ?? gif(bytes) ?? webp(bytes) else { return nil }
        guard let size = found.size, found.isWhole else { return "the picture is damaged" }
        return max(size.width, size.height) > edgeLimit
            ? "the agent takes pictures of up to \(edgeLimit) pixels in width and height" : nil
    }

    private typealias Found = (size: (width: Int, height: Int)?, isWhole: Bool)

    /// Nil if the number reaches beyond the end.
    private static func number(_ bytes: [UInt8], at place: Int, count: Int, isBigEndian: Bool = true) -> Int? {
        guard place >= 0, place + count <= bytes.count else { return nil }
        let digits = bytes[place..<place + count]
        return (isBigEndian ? Array(digits) : digits.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }

    private static func holds(_ text: StaticString, _ bytes: [UInt8], at place: Int = 0) -> Bool {
        let wanted = Array(text.description.utf8)
        return place + wanted.count <= bytes.count && bytes[place..<place + wanted.count].elementsEqual(wanted)
    }

    private static func size(_ width: Int?, _ height: Int?) -> (width: Int, height: Int)? {
        guard let width, let height, width > 0, height > 0 else { return nil }
        return (width, height)
    }

    /// Chunks: a length, a name, that many bytes, a checksum; `IHDR` is the first, `IEND` the last.
    private static func png(_ bytes: [UInt8]) -> Found? {
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) else { return nil }
        guard holds("IHDR", bytes, at: 12) else { return (nil, false) }
        let size = size(number(bytes, at: 16, count: 4), number(bytes, at: 20, count: 4))
        var place = 8
        while let length = number(bytes, at: place, count: 4) {
            let isLast = holds("IEND", bytes, at: place + 4)
            place += length + 12
            if isLast { return (size, place <= bytes.count) }
        }
        return (size, false)
    }

    /// Segments up to the scan, then the marker of the image's end. Within a scan that marker cannot occur: another byte follows
    /// each 0xFF.
    private static func jpeg(_ bytes: [UInt8]) -> Found? {
        guard bytes.starts(with: [0xFF, 0xD8, 0xFF]) else { return nil }
        var size: (width: Int, height: Int)?
        var place = 2
        while place + 1 < bytes.count, bytes[place] == 0xFF {
            let marker = bytes[place + 1]
            if marker == 0xFF {
                place += 1
                continue
            }
            guard let length = number(bytes, at: place + 2, count: 2), length >= 2 else { break }
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                size = Self.size(number(bytes, at: place + 7, count: 2), number(bytes, at: place + 5, count: 2))
            }
            place += 2 + length
            if marker == 0xDA { return (size, hasEnd(bytes, from: place)) }
        }
        return (size, false)
    }

    private static func hasEnd(_ bytes: [UInt8], from place: Int) -> Bool {
        guard place < bytes.count else { return false }
        let rest = bytes[place...]
        return zip(rest, rest.dropFirst()).contains { $0 == 0xFF && $1 == 0xD9 }
    }

    private static func gif(_ bytes: [UInt8]) -> Found? {
        guard holds("GIF8", bytes) else { return nil }
        let width = number(bytes, at: 6, count: 2, isBigEndian: false)
        return (size(width, number(bytes, at: 8, count: 2, isBigEndian: false)), true)
    }

    private static func webp(_ bytes: [UInt8]) -> Found? {
        guard holds("RIFF", bytes), holds("WEBP", bytes, at: 8) else { return nil }
        func little(_ place: Int, _ count: Int) -> Int? { number(bytes, at: place, count: count, isBigEndian: false) }
        let isWhole = little(4, 4).map { $0 + 8 <= bytes.count } == true
        if holds("VP8X", bytes, at: 12) {
            return (size(little(24, 3).map { $0 + 1 }, little(27, 3).map { $0 + 1 }), isWhole)
        }
        if holds("VP8L", bytes, at: 12) {
            let bits = little(21, 4)
            return (size(bits.map { ($0 & 0x3FFF) + 1 }, bits.map { ($0 >> 14 & 0x3FFF) + 1 }), isWhole)
        }
        return (size(little(26, 2).map { $0 & 0x3FFF }, little(28, 2).map { $0 & 0x3FFF }), isWhole)
    }
}
