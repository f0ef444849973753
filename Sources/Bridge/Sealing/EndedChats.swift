import Vocabulary

/// Chats that had a key and are gone: their ids never accept an open message, nor a key that nobody chose.
///
/// The keys themselves are forgotten. The last one may be granted again, since a chat can come back from the archive. After the revocation of a
/// device that has it, one new key may come in its place. A chat that this bridge made accepts its last key at most.
struct EndedChats: Sendable {
    /// Number of chats that keep the names of their keys. Older ones stay sealed by a mark each, and accept no key.
    static let limit = 10_000
    /// Number of marks. Past it, every chat without a key counts as one that had a key: a relay must invent chats to get there, and learns
    /// nothing.
    static let markLimit = 1 << 18
    private static let markLength = 10

    struct Names: Sendable {
        var last: KeyName?
        var past: [KeyName]
        var isOurs: Bool
        /// The device whose revocation took the last key. Nil if there is none, or a file of an earlier version names neither device nor key.
        var revoked: DeviceID?
        var untold: ChatKeys.UntoldChange?

        /// Names of the chat's other keys, once it has a key again.
        func past(before key: KeyName) -> [KeyName] { past + [last].compactMap { $0 }.filter { $0 != key } }
    }

    enum GrantedAction: Hashable, Sendable {
        /// The chat never had a key.
        case first
        /// The chat's last key.
        case last
        case changed(after: DeviceID?)
        case refused
    }

    private var names: [SessionID: Names] = [:]
    private var order: [SessionID] = []
    private var marks: Set<String> = []

    init(_ stored: [StoredKeyRing.Devices.Ended] = [], marks: String = "") {
        add(marks: marks)
        for chat in stored {
            add(
                SessionID(chat.session),
                Names(
                    last: chat.last.map { KeyName($0) }, past: chat.past.map { KeyName($0) },
                    isOurs: chat.isOurs ?? false, revoked: chat.revoked.map { DeviceID($0) },
                    untold: chat.untold.map { ChatKeys.UntoldChange($0) }))
        }
    }

    /// Adds marks of equal length. A chat with names of its keys needs no mark.
    mutating func add(marks: String) {
        let known = Set(order.map { Self.mark(of: $0) })
        var rest = marks[...]
        while !rest.isEmpty, self.marks.count < Self.markLimit {
            let mark = String(rest.prefix(Self.markLength))
            if !known.contains(mark) { self.marks.insert(mark) }
            rest = rest.dropFirst(Self.markLength)
        }
    }

    /// Adds a chat whose key is in no file. An earlier version did not store the key's name, and may have ended before it wrote the key:
    /// the chat accepts a key as after a revocation and shows the notice, unless this bridge made the chat.
    mutating func addLost(_ session: SessionID, _ chat: StoredKeyRing.Devices.Chat) {
        guard let name = chat.name.map({ KeyName($0) }) else {
            if chat.isOurs { return mark(session) }
            return add(session, Names(past: (chat.past ?? []).map { KeyName($0) }, isOurs: false))
        }
        let isReplaced = chat.changeExpected == true
        add(
            session,
            Names(
                last: isReplaced ? nil : name, past: (chat.past ?? []).map { KeyName($0) } + (isReplaced ? [name] : []),
                isOurs: chat.isOurs, revoked: chat.revoked.map { DeviceID($0) },
                untold: chat.untold.map { ChatKeys.UntoldChange($0) }))
    }

    func contains(_ session: SessionID) -> Bool {
        names[session] != nil || marks.count >= Self.markLimit || marks.contains(Self.mark(of: session))
    }

    /// Decides about a key that is granted for a chat without one.
    func granted(_ key: KeyName, for session: SessionID) -> GrantedAction {
        guard let known = names[session] else { return contains(session) ? .refused : .first }
        if known.last == key { return .last }
        guard known.last == nil, !known.isOurs, !known.past.contains(key), known.past.count < ChatKeys.pastLimit else {
            return .refused
        }
        return .changed(after: known.revoked)
    }

    /// Whether the keys' file is right about a chat that the other file lists as ended.
    func mayComeBack(_ session: SessionID, under key: KeyName) -> Bool {
        // A chat with a mark alone belongs to another installation, or ended long ago.
        guard let known = names[session] else { return !marks.contains(Self.mark(of: session)) }
        return known.last == key || !known.isOurs && !known.past.contains(key)
    }

    mutating func add(_ session: SessionID, _ new: Names) {
        if names.updateValue(new, forKey: session) == nil { order.append(session) }
        guard order.count > Self.limit else { return }
        let oldest = order.removeFirst()
        names[oldest] = nil
        mark(oldest)
    }

    mutating func mark(_ session: SessionID) {
        if marks.count < Self.markLimit { marks.insert(Self.mark(of: session)) }
    }

    /// Replaces the names of all keys by marks: no chat accepts a key.
    mutating func markAll() {
        for session in order { mark(session) }
        (names, order) = ([:], [])
    }

    /// The chat has a key again.
    mutating func remove(_ session: SessionID) -> Names? {
        guard let known = names.removeValue(forKey: session) else { return nil }
        order.removeAll { $0 == session }
        return known
    }

    mutating func revoked(_ device: DeviceID) {
        for (session, known) in names {
            guard let last = known.last else { continue }
            names[session]?.last = nil
            names[session]?.past = (known.past + [last]).suffix(ChatKeys.pastLimit)
            names[session]?.revoked = device
        }
    }

    /// Oldest first.
    var stored: [StoredKeyRing.Devices.Ended] {
        order.map { session in
            let known = names[session]
            return StoredKeyRing.Devices.Ended(
                session: session.text, last: known?.last?.text, past: (known?.past ?? []).map(\.text),
                isOurs: known?.isOurs == true ? true : nil, revoked: known?.revoked?.text,
                untold: known?.untold?.stored)
        }
    }

    var storedMarks: String { marks.sorted().joined() }

    /// Marks of all chats, those with names included.
    var allMarks: String { marks.union(order.map { Self.mark(of: $0) }).sorted().joined() }

    /// Two chats of one mark are both sealed: finding such a pair reveals nothing.
    private static func mark(of session: SessionID) -> String { StableHash.text(of: session.text, length: markLength) }
}
