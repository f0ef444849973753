/// A rule of the configuration: literal text, no pattern, in the command or the compact input of an ask.
package struct SeverityMatch: Hashable, Sendable {
    package var text: String
    package var severity: ApprovalRequest.Severity

    package init(_ text: String, _ severity: ApprovalRequest.Severity) {
        self.text = text
        self.severity = severity
    }

    /// Compares byte for byte: two spellings of one letter are two texts, as in a shell. An empty text matches nothing.
    package func meets(_ command: String) -> Bool {
        let wanted = Array(text.utf8)
        let bytes = Array(command.utf8)
        guard let first = wanted.first, wanted.count <= bytes.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { start in
            bytes[start] == first && bytes[start..<(start + wanted.count)].elementsEqual(wanted)
        }
    }
}
