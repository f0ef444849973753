package import Vocabulary

/// A purpose of a session's key, by its name in the derivation (relay.md#key-schedule).
package enum SealedPath: Hashable, Sendable {
    /// Texts of messages, both ways, whole and in pieces.
    case messages
    /// Labels, arguments, results and errors of tool cards.
    case tasks
    /// Details of approvals.
    case approvals
    /// A file that a tool touched: its path, its name, its bytes.
    case agentFile(BlindIndex)

    func text(in session: SessionID) -> String {
        switch self {
        case .messages: "messages/\(session.text)"
        case .tasks: "tasks/\(session.text)"
        case .approvals: "approvals/\(session.text)"
        case .agentFile(let index): "agent_files/\(session.text)/\(index.text)"
        }
    }
}

/// A file's name that reveals nothing without the key. The same file always has the same one.
package struct BlindIndex: Hashable, Sendable, CustomStringConvertible {
    private static let length = 16
    private static let separator: UInt8 = 0xFF

    /// 22 characters.
    package let text: String

    package var description: String { text }

    /// Parses the relay's form. Nil if it is malformed.
    package init?(_ text: String) {
        guard text.utf8.count == 22, text.utf8.allSatisfy(Self.isLetter) else { return nil }
        self.text = text
    }

    init(_ scope: String, _ inputs: [String], key: SecretKey, library: some SealingLibrary) {
        // The separator occurs in no UTF-8.
        let message = Array(([scope] + inputs).map { Array($0.utf8) }.joined(separator: [Self.separator]))
        text = Base64URL.encode(Array(library.authenticationCode(of: message, key: key).prefix(Self.length)))
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

/// Derives the keys of a session from its key.
package enum KeySchedule {
    package static func key(
        for path: SealedPath, in session: SessionID, from root: SecretKey, library: some SealingLibrary
    ) -> SecretKey {
        library.derive(Array("sophon/v1/blob/\(path.text(in: session))".utf8), from: root)
    }

    static func indexKey(from root: SecretKey, library: some SealingLibrary) -> SecretKey {
        library.derive(Array("sophon/v1/blind-index".utf8), from: root)
    }

    /// `path` is the file's real path, free of symbolic links.
    package static func blindIndex(
        ofFile path: String, in session: SessionID, from root: SecretKey, library: some SealingLibrary
    ) -> BlindIndex {
        BlindIndex(
            "agent_files", [session.text, path], key: indexKey(from: root, library: library), library: library)
    }
}
