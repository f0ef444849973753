/// A JSON document as a tree. Numbers keep their text: an agent's number reaches the phone digit for digit.
indirect enum JSONValue: Hashable, Sendable {
    struct Member: Hashable, Sendable {
        var name: String
        var value: JSONValue
    }

    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    var string: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number, if it is written as a whole one; `1.0` and `1e2` give nil.
    var integer: Int? {
        guard case .number(let text) = self else { return nil }
        return Int(text)
    }

    /// The number, if a double can hold it.
    var double: Double? {
        guard case .number(let text) = self, let double = Double(text), double.isFinite else { return nil }
        return double
    }

    /// Compact JSON text.
    var text: String {
        var writer = JSONWriter()
        writer.append(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
