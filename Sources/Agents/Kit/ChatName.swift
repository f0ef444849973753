package import Vocabulary

/// The part of an agent session's name that is a chat's.
///
/// Invariants, whatever ids a relay gives: two chats have two names, also where the agent does not tell capitals from small letters; and no
/// name is another chat's with the mark of a `/bridge new` behind it. Otherwise a relay would get the session of a sealed chat in the open,
/// through a chat whose id it chose for that.
package enum ChatName {
    private static let digits = 32
    private static let readable = 40

    /// `isLower`: the agent has small letters alone. A plain id is its own name, and has no hyphen; any other one ends in a digest.
    package static func text(of chat: SessionID, isLower: Bool = false) -> String {
        let lower = chat.text.lowercased()
        let isPlain = chat.text.utf8.allSatisfy(isOfNames)
        if isPlain, !isLower || lower == chat.text { return chat.text }
        let digest = PlainSHA256.hex(Array(chat.text.utf8)).prefix(digits)
        return "\(isPlain && lower.utf8.count <= readable ? lower : "chat")-\(digest)"
    }

    private static func isOfNames(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
