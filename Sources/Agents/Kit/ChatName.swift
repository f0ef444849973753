package import Vocabulary

/// Part of an agent session's name that stands for the chat.
///
/// Invariants, whatever ids a relay chooses: two chats have different names, also for an agent that ignores case, and no name
/// equals another chat's with the suffix of a `/bridge new`. Otherwise a relay could open the session of a sealed chat through a
/// chat whose id it chose.
package enum ChatName {
    private static let digits = 32
    private static let readable = 40

    /// `isLower`: the agent knows small letters alone. A plain id has no hyphen and is its own name; any other name ends in a
    /// digest.
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
