package import Vocabulary

// The form in which the journal holds a turn: version 2 of the records. A table lists each kept type's fields once, with the key and the
// value of a field that the record leaves out; encoding and decoding both follow from the table.
//
// - To keep another field of a machine: one line in its table. A key is never used again for another field.
// - A field that older records lack needs `absent`, or an optional value. A released field is never renamed, and never changes its type.
// - `StoredTurnTests` finds every field of a machine that no table lists; the journals in Tests/Fixtures/journal hold the format.

/// One field of a kept value: its key, and both directions.
package struct Field<Root>: Sendable {
    package typealias Write = @Sendable (Root, inout KeyedEncodingContainer<FieldKey>) throws -> Void
    package typealias Read = @Sendable (inout Root, KeyedDecodingContainer<FieldKey>) throws -> Void

    package let write: Write
    package let read: Read
}

package struct FieldKey: CodingKey, ExpressibleByStringLiteral {
    package let stringValue: String
    package var intValue: Int? { nil }

    package init(_ name: String) { stringValue = name }
    package init(stringLiteral name: String) { stringValue = name }
    package init?(stringValue: String) { self.init(stringValue) }
    package init?(intValue: Int) { nil }
}

extension Field {
    package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable

    /// A field of every record.
    package init<Value: Codable & SendableMetatype>(always key: FieldKey, _ path: Path<Value>) {
        write = { try $1.encode($0[keyPath: path], forKey: key) }
        read = { $0[keyPath: path] = try $1.decode(Value.self, forKey: key) }
    }

    package init<Value: Codable & SendableMetatype>(_ key: FieldKey, _ path: Path<Value?>) {
        write = { try $1.encodeIfPresent($0[keyPath: path], forKey: key) }
        read = { $0[keyPath: path] = try $1.decodeIfPresent(Value.self, forKey: key) }
    }

    /// A record without the key means `absent`.
    package init<Value: Codable & Equatable & Sendable>(_ key: FieldKey, _ path: Path<Value>, absent: Value) {
        write = { if $0[keyPath: path] != absent { try $1.encode($0[keyPath: path], forKey: key) } }
        read = { $0[keyPath: path] = try $1.decodeIfPresent(Value.self, forKey: key) ?? absent }
    }

    /// A field in another form than the machine's. `write` returns nil to leave the key out, and `read` gets nil then.
    package init<Form: Codable & SendableMetatype>(
        _ key: FieldKey, write: @escaping @Sendable (Root) -> Form?,
        read: @escaping @Sendable (inout Root, Form?) -> Void
    ) {
        self.write = { try $1.encodeIfPresent(write($0), forKey: key) }
        self.read = { read(&$0, try $1.decodeIfPresent(Form.self, forKey: key)) }
    }

    /// A set, sorted, so that equal sets make equal records; an empty one has no key.
    package init<Element: Codable & Comparable & SendableMetatype>(_ key: FieldKey, _ path: Path<Set<Element>>) {
        self.init(key) {
            $0[keyPath: path].isEmpty ? nil : $0[keyPath: path].sorted()
        } read: {
            $0[keyPath: path] = Set($1 ?? [])
        }
    }

    /// JSON as a string.
    package init(_ key: FieldKey, _ path: Path<JSONText?>) {
        self.init(key) {
            $0[keyPath: path]?.text
        } read: {
            $0[keyPath: path] = $1.map { JSONText(unchecked: $0) }
        }
    }

    /// The field of a part of `Whole`, in the object of the whole.
    func of<Whole>(_ part: any WritableKeyPath<Whole, Root> & Sendable) -> Field<Whole> {
        let (write, read) = (write, read)
        return Field<Whole>(write: { try write($0[keyPath: part], &$1) }, read: { try read(&$0[keyPath: part], $1) })
    }
}

/// A value that a table of fields encodes and decodes.
package protocol Kept: Codable {
    /// The value before any field is read.
    static var blank: Self { get }
    /// Fields in the order in which they are read.
    static var fields: [Field<Self>] { get }
    /// Restores invariants that no single field holds, after all fields were read.
    mutating func fieldsRead()
}

extension Kept {
    package init(from decoder: any Decoder) throws {
        self = Self.blank
        let record = try decoder.container(keyedBy: FieldKey.self)
        for field in Self.fields { try field.read(&self, record) }
        fieldsRead()
    }

    package func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        for field in Self.fields { try field.write(self, &record) }
    }

    package mutating func fieldsRead() {}
}

/// A case that records spell in a word of their own, so that it may change its name.
package protocol KeptWord: Codable, CaseIterable {
    var word: String { get }
}

extension KeptWord {
    package init(from decoder: any Decoder) throws { self = try Self.read(decoder) }
    package func encode(to encoder: any Encoder) throws { try write(encoder) }

    static func read(_ decoder: any Decoder) throws -> Self {
        let container = try decoder.singleValueContainer()
        let word = try container.decode(String.self)
        guard let known = Self.allCases.first(where: { $0.word == word }) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no \(Self.self) is \(word)")
        }
        return known
    }

    func write(_ encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(word)
    }
}

// A raw value is a word of the outside, so these prefer `word` to the coding that the standard library derives from it.
extension KeptWord where Self: RawRepresentable<String> {
    package init(from decoder: any Decoder) throws { self = try Self.read(decoder) }
    package func encode(to encoder: any Encoder) throws { try write(encoder) }
}
extension KeptWord where Self: RawRepresentable<Int> {
    package init(from decoder: any Decoder) throws { self = try Self.read(decoder) }
    package func encode(to encoder: any Encoder) throws { try write(encoder) }
}

// An enum with payloads decodes its own container: the word chooses the case.
extension KeyedDecodingContainer<FieldKey> {
    subscript<Value: Decodable>(_ key: FieldKey) -> Value? {
        get throws { try decodeIfPresent(Value.self, forKey: key) }
    }

    func noCase(_ key: FieldKey, _ word: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: "no case is \(word)")
    }
}
