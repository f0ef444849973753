import Glibc
package import Vocabulary

/// Why a value was refused.
package struct Complaint: Error {
    package var expected: String
    /// Words in place of the value, if the value must not be shown or says too little.
    package var found: String?
    /// Remedy beside changing the value.
    package var remedy: String?

    package init(_ expected: String, found: String? = nil, remedy: String? = nil) {
        self.expected = expected
        self.found = found
        self.remedy = remedy
    }
}

/// The form of a value: how it is read, how it is shown, and the complaint about any other value.
package struct ValueForm<Value: Sendable>: Sendable {
    package var isSecret = false
    package var read: @Sendable (ConfigurationValue.Content) throws(Complaint) -> Value
    /// Nil if the value is not set.
    package var show: @Sendable (Value) -> JSONText?
    /// Hash of the part that `show` leaves out; see `SettingInForce.hidden`.
    package var hide: @Sendable (Value) -> String? = { _ in nil }

    package init(
        isSecret: Bool = false, read: @escaping @Sendable (ConfigurationValue.Content) throws(Complaint) -> Value,
        show: @escaping @Sendable (Value) -> JSONText?
    ) {
        self.isSecret = isSecret
        self.read = read
        self.show = show
    }

    /// The form of a value that may be missing.
    package var optional: ValueForm<Value?> {
        var form = ValueForm<Value?>(isSecret: isSecret) { [read] content throws(Complaint) in
            try read(content)
        } show: { [show] value in
            value.flatMap(show)
        }
        form.hide = { [hide] value in value.flatMap(hide) }
        return form
    }
}

/// Length limit of every text.
private let textLimit = 4096

extension ValueForm where Value == String {

    private static func line(_ expected: String) -> Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, !text.isEmpty, text.utf8.count <= textLimit,
                !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
            else { throw Complaint(expected) }
            return text
        } show: {
            .string($0)
        }
    }

    package static var label: Self { line("text on one line") }

    package static func readableFile(home: String?) -> Self {
        let expected = "the path of a file that can be read, from / or ~"
        let form = path(expected, home: home)
        return Self { content throws(Complaint) in
            let file = try form.read(content)
            guard access(file, R_OK) == 0 else { throw Complaint(expected) }
            return file
        } show: {
            .string($0)
        }
    }

    /// A path from the root, or from `~`, the user's home.
    package static func path(_ expected: String, home: String? = nil) -> Self {
        let form = line(expected)
        return Self { content throws(Complaint) in
            let text = try form.read(content)
            if text.hasPrefix("~/"), let home { return home + text.dropFirst() }
            guard text.hasPrefix("/") else { throw Complaint(expected) }
            return text
        } show: {
            .string($0)
        }
    }

    /// `ADDRESS:PORT` with an address in digits, an IPv6 one in brackets, or `unix:` and a path.
    package static func listenAddress(home: String?) -> Self {
        let expected =
            "ADDRESS:PORT with an address in digits, such as 127.0.0.1:9464 or [::1]:9464, or unix: and the path of a socket, "
            + "from / or ~, of at most 107 bytes"
        let form = path(expected, home: home)
        return Self { content throws(Complaint) in
            guard case .string(let text) = content else { throw Complaint(expected) }
            if text.hasPrefix("unix:") {
                let file = try form.read(.string(String(text.dropFirst("unix:".count))))
                // `sun_path` has 108 bytes, with the zero at its end (unix(7)).
                guard file.utf8.count <= 107, !file.hasSuffix("/") else { throw Complaint(expected) }
                return "unix:" + file
            }
            guard isNumericEndpoint(text) else { throw Complaint(expected) }
            return text
        } show: {
            .string($0)
        }
    }

    private static func isNumericEndpoint(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":") else { return false }
        let port = text[text.index(after: colon)...]
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt16(port), number > 0 else {
            return false
        }
        let host = text[..<colon]
        var (version4, version6) = (in_addr(), in6_addr())
        if host.hasPrefix("["), host.hasSuffix("]") {
            return inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &version6) == 1
        }
        return inet_pton(AF_INET, String(host), &version4) == 1
    }

    package static var connectionName: Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, (1...64).contains(text.utf8.count),
                text.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0.isLetterOrDigit })
            else { throw Complaint("1 to 64 letters, digits, - or _") }
            return text
        } show: {
            .string($0)
        }
    }
}

