/// Bytes that no UTF-8 text has, for the parts of a word that are not text.
enum ShellMark {
    /// A value that only the shell will know.
    static let unknown: UInt8 = 0xF8
    /// Unquoted `*` and `?`.
    static let any: UInt8 = 0xF9
    static let one: UInt8 = 0xFA
    /// `{`, `,` and `}` of a brace expansion, until it is expanded.
    static let open: UInt8 = 0xFB
    static let comma: UInt8 = 0xFC
    static let close: UInt8 = 0xFD
    /// The home folder: an unquoted `~`, or `$HOME`.
    static let home: UInt8 = 0xFE

    static let first = unknown
}

/// A word of a shell's text, without its quotes and with the values that are known.
struct ShellWord: Hashable {
    /// UTF-8 and `ShellMark`.
    var bytes: [UInt8] = []
    var isQuoted = false
    /// The word holds the output of a download.
    var isDownload = false
    /// Known content of a `<(…)`, for the program that reads it.
    var flow: ShellFlow?

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }
    init(_ text: String) { bytes = Array(text.utf8) }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The name of the program without its path: `/usr/bin/sudo` is `sudo`.
    var program: String {
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return String(decoding: bytes[start...], as: UTF8.self)
    }

    var isOption: Bool { bytes.count > 1 && bytes[0] == UInt8(ascii: "-") }
    /// No byte of the word is known.
    var isUnknown: Bool { !bytes.isEmpty && bytes.allSatisfy { $0 == ShellMark.unknown } }
}

/// The known output of a command.
struct ShellFlow: Hashable {
    var isDownload = false
    /// The whole output.
    var text: [UInt8]?
    /// Paths that all written names lie under, as `find` writes them.
    var roots: [[UInt8]] = []
    /// Lines of a file with unknown content.
    var isOfFile = false

    /// Adds the output of a command that runs behind this one's.
    mutating func add(_ other: ShellFlow) {
        isDownload = isDownload || other.isDownload
        if let more = other.text { text = (text ?? []) + more }
        roots += other.roots
        isOfFile = isOfFile || other.isOfFile
    }
}

/// The value of a variable: one, or one of several (of a `for`, a `read`, an array).
struct ShellValue: Hashable {
    var values: [[UInt8]]
    var isDownload = false
}

/// A place in a text.
struct ShellCursor {
    let text: [UInt8]
    var at = 0
    /// The place behind the here-documents of this line, where the text continues.
    var hereEnd: Int?

    init(_ text: [UInt8]) { self.text = text }

    var byte: UInt8? { at < text.count ? text[at] : nil }

    func ahead(_ count: Int) -> UInt8? { at + count < text.count ? text[at + count] : nil }

    func has(_ prefix: String) -> Bool {
        let wanted = prefix.utf8
        return text.count - at >= wanted.count && zip(text[at...], wanted).allSatisfy { $0 == $1 }
    }

    mutating func skipBlanks() {
        while let byte, byte == 0x20 || byte == 0x09 { at += 1 }
    }

    /// Skips a newline at the end of a line, and the here-documents behind it.
    mutating func endLine() {
        at = max(at + 1, hereEnd ?? 0)
        hereEnd = nil
    }

    mutating func skipComment() {
        while let byte, byte != 0x0A { at += 1 }
    }

    /// The name of a variable at this place.
    mutating func name() -> [UInt8] {
        let start = at
        while let byte, byte.isNamePart { at += 1 }
        return Array(text[start..<at])
    }

    /// The range up to the closing bracket, past quotes and inner brackets. Nil if it does not close within `limit`.
    func enclosed(_ open: UInt8, _ close: UInt8, limit: Int) -> Range<Int>? {
        var (depth, place, quote) = (1, at, UInt8(0))
        while place < text.count, place - at < limit {
            let byte = text[place]
            if byte == UInt8(ascii: "\\"), quote != UInt8(ascii: "'") {
                place += 1
            } else if quote != 0 {
                if byte == quote { quote = 0 }
            } else if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") {
                quote = byte
            } else if byte == close {
                depth -= 1
                if depth == 0 { return at..<place }
            } else if byte == open {
                depth += 1
            }
            place += 1
        }
        return nil
    }

    /// The body of a here-document, which begins after this line, or after the body before it.
    mutating func hereBody(_ word: [UInt8], dropsTabs: Bool) -> [UInt8] {
        var place = hereEnd ?? (text[at...].firstIndex(of: 0x0A).map { $0 + 1 } ?? text.count)
        var body: [UInt8] = []
        while place < text.count {
            let end = text[place...].firstIndex(of: 0x0A) ?? text.count
            var line = text[place..<end]
            if dropsTabs { line = line.drop { $0 == 0x09 } }
            place = min(end + 1, text.count)
            if line.elementsEqual(word) { break }
            body += line + [0x0A]
        }
        hereEnd = place
        return body
    }
}

