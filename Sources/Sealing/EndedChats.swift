import BridgeModel

/// Chats that had a key and are gone: what is said in their names is never taken in the open, nor under a key that was replaced.
/// The keys themselves are forgotten. The last one may be granted again, since a chat can come back from the archive, but not
/// once a device that has it was revoked.
struct EndedChats: Sendable {
    /// The oldest go first; no person deletes as many.
    static let limit = 10_000

    private struct Names {
        var last: KeyName?
        var past: [KeyName]
    }

    private var names: [SessionID: Names] = [:]
    private var order: [SessionID] = []

    init(_ stored: [StoredKeyRing.Devices.Ended] = []) {
        for chat in stored {
            add(
                SessionID(chat.session), Names(last: chat.last.map { KeyName($0) }, past: chat.past.map { KeyName($0) })
            )
        }
    }

    func contains(_ session: SessionID) -> Bool { names[session] != nil }

    /// It must not be taken again.
    func hadKey(_ key: KeyName, _ session: SessionID) -> Bool { names[session]?.past.contains(key) ?? false }

    mutating func add(_ session: SessionID, last: KeyName, past: [KeyName]) {
        add(session, Names(last: last, past: past))
    }

    private mutating func add(_ session: SessionID, _ new: Names) {
        if names.updateValue(new, forKey: session) == nil { order.append(session) }
        guard order.count > Self.limit else { return }
        names[order.removeFirst()] = nil
    }

    /// It has a key again. The names of the others that it had.
    mutating func remove(_ session: SessionID, for key: KeyName) -> [KeyName] {
        guard let known = names.removeValue(forKey: session) else { return [] }
        order.removeAll { $0 == session }
        return known.past + [known.last].compactMap { $0 }.filter { $0 != key }
    }

    mutating func deviceRevoked() {
        for (session, known) in names {
            guard let last = known.last else { continue }
            names[session] = Names(last: nil, past: known.past + [last])
        }
    }

    /// The oldest first.
    var stored: [StoredKeyRing.Devices.Ended] {
        order.map { session in
            StoredKeyRing.Devices.Ended(
                session: session.text, last: names[session]?.last?.text, past: (names[session]?.past ?? []).map(\.text))
        }
    }
}
