import Vocabulary

/// Chats that had a key and are gone: what is said in their names is never taken in the open, nor under a key that nobody chose.
///
/// The keys themselves are forgotten. The last one may be granted again, since a chat can come back from the archive. Once a device that
/// has it was revoked, one new key may come in its place. A chat that this bridge made takes its last key at most.
struct EndedChats: Sendable {
    /// The newest are known with the names of their keys. The rest stay sealed by a mark each, and take no key.
    static let limit = 10_000
    /// Beyond it every chat without a key counts as one that had a key. Only a relay that invents chats gets there, and reads nothing.
    static let markLimit = 1 << 18
    private static let markLength = 10

    struct Names: Sendable {
        var last: KeyName?
        var past: [KeyName]
        var isOurs: Bool
        /// The device whose revocation took the last key; nil: none, or a file of an earlier version names neither the device nor the key.
        var revoked: DeviceID?
        var untold: ChatKeys.UntoldChange?

        /// Of a chat that has a key again: the others that it had.
        func past(before key: KeyName) -> [KeyName] { past + [last].compactMap { $0 }.filter { $0 != key } }
    }

    enum GrantedAction: Hashable, Sendable {
        /// The chat never had a key.
        case first
        /// The key that it had last.
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

    /// Each of the same length. One of a chat that is known by the names of its keys is no news.
    mutating func add(marks: String) {
        let known = Set(order.map { Self.mark(of: $0) })
        var rest = marks[...]
        while !rest.isEmpty, self.marks.count < Self.markLimit {
            let mark = String(rest.prefix(Self.markLength))
            if !known.contains(mark) { self.marks.insert(mark) }
            rest = rest.dropFirst(Self.markLength)
        }
    }

    /// A chat whose key is in no file. An earlier version did not write which key that was, and may have ended before it wrote the key:
    /// the chat takes one as after a revocation, and is told of it, but none where this bridge made it.
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

    /// What becomes of a key that is granted for a chat without one.
    func granted(_ key: KeyName, for session: SessionID) -> GrantedAction {
        guard let known = names[session] else { return contains(session) ? .refused : .first }
        if known.last == key { return .last }
        guard known.last == nil, !known.isOurs, !known.past.contains(key), known.past.count < ChatKeys.pastLimit else {
            return .refused
        }
        return .changed(after: known.revoked)
    }

    /// Whether the file of the keys is believed about a chat that has ended by the other file.
    func mayComeBack(_ session: SessionID, under key: KeyName) -> Bool {
        // By a mark alone: of another installation, or long ago.
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

    /// No chat is known by the names of its keys any more: none takes a key.
    mutating func markAll() {
        for session in order { mark(session) }
        (names, order) = ([:], [])
    }

    /// It has a key again, and is ended no more.
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

    /// The oldest first.
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

    /// Those of the newest too.
    var allMarks: String { marks.union(order.map { Self.mark(of: $0) }).sorted().joined() }

    /// Two chats of one mark are both sealed: who searches for such a pair gains nothing that could be read.
    private static func mark(of session: SessionID) -> String { StableHash.text(of: session.text, length: markLength) }
}