extension UInt8 {
    var isNamePart: Bool {
        self == UInt8(ascii: "_") || isDigit || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }

    /// The value of a hexadecimal digit.
    var digit: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x41 + 10
        case 0x61...0x66: self - 0x61 + 10
        default: nil
        }
    }
}

/// Collects a word. An unquoted variable splits it into several, and one of several values multiplies it.
struct ShellWordBuilder {
    private(set) var done: [ShellWord] = []
    private var current = [ShellWord()]
    private var hasBegun = false
    private var hasBraces = false

    static let limit = 16

    /// Nothing of the word precedes this place.
    var isEmpty: Bool { !hasBegun && done.isEmpty }

    var last: UInt8? { current[0].bytes.last }

    mutating func add(_ byte: UInt8) {
        hasBegun = true
        if (ShellMark.open...ShellMark.close).contains(byte) { hasBraces = true }
        for index in current.indices { current[index].bytes.append(byte) }
    }

    mutating func add(_ bytes: some Sequence<UInt8>) { for byte in bytes { add(byte) } }

    /// Quotes begin a word even if they are empty.
    mutating func quoted() {
        hasBegun = true
        for index in current.indices { current[index].isQuoted = true }
    }

    mutating func add(_ value: ShellValue, isQuoted: Bool) {
        if value.isDownload { downloaded() }
        if value.values.count > 1 {
            hasBegun = true
            let words = value.values.prefix(Self.limit).flatMap { value in
                current.map { word in
                    var word = word
                    word.bytes += value
                    return word
                }
            }
            current = Array(words.prefix(Self.limit))
        } else if isQuoted {
            add(value.values.first ?? [])
        } else {
            split(value.values.first ?? [])
        }
    }

    mutating func downloaded() {
        for index in current.indices { current[index].isDownload = true }
    }

    mutating func reads(_ flow: ShellFlow) {
        for index in current.indices { current[index].flow = flow }
    }

    private mutating func split(_ bytes: [UInt8]) {
        for byte in bytes {
            if byte.isSpace { close() } else { add(byte) }
        }
    }

    private mutating func close() {
        guard hasBegun else { return }
        done += current
        current = [ShellWord()]
        hasBegun = false
    }

    mutating func finished() -> [ShellWord] {
        close()
        return hasBraces ? done.flatMap(Self.braced) : done
    }

    /// `a{b,c}` is `ab ac`; braces that are no expansion are text again.
    private static func braced(_ word: ShellWord) -> [ShellWord] {
        var words = [word]
        var open = 0
        while open < words.count, words.count < limit {
            if let made = expanded(words[open]) { words.replaceSubrange(open...open, with: made) } else { open += 1 }
        }
        return words.map { word in
            var word = word
            word.bytes = word.bytes.map { byte in
                switch byte {
                case ShellMark.open: UInt8(ascii: "{")
                case ShellMark.comma: UInt8(ascii: ",")
                case ShellMark.close: UInt8(ascii: "}")
                default: byte
                }
            }
            return word
        }
    }

    /// Expands the innermost braces first.
    private static func expanded(_ word: ShellWord) -> [ShellWord]? {
        let bytes = word.bytes
        var open: Int?
        for (index, byte) in bytes.enumerated() {
            if byte == ShellMark.open { open = index }
            guard byte == ShellMark.close, let start = open else { continue }
            let pieces = bytes[(start + 1)..<index].split(
                separator: ShellMark.comma, maxSplits: limit, omittingEmptySubsequences: false)
            guard pieces.count > 1 else {
                open = nil
                continue
            }
            return pieces.map { piece in
                var made = word
                made.bytes = Array(bytes[..<start] + piece + bytes[(index + 1)...])
                return made
            }
        }
        return nil
    }
}
