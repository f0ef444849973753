/// Something that the documented rules do not allow, and that the sample connectors of the relay's own repository do anyway
/// (relay.md#where-the-sources-disagree). A strict relay refuses it; one that accepts samples carries the call out, and warns.
///
/// A sample does the same with each of its calls: a warning is kept once for each method, with its count.
package struct Warning: Sendable, Hashable {
    package var code: WarningCode
    package var method: String
    package var count: Int
    /// Of the last call.
    package var request: String
    package var at: Moment
    /// Rises with each change, so that watchers can ask for the new ones.
    var number: UInt64
}

package enum WarningCode: String, Sendable, Hashable, CaseIterable {
    case emptyPlaceholder, keyOutsideAlphabet, undocumentedFinishReason, loneSurrogate
    /// Two calls of one (session, interaction) at once; detected by the server of the sockets.
    case overlap

    package var sentence: String {
        switch self {
        case .emptyPlaceholder: "The text is empty; the documented placeholder is one space."
        case .keyOutsideAlphabet:
            "The idempotency_key has characters outside [a-zA-Z0-9_-], which are all that is documented."
        case .undocumentedFinishReason:
            "The finish_reason is error; documented are stop, length, content_filter and tool_call."
        case .loneSurrogate: "A text was cut in the middle of a character that UTF-16 writes as two."
        case .overlap: "The call began before the one before it in its interaction was answered, and may overtake it."
        }
    }

    /// Nothing of it comes from the call, so that it can be a header verbatim.
    package var header: RawHeader { RawHeader("X-Simulator-Warning", "\(rawValue): \(sentence)") }
}

extension Relay {
    /// Also for what only a server of sockets can see.
    package mutating func warn(_ code: WarningCode, method: String, request: String, at now: Moment) {
        records.warn(code, method: Self.tallyName(of: method), request: request, at: now)
    }

    package var lastWarningNumber: UInt64 { records.lastWarning }

    /// Those that have changed after a number; 0: all.
    package func warnings(after number: UInt64) -> [Warning] {
        guard lastWarningNumber > number else { return [] }
        return warnings.filter { $0.number > number }
    }
}
