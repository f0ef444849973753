package import BridgeModel

/// The files that tools of the agent have touched, by the chats that show them: the only ones that the phone may have.
///
/// Bounded: the oldest files of a chat, and the chats whose files are oldest, are forgotten.
package struct AnnouncedFiles: Sendable {
    package static let fileLimit = 200
    package static let chatLimit = 200

    private struct Chat {
        var isSealed: Bool
        /// Newest last.
        var paths: [String]
        var number: Int
    }

    private var chats: [SessionID: Chat] = [:]
    private var count = 0

    package init() {}

    /// Whether something changed that has to be kept, and the chat that was forgotten for it.
    package mutating func add(_ path: String, in session: SessionID, isSealed: Bool) -> (
        isNew: Bool, forgotten: SessionID?
    ) {
        count += 1
        var chat = chats[session] ?? Chat(isSealed: isSealed, paths: [], number: count)
        let isNew = chat.paths.last != path || chat.isSealed != isSealed
        chat.paths.removeAll { $0 == path }
        chat.paths.append(path)
        if chat.paths.count > Self.fileLimit { chat.paths.removeFirst() }
        (chat.isSealed, chat.number) = (isSealed, count)
        chats[session] = chat
        guard chats.count > Self.chatLimit, let oldest = chats.min(by: { $0.value.number < $1.value.number })?.key
        else { return (isNew, nil) }
        chats[oldest] = nil
        return (isNew, oldest)
    }

    /// Where the request is sealed, in its chat alone; one in the open names no chat, and gets what was announced in the open.
    package func holds(_ path: String, in session: SessionID?) -> Bool {
        if let session { return chats[session].map { $0.isSealed && $0.paths.contains(path) } ?? false }
        return chats.values.contains { !$0.isSealed && $0.paths.contains(path) }
    }

    /// Whether there was anything to forget.
    package mutating func forget(_ session: SessionID) -> Bool { chats.removeValue(forKey: session) != nil }

    // MARK: In the journal

    package func isSealed(_ session: SessionID) -> Bool { chats[session]?.isSealed == true }

    /// No path holds a NUL.
    package func record(of session: SessionID) -> [UInt8]? {
        chats[session].map { Array($0.paths.joined(separator: "\0").utf8) }
    }

    package mutating func restore(_ record: [UInt8], of session: SessionID, isSealed: Bool) {
        count += 1
        let paths = String(decoding: record, as: UTF8.self).split(separator: "\0").map { String($0) }
        chats[session] = Chat(isSealed: isSealed, paths: paths.suffix(Self.fileLimit), number: count)
    }
}
