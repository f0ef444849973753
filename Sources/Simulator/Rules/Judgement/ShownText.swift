/// A text of a card with its escapes such as `⟨U+202E⟩` undone. All comparisons are byte by byte:
/// canonically equivalent characters of Unicode are not the same file.
struct ShownText {
    private let bytes: [UInt8]
    /// JSON values within the text, and their strings.
    private let strings: [[UInt8]]
    private let values: [JSONValue]

    init(_ shown: String) {
        let bytes = Self.unescaped(shown)
        var values: [JSONValue] = []
        for candidate in Self.candidates(for: bytes) {
            switch try? JSONParser.parse(Array(candidate)) {
            case .object(let members)?: values.append(.object(members))
            case .array(let list)?: values.append(.array(list))
            default: break
            }
        }
        self.bytes = bytes
        self.values = values
        strings = values.flatMap { Self.strings(of: $0) }.map { Array($0.utf8) }
    }

    // MARK: Escapes

    static func unescaped(_ shown: String) -> [UInt8] {
        var text = String.UnicodeScalarView()
        var rest = shown.unicodeScalars[...]
        while let scalar = rest.first {
            if let (escaped, end) = escape(at: rest.startIndex, in: rest) {
                text.append(escaped)
                rest = rest[end...]
            } else {
                text.append(scalar)
                rest.removeFirst()
            }
        }
        return Array(String(text).utf8)
    }

    /// `⟨U+`, four to six capital hexadecimal digits, `⟩`.
    private static func escape(
        at start: String.UnicodeScalarView.Index, in text: Substring.UnicodeScalarView
    ) -> (scalar: Unicode.Scalar, end: String.UnicodeScalarView.Index)? {
        guard text[start] == "\u{27E8}" else { return nil }
        let head = Array(text[start...].prefix(10))
        guard let close = head.firstIndex(of: "\u{27E9}"), (7...9).contains(close), head[1] == "U", head[2] == "+"
        else {
            return nil
        }
        var value: UInt32 = 0
        for digit in head[3..<close] {
            guard let number = digit.properties.isASCIIHexDigit ? UInt32(String(digit), radix: 16) : nil,
                !("a"..."f").contains(digit)
            else { return nil }
            value = value << 4 | number
        }
        guard let scalar = Unicode.Scalar(value) else { return nil }
        return (scalar, text.index(start, offsetBy: close + 1))
    }

    /// Invisible scalars, and brackets that begin no escape. `spacesCount` includes spaces but U+0020, `linesCount` line ends and tabs.
    static func unseen(in shown: String, spacesCount: Bool, linesCount: Bool = false) -> [String] {
        let text = shown.unicodeScalars
        return text.indices.compactMap { index in
            let scalar = text[index]
            let isUnseen =
                switch scalar.properties.generalCategory {
                case .control: linesCount || (scalar != "\n" && scalar != "\t")
                case .format, .lineSeparator, .paragraphSeparator: true
                case .spaceSeparator: spacesCount && scalar != " "
                // A Braille pattern without dots is a symbol that shows nothing.
                default: scalar.properties.isDefaultIgnorableCodePoint || scalar == "\u{2800}"
                }
            let isBare = scalar == "\u{27E8}" && escape(at: index, in: text[...]) == nil
            guard isUnseen || isBare else { return nil }
            let digits = String(scalar.value, radix: 16, uppercase: true)
            return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        }
    }

    // MARK: JSON within

    /// The whole text, and the rest of each line from its first bracket.
    private static func candidates(for bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let tails = lines.compactMap { line in
            line.firstIndex { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }.map { line[$0...] }
        }
        return [bytes[...]] + (tails.first == bytes[...] ? Array(tails.dropFirst()) : tails)
    }

    private static func strings(of value: JSONValue) -> [String] {
        switch value {
        case .string(let text): [text]
        case .array(let list): list.flatMap { strings(of: $0) }
        case .object(let members): members.flatMap { [$0.name] + strings(of: $0.value) }
        case .null, .bool, .number: []
        }
    }

