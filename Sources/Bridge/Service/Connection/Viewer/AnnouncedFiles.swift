package import Vocabulary

/// Files that tools of the agent have touched, by the chats that show them: the only files that the phone may read.
///
/// - A file is read in the form in which it was announced. The relay cannot request a path in the open that it has not seen. A path that it
/// has seen stays readable in the open when its chat is sealed later, until a tool of a sealed chat touches the file.
/// - Limits: the oldest files of a chat are forgotten, and the chats whose files are oldest.
package struct AnnouncedFiles: Sendable {
    package static let fileLimit = 200
    package static let chatLimit = 200

    private struct File: Hashable {
        var path: String
        var isSealed: Bool
    }

    private struct Chat {
        /// Newest last.
        var files: [File] = []
        var number = 0
        var wall: Int64 = 0
    }

    private var chats: [SessionID: Chat] = [:]
    private var count = 0

    package init() {}

    /// Adds a file. `isNew` is true if the chat's record changed; `others` are chats whose records changed with it.
    package mutating func add(_ path: String, in session: SessionID, isSealed: Bool, wall: Int64 = 0) -> (
        isNew: Bool, others: [SessionID]
    ) {
        let file = File(path: path, isSealed: isSealed)
        let closed = isSealed ? close(path) : []
        var chat = chats[session] ?? Chat()
        let isNew = chat.files.last != file
        chat.files.removeAll { $0 == file }
        chat.files.append(file)
        if chat.files.count > Self.fileLimit { chat.files.removeFirst() }
        chat.wall = wall
        let forgotten = put(chat, in: session)
        return (isNew, closed.filter { $0 != session && $0 != forgotten } + (forgotten.map { [$0] } ?? []))
    }

    /// Ends requests in the open for the file, since it may hold words of a sealed chat now. Returns the chats that had it in the open.
    private mutating func close(_ path: String) -> [SessionID] {
        let file = File(path: path, isSealed: false)
        let those = chats.keys.filter { chats[$0]?.files.contains(file) == true }.sorted()
        for session in those { chats[session]?.files.removeAll { $0 == file } }
        return those
    }

    /// Returns the chat that was forgotten for this one.
    private mutating func put(_ chat: Chat, in session: SessionID) -> SessionID? {
        count += 1
        chats[session] = chat
        chats[session]?.number = count
        guard chats.count > Self.chatLimit, let oldest = chats.min(by: { $0.value.number < $1.value.number })?.key
        else { return nil }
        chats[oldest] = nil
        return oldest
    }

    /// A sealed request is for its chat alone. A request in the open names no chat, and gets a file that was announced in the open alone.
    package func holds(_ path: String, in session: SessionID?) -> Bool {
        if let session { return chats[session]?.files.contains(File(path: path, isSealed: true)) ?? false }
        let (open, sealed) = (File(path: path, isSealed: false), File(path: path, isSealed: true))
        return chats.values.contains { $0.files.contains(open) } && !chats.values.contains { $0.files.contains(sealed) }
    }

    /// True if there was anything to forget.
    package mutating func forget(_ session: SessionID) -> Bool { chats.removeValue(forKey: session) != nil }

    /// Returns the chats of which something was forgotten.
    package mutating func forgetAll() -> [SessionID] {
        defer { chats = [:] }
        return chats.keys.sorted()
    }

    // MARK: In the journal

    /// Record of a chat for the next process, its fields separated by NUL, which no path holds.
    package struct Record: Hashable, Sendable {
        package var text: [UInt8]
        /// True if the record has paths that the journal must not show.
        package var isSealed: Bool

        package init(text: [UInt8], isSealed: Bool) {
            self.text = text
            self.isSealed = isSealed
        }
    }

    package func record(of session: SessionID) -> Record? {
        guard let chat = chats[session] else { return nil }
        let parts = [String(chat.wall)] + chat.files.map { ($0.isSealed ? "s" : "o") + $0.path }
        return Record(
            text: Array(parts.joined(separator: "\0").utf8), isSealed: chat.files.contains { $0.isSealed })
    }

    /// Restores all chats, in the order of the age in their records.
    package mutating func restore(_ records: [SessionID: Record]) {
        let known = records.map { (session: $0.key, chat: Self.chat($0.value.text)) }
        for (session, chat) in known.sorted(by: { ($0.chat.wall, $0.session) < ($1.chat.wall, $1.session) })
        where !chat.files.isEmpty {
            _ = put(chat, in: session)
        }
    }

    private static func chat(_ text: [UInt8]) -> Chat {
        let parts = String(decoding: text, as: UTF8.self).split(separator: "\0")
        let files = parts.dropFirst().compactMap { part in
            switch part.first {
            case "s": File(path: String(part.dropFirst()), isSealed: true)
            case "o": File(path: String(part.dropFirst()), isSealed: false)
            default: File?.none
            }
        }
        return Chat(files: files.suffix(Self.fileLimit), wall: parts.first.flatMap { Int64($0) } ?? 0)
    }
}
