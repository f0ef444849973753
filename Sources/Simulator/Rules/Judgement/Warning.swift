/// A deviation from the documented rules that the sample connectors of the relay's own repository contain
/// (relay.md#where-the-sources-disagree). A strict relay refuses the call; one that accepts samples carries it out, and warns.
///
/// A sample repeats the deviation with each of its calls: a warning is kept once for each method, with its count.
package struct Warning: Sendable, Hashable {
    package var code: WarningCode
    package var method: String
    package var count: Int
    /// Id of the last call.
    package var request: String
    package var at: Moment
    /// Rises with each change: watchers request the newer ones.
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

    /// Constant words, without content of the call: fit for a header verbatim.
    package var header: RawHeader { RawHeader("X-Simulator-Warning", "\(rawValue): \(sentence)") }
}

extension Relay {
    /// Called also by the server of the sockets, for findings of its own.
    package mutating func warn(_ code: WarningCode, method: String, request: String, at now: Moment) {
        records.warn(code, method: Self.tallyName(of: method), request: request, at: now)
    }

    package var lastWarningNumber: UInt64 { records.lastWarning }

    /// Warnings that changed after a number; all of them after 0.
    package func warnings(after number: UInt64) -> [Warning] {
        guard lastWarningNumber > number else { return [] }
        return warnings.filter { $0.number > number }
    }
}
