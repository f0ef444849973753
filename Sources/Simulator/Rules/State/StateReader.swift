/// Reads the members of one object of a state, and names the place of a flaw.
struct StateReader {
    struct Fault: Error, Hashable {
        var path: String
        var what: String
    }

    /// Larger than any count, and small enough that sums stay far from overflow: an edited document must not make the relay trap later.
    static let largestNumber = 1 << 53

    private let root: JSONValue
    private let path: String

    init(_ root: JSONValue, path: String = "") {
        self.root = root
        self.path = path
    }

    func fault(_ name: String, _ what: String) -> Fault { Fault(path: place(name), what: what) }

    private func place(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

    func has(_ name: String) -> Bool { root[name] != nil }

    func optional(_ name: String) throws(Fault) -> String? {
        guard let member = root[name] else { return nil }
        guard let text = member.string else { throw fault(name, "is no string") }
        return text
    }

    func string(_ name: String) throws(Fault) -> String {
        guard let text = try optional(name) else { throw fault(name, "is missing") }
        return text
    }

    func optionalInteger(_ name: String, from least: Int = 0) throws(Fault) -> Int? {
        guard let member = root[name] else { return nil }
        guard let value = member.integer, (least...Self.largestNumber).contains(value) else {
            throw fault(name, "is no whole number from \(least) to \(Self.largestNumber)")
        }
        return value
    }

    func integer(_ name: String, from least: Int = 0) throws(Fault) -> Int {
        guard let value = try optionalInteger(name, from: least) else { throw fault(name, "is missing") }
        return value
    }

    func number(_ name: String, from least: Int = 0) throws(Fault) -> UInt64 {
        UInt64(try integer(name, from: least))
    }

    /// Any number of 64 bits.
    func bits(_ name: String) throws(Fault) -> UInt64 {
        guard case .number(let text) = root[name], let value = UInt64(text) else {
            throw fault(name, "is no whole number of 64 bits")
        }
        return value
    }

    func amount(_ name: String) throws(Fault) -> Double {
        guard let value = root[name]?.double, (0...1e12).contains(value) else {
            throw fault(name, "is no number from 0 to 1e12")
        }
        return value
    }

    func flag(_ name: String) throws(Fault) -> Bool {
        guard case .bool(let flag) = root[name] else { throw fault(name, "is neither true nor false") }
        return flag
    }

    func optionalMoment(_ name: String) throws(Fault) -> Moment? {
        try optionalInteger(name).map { Moment(milliseconds: Int64($0)) }
    }

    func moment(_ name: String) throws(Fault) -> Moment { Moment(milliseconds: Int64(try integer(name))) }

    func choice<Choice: RawRepresentable<String>>(_ name: String) throws(Fault) -> Choice {
        guard let choice = Choice(rawValue: try string(name)) else { throw fault(name, "is unheard of") }
        return choice
    }

    /// Any JSON, as compact text.
    func json(_ name: String) throws(Fault) -> String {
        guard let member = root[name] else { throw fault(name, "is missing") }
        return member.text
    }

    func optionalJSON(_ name: String) -> String? { root[name]?.text }

    func optionalBytes(_ name: String) throws(Fault) -> [UInt8]? { try optional(name).map { Array($0.utf8) } }
    func bytes(_ name: String) throws(Fault) -> [UInt8] { Array(try string(name).utf8) }

    func object(_ name: String) throws(Fault) -> StateReader {
        guard let member = root[name], case .object = member else { throw fault(name, "is no object") }
        return StateReader(member, path: place(name))
    }

    func list(_ name: String) throws(Fault) -> [StateReader] {
        guard case .array(let values) = root[name] else { throw fault(name, "is no list") }
        return values.enumerated().map { StateReader($0.element, path: "\(place(name))[\($0.offset)]") }
    }

    func strings(_ name: String) throws(Fault) -> [String] {
        guard case .array(let values) = root[name] else { throw fault(name, "is no list") }
        let texts = values.compactMap(\.string)
        guard texts.count == values.count else { throw fault(name, "is no list of strings") }
        return texts
    }

    func counts(_ name: String) throws(Fault) -> [String: Int] {
        guard case .object(let members) = root[name] else { throw fault(name, "is no object") }
        var counts: [String: Int] = [:]
        for member in members {
            guard let count = member.value.integer, (0...Self.largestNumber).contains(count) else {
                throw fault(name, "is no object of whole numbers from 0")
            }
            counts[member.name] = count
        }
        return counts
    }
}

extension JSONWriter {
    mutating func moment(_ name: String, _ moment: Moment?) {
        if let moment { field(name, moment.milliseconds) }
    }

    /// Bytes that were judged to be JSON, and so are UTF-8.
    mutating func bytes(_ name: String, _ bytes: [UInt8]?) {
        field(name, bytes.map { String(decoding: $0, as: UTF8.self) })
    }

    mutating func strings(_ name: String, _ texts: [String]) {
        array(name) { list in for text in texts { list.element(json: Array(JSONValue.string(text).text.utf8)) } }
    }

    mutating func counts(_ name: String, _ counts: [String: Int]) {
        object(name) { object in
            for (name, count) in counts.sorted(by: { $0.key < $1.key }) { object.field(name, Int64(count)) }
        }
    }
}
