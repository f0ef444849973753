/// SHA-256 of an ask's whole card. A decision holds for one fingerprint: an ask under a known id with another fingerprint is
/// another ask. The digest resists collisions, because a prompt-injected agent writes the text.
package struct AskFingerprint: Hashable, Sendable {
    /// 64 lower-case hexadecimal digits.
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(of request: ApprovalRequest) {
        var parts: [String?] = [
            request.subject.rawValue, request.title, request.message, request.command, request.host,
            request.facts.folder,
        ]
        for line in request.facts.lines { parts += [line.label, line.value] }
        parts += [nil] + request.facts.paths
        var bytes = Self.bytes(of: parts)
        bytes += [request.facts.leavesSandbox ? 1 : 0, request.facts.reachesNetwork ? 1 : 0]
        text = PlainSHA256.hex(bytes)
    }

    /// Covers the words that a person reads, and the meaning of each answer: an option's value, or the person's own words.
    package init(of question: Question) {
        var parts: [String?] = [question.title, question.message, question.prefill, question.placeholder]
        for option in question.options { parts += [option.value, option.label, option.details] }
        text = PlainSHA256.hex(
            Self.bytes(of: parts) + [question.isMultiSelect ? 1 : 0, question.allowsOwnWords ? 1 : 0])
    }

    /// Lengths distinguish "ab" + "c" from "a" + "bc", and a flag a missing part from an empty one.
    private static func bytes(of parts: [String?]) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in parts {
            guard let part else {
                bytes.append(0)
                continue
            }
            bytes.append(1)
            let count = UInt64(part.utf8.count)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: count >> shift))
            }
            bytes += part.utf8
        }
        return bytes
    }
}
