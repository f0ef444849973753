/// Words of a shell's text: quotes, variables, substitutions.
extension AskScan {
    /// The word at this place, or the words that it becomes.
    mutating func words(_ cursor: inout ShellCursor) -> [ShellWord] {
        var builder = ShellWordBuilder()
        while budget > 0, let byte = cursor.byte {
            budget -= 1
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "|"), UInt8(ascii: ")"),
                UInt8(ascii: "("):
                return builder.finished()
            case UInt8(ascii: "<"):
                guard cursor.has("<("), builder.isEmpty else { return builder.finished() }
                cursor.at += 2
                substitute(&cursor, into: &builder)
            case UInt8(ascii: ">"): return builder.finished()
            case UInt8(ascii: "\\"): escape(&cursor, &builder)
            case UInt8(ascii: "'"):
                cursor.at += 1
                builder.quoted()
                let end = cursor.text[cursor.at...].firstIndex(of: byte) ?? cursor.text.count
                budget -= end - cursor.at
                builder.add(cursor.text[cursor.at..<end])
                cursor.at = min(end + 1, cursor.text.count)
            case UInt8(ascii: "\""): quotes(&cursor, &builder)
            case UInt8(ascii: "$"): dollar(&cursor, &builder, isQuoted: false)
            case UInt8(ascii: "`"): backtick(&cursor, &builder, isQuoted: false)
            case UInt8(ascii: "~") where builder.isEmpty || builder.last == UInt8(ascii: "="): tilde(&cursor, &builder)
            case UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "["), UInt8(ascii: "+"), UInt8(ascii: "@"),
                UInt8(ascii: "!"):
                glob(&cursor, &builder, byte)
            case UInt8(ascii: "{"): mark(ShellMark.open, &cursor, &builder)
            case UInt8(ascii: ","): mark(ShellMark.comma, &cursor, &builder)
            case UInt8(ascii: "}"): mark(ShellMark.close, &cursor, &builder)
            default: mark(byte, &cursor, &builder)
            }
        }
        return builder.finished()
    }

    private func mark(_ byte: UInt8, _ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder) {
        builder.add(byte)
        cursor.at += 1
    }

    private func escape(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder) {
        if let next = cursor.ahead(1), next != 0x0A {
            builder.quoted()
            builder.add(next)
        }
        cursor.at = min(cursor.at + 2, cursor.text.count)
    }

    private mutating func quotes(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder) {
        cursor.at += 1
        builder.quoted()
        while budget > 0, let byte = cursor.byte {
            budget -= 1
            switch byte {
            case UInt8(ascii: "\""):
                cursor.at += 1
                return
            case UInt8(ascii: "\\"):
                let next = cursor.ahead(1) ?? byte
                let isEscape = [UInt8(ascii: "$"), UInt8(ascii: "`"), UInt8(ascii: "\""), byte, 0x0A].contains(next)
                if !isEscape { builder.add(byte) }
                if next != 0x0A { builder.add(next) }
                cursor.at = min(cursor.at + 2, cursor.text.count)
            case UInt8(ascii: "$"): dollar(&cursor, &builder, isQuoted: true)
            case UInt8(ascii: "`"): backtick(&cursor, &builder, isQuoted: true)
            default: mark(byte, &cursor, &builder)
            }
        }
    }

    private func glob(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder, _ byte: UInt8) {
        if cursor.ahead(1) == UInt8(ascii: "("), byte != UInt8(ascii: "[") {
            var inner = cursor
            inner.at += 2
            if let range = inner.enclosed(UInt8(ascii: "("), UInt8(ascii: ")"), limit: 256) {
                builder.add(ShellMark.any)
                cursor.at = range.upperBound + 1
                return
            }
        }
        switch byte {
        case UInt8(ascii: "*"): mark(ShellMark.any, &cursor, &builder)
        case UInt8(ascii: "?"): mark(ShellMark.one, &cursor, &builder)
        case UInt8(ascii: "["):
            let end = cursor.text[cursor.at...].prefix(16).firstIndex(of: UInt8(ascii: "]"))
            guard let end, end > cursor.at + 1 else { return mark(byte, &cursor, &builder) }
            builder.add(ShellMark.one)
            cursor.at = end + 1
        default: mark(byte, &cursor, &builder)
        }
    }

    private func tilde(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder) {
        cursor.at += 1
        let user = cursor.name()
        if user.isEmpty {
            builder.add(ShellMark.home)
        } else {
            builder.add(places.home(of: user))
        }
    }

    // MARK: Variables

    private mutating func dollar(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder, isQuoted: Bool) {
        cursor.at += 1
        guard let byte = cursor.byte else { return builder.add(UInt8(ascii: "$")) }
        switch byte {
        case UInt8(ascii: "'") where !isQuoted: escapes(&cursor, &builder)
        case UInt8(ascii: "\"") where !isQuoted: quotes(&cursor, &builder)
        case UInt8(ascii: "("):
            cursor.at += 1
            if cursor.byte == UInt8(ascii: "("), arithmetic(&cursor) {
                return builder.add(ShellMark.unknown)
            }
            add(output(&cursor), to: &builder, isQuoted: isQuoted)
        case UInt8(ascii: "{"):
            cursor.at += 1
            guard let range = cursor.enclosed(byte, UInt8(ascii: "}"), limit: 4_096) else {
                budget -= 4_096
                return builder.add([UInt8(ascii: "$"), byte])
            }
            let inner = Array(cursor.text[range])
            cursor.at = range.upperBound + 1
            add(parameter(inner), to: &builder, isQuoted: isQuoted)
        case UInt8(ascii: "@"), UInt8(ascii: "*"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "$"),
            UInt8(ascii: "!"), UInt8(ascii: "-"):
            cursor.at += 1
            add(value(of: String(decoding: [byte], as: UTF8.self)), to: &builder, isQuoted: isQuoted)
        case _ where byte.isDigit:
            cursor.at += 1
            add(value(of: String(decoding: [byte], as: UTF8.self)), to: &builder, isQuoted: isQuoted)
        case _ where byte.isNamePart:
            add(value(of: String(decoding: cursor.name(), as: UTF8.self)), to: &builder, isQuoted: isQuoted)
        default: builder.add(UInt8(ascii: "$"))
        }
    }

    private mutating func add(_ value: ShellValue, to builder: inout ShellWordBuilder, isQuoted: Bool) {
        budget -= value.values.reduce(0) { $0 + $1.count }
        builder.add(value, isQuoted: isQuoted)
    }

    func value(of name: String) -> ShellValue {
        if let value = variables[name] { return value }
        switch name {
        case "HOME": return ShellValue(values: [[ShellMark.home]])
        case "PWD":
            let path = folder.map { places.text($0) } ?? [ShellMark.unknown]
            return ShellValue(values: [path])
        case "IFS": return ShellValue(values: [[0x20]])
        case "USER", "LOGNAME": return ShellValue(values: [places.user])
        case "PATH": return ShellValue(values: [Array("/usr/local/bin:/usr/bin:/bin".utf8)])
        case "SHELL": return ShellValue(values: [Array("/bin/bash".utf8)])
        case "@", "*": return ShellValue(values: [[]])
        default: return ShellValue(values: [[ShellMark.unknown]])
        }
    }

    /// The value of `${…}`.
    private mutating func parameter(_ inner: [UInt8]) -> ShellValue {
        let unknown = ShellValue(values: [[ShellMark.unknown]])
        var cursor = ShellCursor(inner)
        let isIndirect = cursor.byte == UInt8(ascii: "!")
        if isIndirect { cursor.at += 1 }
        var name = cursor.name()
        if name.isEmpty, let byte = cursor.byte, [UInt8(ascii: "@"), UInt8(ascii: "*")].contains(byte) {
            name = [byte]
            cursor.at += 1
        }
        guard !name.isEmpty else { return unknown }
        var key = String(decoding: name, as: UTF8.self)
        if isIndirect {
            guard let target = variables[key]?.values.first else { return unknown }
            key = String(decoding: target, as: UTF8.self)
        }
        if cursor.byte == UInt8(ascii: "["),
            let end = cursor.text[cursor.at...].firstIndex(of: UInt8(ascii: "]"))
        {
            cursor.at = end + 1
        }
        let known = value(of: key)
        let isKnown = known != unknown
        var operation = Array(inner[cursor.at...])
        guard let first = operation.first else { return known }
        if first == UInt8(ascii: ":"), operation.count > 1, !"-=+?".utf8.contains(operation[1]) {
            return isKnown ? part(of: known, operation.dropFirst()) : unknown
        }
        if first == UInt8(ascii: ":") { operation.removeFirst() }
        let isEmpty = known.values.allSatisfy(\.isEmpty)
        switch operation.first {
        case UInt8(ascii: "-"), UInt8(ascii: "="):
            return isKnown && !isEmpty ? known : text(Array(operation.dropFirst()))
        case UInt8(ascii: "+"):
            return isKnown && isEmpty ? ShellValue(values: [[]]) : text(Array(operation.dropFirst()))
        default: return known
        }
    }

    /// The part of a value that `${name:offset:length}` names.
    private func part(of value: ShellValue, _ operation: ArraySlice<UInt8>) -> ShellValue {
        let numbers = operation.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
            Int(String(decoding: $0.filter { !$0.isSpace }, as: UTF8.self))
        }
        guard let start = numbers.first ?? nil, start >= 0, var bytes = value.values.first else {
            return ShellValue(values: [[ShellMark.unknown]])
        }
        if bytes.first == ShellMark.home { bytes = places.text(places.home) + bytes.dropFirst() }
        let rest = bytes.dropFirst(start)
        let length = numbers.count > 1 ? numbers[1] ?? rest.count : rest.count
        return ShellValue(values: [Array(rest.prefix(max(0, length)))])
    }

    /// Expands variables and substitutions within a text.
    private mutating func text(_ bytes: [UInt8]) -> ShellValue {
        guard depth < Self.depthLimit else {
            exhaust()
            return ShellValue(values: [])
        }
        depth += 1
        defer { depth -= 1 }
        var cursor = ShellCursor(bytes)
        var value: [UInt8] = []
        var isDownload = false
        while budget > 0, cursor.byte != nil {
            let before = cursor.at
            for word in words(&cursor) {
                value += (value.isEmpty ? [] : [0x20]) + word.bytes
                isDownload = isDownload || word.isDownload
            }
            if cursor.at == before { cursor.at += 1 }
        }
        return ShellValue(values: [value], isDownload: isDownload)
    }

    /// Reads `$'…'`.
    private mutating func escapes(_ cursor: inout ShellCursor, _ builder: inout ShellWordBuilder) {
        cursor.at += 1
        builder.quoted()
        let start = cursor.at
        while let byte = cursor.byte, byte != UInt8(ascii: "'") {
            cursor.at += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        let end = min(cursor.at, cursor.text.count)
        budget -= end - start
        builder.add(Self.unescaped(cursor.text[start..<end]))
        cursor.at = min(end + 1, cursor.text.count)
    }

    /// Replaces `\n`, `\x41`, `\101`, `\u0041`.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var made: [UInt8] = []
        var at = bytes.startIndex
        func number(_ limit: Int, base: UInt32) -> UInt32 {
            var value: UInt32 = 0
            for _ in 0..<limit {
                guard at < bytes.endIndex, let digit = bytes[at].digit, UInt32(digit) < base else { break }
                value = value &* base &+ UInt32(digit)
                at += 1
            }
            return value
        }
        while at < bytes.endIndex {
            let byte = bytes[at]
            at += 1
            guard byte == UInt8(ascii: "\\"), at < bytes.endIndex else {
                made.append(byte)
                continue
            }
            let next = bytes[at]
            at += 1
            switch next {
            case UInt8(ascii: "n"), UInt8(ascii: "r"): made.append(0x0A)
            case UInt8(ascii: "t"): made.append(0x09)
            case UInt8(ascii: "x"): made.append(plain(number(2, base: 16)))
            case UInt8(ascii: "0")...UInt8(ascii: "7"):
                if next != UInt8(ascii: "0") { at -= 1 }
                made.append(plain(number(3, base: 8)))
            case UInt8(ascii: "u"), UInt8(ascii: "U"):
                let scalar = Unicode.Scalar(number(next == UInt8(ascii: "u") ? 4 : 8, base: 16)) ?? "?"
                made += Array(String(Character(scalar)).utf8)
            default: made.append(next)
            }
        }
        return made
    }

    /// The byte itself, or a question mark if it would be a mark.
    private static func plain(_ value: UInt32) -> UInt8 {
        value < UInt32(ShellMark.first) ? UInt8(value) : UInt8(ascii: "?")
    }
}
