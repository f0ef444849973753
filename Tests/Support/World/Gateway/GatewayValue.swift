import FoundationEssentials

/// JSON as the scripted gateway reads and writes it. A codec of its own: a mistake in the bridge's reader or writer
/// would otherwise agree with itself.
indirect enum GatewayValue: Equatable, Sendable {
    case null
    case flag(Bool)
    case integer(Int)
    case text(String)
    case array([GatewayValue])
    case object([(name: String, value: GatewayValue)])

    static func == (left: GatewayValue, right: GatewayValue) -> Bool { left.bytes == right.bytes }

    static func parse(_ frame: [UInt8]) -> GatewayValue? {
        try? JSONDecoder().decode(GatewayValue.self, from: Data(frame))
    }

    /// Whether both values are equal, whatever the order of members.
    func means(_ other: GatewayValue?) -> Bool { other.map { ordered == $0.ordered } ?? false }

    private var ordered: GatewayValue {
        switch self {
        case .null, .flag, .integer, .text: self
        case .array(let elements): .array(elements.map(\.ordered))
        case .object(let members):
            .object(
                members.map { ($0.name, $0.value.ordered) }.sorted {
                    Array($0.0.utf8).lexicographicallyPrecedes($1.0.utf8)
                })
        }
    }

    subscript(name: String) -> GatewayValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    var string: String? { if case .text(let text) = self { text } else { nil } }
    var number: Int? { if case .integer(let number) = self { number } else { nil } }
    var elements: [GatewayValue] { if case .array(let elements) = self { elements } else { [] } }
    var names: [String] { if case .object(let members) = self { members.map(\.name) } else { [] } }
    var isObject: Bool { if case .object = self { true } else { false } }

    /// The object with one more member, or unchanged if the value is nil.
    func with(_ name: String, _ value: GatewayValue?) -> GatewayValue {
        guard let value, case .object(let members) = self else { return self }
        return .object(members + [(name, value)])
    }

    /// The object with the members of another behind its own.
    func with(_ more: GatewayValue) -> GatewayValue {
        guard case .object(let members) = self, case .object(let others) = more else { return self }
        return .object(members + others)
    }

    var bytes: [UInt8] {
        var out: [UInt8] = []
        write(to: &out)
        return out
    }

    private func write(to out: inout [UInt8]) {
        switch self {
        case .null: out += Array("null".utf8)
        case .flag(let flag): out += Array((flag ? "true" : "false").utf8)
        case .integer(let number): out += Array(String(number).utf8)
        case .text(let text): Self.write(text, to: &out)
        case .array(let elements):
            out.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                element.write(to: &out)
            }
            out.append(UInt8(ascii: "]"))
        case .object(let members):
            out.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                Self.write(member.name, to: &out)
                out.append(UInt8(ascii: ":"))
                member.value.write(to: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
    }

    private static func write(_ text: String, to out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": out += Array("\\\"".utf8)
            case "\\": out += Array("\\\\".utf8)
            case "\n": out += Array("\\n".utf8)
            case "\t": out += Array("\\t".utf8)
            case "\r": out += Array("\\r".utf8)
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                out += Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
            default: out += Array(String(scalar).utf8)
            }
        }
        out.append(UInt8(ascii: "\""))
    }
}

extension GatewayValue: Decodable {
    private struct Name: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Tries the most frequent kind first: every wrong try costs a thrown error.
    init(from decoder: any Decoder) throws {
        let single = try decoder.singleValueContainer()
        if let text = try? single.decode(String.self) {
            self = .text(text)
        } else if let members = try? decoder.container(keyedBy: Name.self) {
            self = .object(
                try members.allKeys.map { ($0.stringValue, try members.decode(GatewayValue.self, forKey: $0)) })
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [GatewayValue] = []
            while !list.isAtEnd { elements.append(try list.decode(GatewayValue.self)) }
            self = .array(elements)
        } else if single.decodeNil() {
            self = .null
        } else if let number = try? single.decode(Int.self) {
            self = .integer(number)
        } else if let flag = try? single.decode(Bool.self) {
            self = .flag(flag)
        } else {
            // A number beyond Int. No test needs its value, and the frame must still parse.
            self = .null
        }
    }
}

extension GatewayValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .integer(value) }
    init(booleanLiteral value: Bool) { self = .flag(value) }
    init(arrayLiteral elements: GatewayValue...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, GatewayValue)...) { self = .object(elements.map { ($0.0, $0.1) }) }
}
