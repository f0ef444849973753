import Vocabulary

/// Value of a field in a log line. A secret cannot get in: it prints as stars (DESIGN.md#security).
package enum LogValue: Hashable, Sendable {
    case text(String)
    case integer(Int)
    case flag(Bool)
    /// Printed in milliseconds.
    case duration(Duration)

    /// A text from outside may be of any length.
    static let lengthLimit = 1_000

    var json: JSONText {
        switch self {
        case .text(let text): .string(LogText.cut(text))
        case .integer(let value): JSONText(unchecked: String(value))
        case .flag(let value): JSONText(unchecked: value ? "true" : "false")
        case .duration(let value): JSONText(unchecked: String(value.nanoseconds / 1_000_000))
        }
    }

    /// One word, or a text in quotes.
    var words: String {
        switch self {
        case .text(let text): LogText.quoted(text)
        case .integer(let value): String(value)
        case .flag(let value): value ? "yes" : "no"
        case .duration(let value): "\(value.nanoseconds / 1_000_000)ms"
        }
    }
}

extension LogValue: ExpressibleByStringInterpolation {
    package init(stringLiteral value: String) { self = .text(value) }
}

extension LogValue: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int) { self = .integer(value) }
}

/// Text from outside for one of our lines: words of a peer can neither begin a line nor move a terminal's cursor.
enum LogText {
    static func cut(_ text: String) -> String {
        guard text.utf8.count > LogValue.lengthLimit, text.count > LogValue.lengthLimit else { return text }
        return String(text.prefix(LogValue.lengthLimit - 1)) + "…"
    }

    static func quoted(_ text: String) -> String {
        let text = cut(text)
        let isWord = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !#""=\"#.utf8.contains($0) }
        return isWord ? text : JSONText.string(VisibleText.words(text)).text
    }
}