    /// Members in any order; numbers by their text.
    private static func ordered(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let list): .array(list.map { ordered($0) })
        case .object(let members):
            .object(
                members.map { JSONValue.Member(name: $0.name, value: ordered($0.value)) }
                    .sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) })
        case .null, .bool, .number, .string: value
        }
    }

    func holds(input: String) -> Bool {
        guard let wanted = try? JSONParser.parse(Array(input.utf8)) else { return false }
        // Compare bytes: Swift treats canonically equivalent strings as equal.
        let text = Array(Self.ordered(wanted).text.utf8)
        return values.contains { Array(Self.ordered($0).text.utf8) == text }
    }

    // MARK: Values of lines

    /// The rest of the first line that begins with `Folder: `. The agent's own text comes below it.
    func holds(folder: String) -> Bool {
        let label = Array("Folder: ".utf8)
        let line = bytes.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: label) }
        return line.map { Array($0.dropFirst(label.count)) == Array(folder.utf8) } ?? false
    }

    // MARK: Contents

    func holds(content: [UInt8]) -> Bool {
        ([bytes] + strings).contains { text in
            text.indices.contains { start in
                text.count - start >= content.count
                    && [Spelling.plain, .quoted, .json].contains { $0.end(of: content, in: text, from: start) != nil }
            } || content.isEmpty
        }
    }

    // MARK: Arguments

    func holds(arguments: [String]) -> Bool {
        let wanted = arguments.map { Array($0.utf8) }
        return !wanted.isEmpty && ([bytes] + strings).contains { Self.holds(wanted, in: $0) }
    }

    private static func holds(_ arguments: [[UInt8]], in text: [UInt8]) -> Bool {
        text.indices.contains { start in
            (start == 0 || isBoundary(text[start - 1])) && begins(arguments, in: text, at: start)
        }
    }

    /// Whether the arguments follow each other from `start`, to the end of a word.
    private static func begins(_ arguments: [[UInt8]], in text: [UInt8], at start: Int) -> Bool {
        var starts: Set = [start]
        for (number, argument) in arguments.enumerated() {
            var ends: Set<Int> = []
            var next: Set<Int> = []
            for start in starts {
                // An empty argument is visible only between quotes.
                if !argument.isEmpty, let end = Spelling.plain.end(of: argument, in: text, from: start) {
                    ends.insert(end)
                    next.formUnion(gaps(text, end))
                }
                if let end = QuotedWord.end(of: argument, in: text, from: start) {
                    ends.insert(end)
                    next.formUnion(gaps(text, end))
                }
                guard start < text.count, text[start] == UInt8(ascii: "\""),
                    let end = Spelling.json.end(of: argument, in: text, from: start + 1), end < text.count,
                    text[end] == UInt8(ascii: "\"")
                else { continue }
                ends.insert(end + 1)
                next.formUnion(comma(text, end + 1))
            }
            guard number + 1 < arguments.count else {
                return ends.contains { $0 == text.count || isBoundary(text[$0]) }
            }
            starts = next
            if starts.isEmpty { return false }
        }
        return false
    }

    /// Positions behind one space, and behind all spaces.
    private static func gaps(_ text: [UInt8], _ end: Int) -> [Int] {
        let rest = text[end...]
        let next = rest.firstIndex { !isSpace($0) } ?? text.count
        return next > end ? [end + 1, next] : []
    }

    private static func comma(_ text: [UInt8], _ end: Int) -> [Int] {
        let next = text[end...].firstIndex { !isSpace($0) } ?? text.count
        guard next < text.count, text[next] == UInt8(ascii: ",") else { return [] }
        return [text[(next + 1)...].firstIndex { !isSpace($0) } ?? text.count]
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A }

    /// Whether the byte cannot continue a word of a shell.
    private static func isBoundary(_ byte: UInt8) -> Bool { isSpace(byte) || "\"'`()[]{},;|&<>".utf8.contains(byte) }
}

