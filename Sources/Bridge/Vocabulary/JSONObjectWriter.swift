/// One JSON object, member by member in the order of the calls; nil members are omitted.
package struct JSONObjectWriter {
    private var bytes: [UInt8] = []

    package init() {
        bytes.reserveCapacity(256)
        bytes.append(UInt8(ascii: "{"))
    }

    package mutating func string(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        member(name)
        JSONText.appendString(value, to: &bytes)
    }

    package mutating func integer(_ name: StaticString, _ value: Int?) {
        guard let value else { return }
        member(name)
        bytes.append(contentsOf: String(value).utf8)
    }

    /// JSON knows neither infinity nor not-a-number: such a value is omitted.
    package mutating func number(_ name: StaticString, _ value: Double?) {
        guard let value, value.isFinite else { return }
        member(name)
        bytes.append(contentsOf: value.description.utf8)
    }

    package mutating func value(_ name: StaticString, _ value: JSONText?) {
        guard let value else { return }
        member(name)
        bytes.append(contentsOf: value.text.utf8)
    }

    package mutating func raw(_ name: StaticString, _ value: [UInt8]) {
        member(name)
        bytes.append(contentsOf: value)
    }

    /// Copies the members of another object, if there is one.
    package mutating func members(_ object: [UInt8]?) {
        guard let object, object.count > 2 else { return }
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(contentsOf: object.dropFirst().dropLast())
    }

    package mutating func base64(_ name: StaticString, _ bytes: [UInt8]) {
        member(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(contentsOf: Base64.encoded(bytes))
        self.bytes.append(UInt8(ascii: "\""))
    }

    package mutating func objects(_ name: StaticString, _ objects: [[UInt8]]) {
        member(name)
        bytes.append(UInt8(ascii: "["))
        for (index, object) in objects.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(contentsOf: object)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    package consuming func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private mutating func member(_ name: StaticString) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }
}