extension ValueForm where Value == Secret {
    /// A token, which goes into a header unchanged.
    package static var token: Self {
        Self(isSecret: true) { content throws(Complaint) in
            guard case .string(let text) = content else { throw Complaint("a token as text") }
            guard !text.isEmpty, text.utf8.count <= textLimit, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw Complaint(
                    "visible ASCII letters without spaces",
                    found: text.isEmpty ? "an empty text" : "a text that does not look like a token (not shown)")
            }
            return Secret(text)
        } show: { _ in
            nil
        }
    }
}

/// Yes or no in the words of an environment variable.
package enum SwitchWord {
    package static func meaning(_ word: String) -> Bool? {
        switch word.lowercased() {
        case "1", "true", "yes", "on": true
        case "0", "false", "no", "off": false
        default: nil
        }
    }
}

extension ValueForm where Value == Bool {
    package static var switchWord: Self {
        Self { content throws(Complaint) in
            if case .bool(let value) = content { return value }
            guard case .string(let text) = content, let value = SwitchWord.meaning(text) else {
                throw Complaint("1 or 0, true or false, yes or no, on or off")
            }
            return value
        } show: {
            JSONText(unchecked: "\($0)")
        }
    }

    /// True once the variable has any value (no-color.org).
    package static var presence: Self {
        Self { _ throws(Complaint) in
            true
        } show: {
            JSONText(unchecked: "\($0)")
        }
    }

    package static var bool: Self {
        Self { content throws(Complaint) in
            guard case .bool(let value) = content else { throw Complaint("true or false") }
            return value
        } show: {
            JSONText(unchecked: "\($0)")
        }
    }
}

extension ValueForm where Value == Int {
    package static func whole(_ range: ClosedRange<Int>) -> Self {
        Self { content throws(Complaint) in
            guard case .number(let number) = content, let value = Int(exactly: number), range.contains(value) else {
                throw Complaint("a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        } show: {
            JSONText(unchecked: "\($0)")
        }
    }
}

extension ValueForm where Value == Duration {
    /// A whole number and its unit.
    package static func duration(_ range: ClosedRange<Duration>) -> Self {
        let expected =
            "a time from \(text(range.lowerBound)) to \(text(range.upperBound)), such as \"1500ms\" or \"10s\""
        return Self { content throws(Complaint) in
            guard case .string(let text) = content, let value = parse(text), range.contains(value) else {
                throw Complaint(expected)
            }
            return value
        } show: {
            .string(text($0))
        }
    }

    /// A duration in the range, or zero for never.
    package static func durationOrOff(_ range: ClosedRange<Duration>) -> Self {
        let expected =
            "a time from \(text(range.lowerBound)) to \(text(range.upperBound)), such as \"90s\" or \"10m\", or \"0s\" for never"
        return Self { content throws(Complaint) in
            guard case .string(let text) = content, let value = parse(text), value == .zero || range.contains(value)
            else { throw Complaint(expected) }
            return value
        } show: {
            .string($0 == .zero ? "0s" : text($0))
        }
    }

    private static var units: [(name: String, milliseconds: Int64)] {
        [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000)]
    }

    private static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int64(digits), count < 1_000_000_000,
            let unit = units.first(where: { $0.name == text[digits.endIndex...] })
        else { return nil }
        return .milliseconds(count * unit.milliseconds)
    }