/// A spelling of bytes within a text, without a gap.
private enum Spelling {
    /// Literal.
    case plain
    /// Between single quotes of a shell, with `'\''` for one of them; double quotes may replace them in between.
    case quoted
    /// Between the quotes of JSON.
    case json

    func end(of wanted: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        var (at, found) = (start, 0)
        while found < wanted.count {
            guard at < text.count else { return nil }
            switch self {
            case .plain:
                guard text[at] == wanted[found] else { return nil }
                (at, found) = (at + 1, found + 1)
            case .quoted:
                if wanted[found] == UInt8(ascii: "'") {
                    guard let quote = [#"'\''"#, #"'"'"'"#].first(where: { text[at...].starts(with: $0.utf8) }) else {
                        return nil
                    }
                    at += quote.utf8.count
                } else {
                    guard text[at] == wanted[found] else { return nil }
                    at += 1
                }
                found += 1
            case .json:
                guard let (piece, end) = Self.character(in: text, at: at), wanted[found...].starts(with: piece) else {
                    return nil
                }
                (at, found) = (end, found + piece.count)
            }
        }
        return at
    }

    /// One character of a JSON string, as bytes.
    private static func character(in text: [UInt8], at start: Int) -> (bytes: [UInt8], end: Int)? {
        guard text[start] == UInt8(ascii: "\\") else {
            return text[start] == UInt8(ascii: "\"") ? nil : ([text[start]], start + 1)
        }
        guard start + 1 < text.count else { return nil }
        let plain: [UInt8: UInt8] = [
            UInt8(ascii: "\""): 0x22, UInt8(ascii: "\\"): 0x5C, UInt8(ascii: "/"): 0x2F, UInt8(ascii: "b"): 0x08,
            UInt8(ascii: "f"): 0x0C, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
        ]
        if let byte = plain[text[start + 1]] { return ([byte], start + 2) }
        guard let first = unit(in: text, at: start) else { return nil }
        if let scalar = Unicode.Scalar(first) { return (Array(String(scalar).utf8), start + 6) }
        guard let second = unit(in: text, at: start + 6), (0xD800...0xDBFF).contains(first),
            (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { return nil }
        return (Array(String(scalar).utf8), start + 12)
    }

    private static func unit(in text: [UInt8], at start: Int) -> UInt32? {
        guard start + 6 <= text.count, text[start] == UInt8(ascii: "\\"), text[start + 1] == UInt8(ascii: "u") else {
            return nil
        }
        return UInt32(String(decoding: text[(start + 2)..<(start + 6)], as: UTF8.self), radix: 16)
    }
}

/// One word, read like a POSIX shell.
private enum QuotedWord {
    /// End of the word that begins at `start`, if it is the wanted one.
    static func end(of wanted: [UInt8], in text: [UInt8], from start: Int) -> Int? {
        var at = start
        var found = 0
        func takes(_ byte: UInt8) -> Bool {
            guard found < wanted.count, wanted[found] == byte else { return false }
            found += 1
            return true
        }
        while at < text.count, !" \t\n;&|<>()".utf8.contains(text[at]) {
            switch text[at] {
            case UInt8(ascii: "'"):
                at += 1
                while at < text.count, text[at] != UInt8(ascii: "'") {
                    guard takes(text[at]) else { return nil }
                    at += 1
                }
                guard at < text.count else { return nil }
            case UInt8(ascii: "\""):
                at += 1
                while at < text.count, text[at] != UInt8(ascii: "\"") {
                    if text[at] == UInt8(ascii: "\\"), at + 1 < text.count, "$`\"\\".utf8.contains(text[at + 1]) {
                        at += 1
                    }
                    guard takes(text[at]) else { return nil }
                    at += 1
                }
                guard at < text.count else { return nil }
            case UInt8(ascii: "\\"):
                at += 1
                guard at < text.count, takes(text[at]) else { return nil }
            default: guard takes(text[at]) else { return nil }
            }
            at += 1
        }
        return found == wanted.count && at > start ? at : nil
    }
}