    private static func text(_ duration: Duration) -> String {
        let milliseconds = duration.nanoseconds / 1_000_000
        let unit = units.last { milliseconds % $0.milliseconds == 0 } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

extension ValueForm where Value == [String] {
    /// A list of words. A text is split at its spaces, as an environment variable has it.
    package static func words(atMost limit: Int, _ expected: String, mayBeEmpty: Bool = false) -> Self {
        Self { content throws(Complaint) in
            let words: [String?] =
                switch content {
                case .string(let text): text.split(separator: " ").map(String.init)
                case .list(let values): values.map { if case .string(let text) = $0.content { text } else { nil } }
                case .null, .bool, .number, .members: [nil]
                }
            let texts = words.compactMap(\.self)
            guard texts.count == words.count, texts.count <= limit, mayBeEmpty || !texts.isEmpty,
                texts.allSatisfy({ !$0.isEmpty && $0.utf8.count <= textLimit && !$0.utf8.contains(0) })
            else { throw Complaint(expected) }
            return texts
        } show: {
            JSONText(unchecked: "[" + $0.map { JSONText.string($0).text }.joined(separator: ",") + "]")
        }
    }
}

extension ValueForm where Value == String {
    /// One of these words, verbatim.
    package static func word(of words: [String]) -> Self {
        Self { content throws(Complaint) in
            guard case .string(let text) = content, words.contains(text) else {
                let first = words.dropLast().joined(separator: ", ")
                throw Complaint([first, words.last ?? ""].filter { !$0.isEmpty }.joined(separator: " or "))
            }
            return text
        } show: {
            .string($0)
        }
    }
}

extension ValueForm where Value: RawRepresentable<String> & CaseIterable {
    package static var choice: Self {
        let words = ValueForm<String>.word(of: Value.allCases.map(\.rawValue))
        return Self { content throws(Complaint) in
            guard let value = Value(rawValue: try words.read(content)) else {
                preconditionFailure("a case by its name")
            }
            return value
        } show: {
            .string($0.rawValue)
        }
    }
}

extension ValueForm where Value == WebAddress {
    /// An unencrypted address must lead into a private network, or its host be allowed by name.
    package static func address(_ schemes: [WebAddress.Scheme], plain: [String]) -> Self {
        let begins = "an address that begins with \(schemes.map { "\($0)://" }.joined(separator: " or "))"
        return Self { content throws(Complaint) in
            guard case .string(let text) = content else { throw Complaint(begins) }
            // Show nothing of a text that may hold a secret, whatever else is wrong with it.
            guard !text.contains(where: { "@?#".contains($0) }) else {
                throw Complaint(
                    "an address without @, ? and #; secrets go into the key token",
                    found: "an address with credentials or a query (not shown)")
            }
            let address: WebAddress
            do throws(WebAddress.Fault) { address = try WebAddress(text) } catch {
                switch error {
                case .scheme, .credentials, .query: throw Complaint(begins)
                case .host: throw Complaint("\(begins) and a host")
                case .port: throw Complaint("a port from 1 to 65535 behind the host")
                }
            }
            guard schemes.contains(address.scheme) else { throw Complaint(begins) }
            guard address.scheme.isEncrypted || address.isPrivate || plain.contains(address.host) else {
                throw Complaint(
                    "\(address.scheme)s://, because it leads beyond private networks",
                    remedy: "add \(JSONText.string(address.host).text) to allow_plain")
            }
            return address
        } show: {
            .string($0.description)
        }
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

extension ValueForm where Value == [String: String] {
    /// Variables of an environment: an object of texts.
    package static var variables: Self {
        let expected = "an object of variables and their texts, such as {\"LANG\": \"C\"}"
        var form = Self { content throws(Complaint) in
            guard case .members(let members) = content, members.count <= 256 else { throw Complaint(expected) }
            var variables: [String: String] = [:]
            for member in members {
                guard case .string(let text) = member.value.content, !member.name.isEmpty, !text.utf8.contains(0),
                    !member.name.utf8.contains(where: { $0 == UInt8(ascii: "=") || $0 == 0 })
                else { throw Complaint(expected) }
                variables[member.name] = text
            }
            return variables
        } show: { variables in
            // Values may be keys of a model provider.
            let members = variables.keys.sorted().map { JSONText.string($0).text + ":\"***\"" }
            return JSONText(unchecked: "{" + members.joined(separator: ",") + "}")
        }
        form.hide = { variables in
            StableHash.text(of: variables.keys.sorted().map { "\($0)=\(variables[$0] ?? "")" }.joined(separator: "\0"))
        }
        return form
    }
}
