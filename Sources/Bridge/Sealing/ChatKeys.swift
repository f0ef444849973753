import Vocabulary

/// The keys of one chat: the newest, and older ones under which turns are still open.
///
/// A turn continues under the key that it began with. The newest key changes only after a revocation: each surviving
/// phone then makes a new one (relay.md#session-key-life-cycle). Any other grant of a different key is refused:
/// a relay could put a key of its own under a chat and read its continuation.
struct ChatKeys: Sendable {
    struct Key: Sendable {
        var secret: SecretKey
        var name: KeyName
        /// Revision of the ring at the key's arrival. The files contain the key from that revision on.
        var revision: Int
    }

    enum Change: Hashable, Sendable {
        case none
        /// A device was revoked: one new key will come. Nil if a file of an earlier version does not name the device.
        case expected(after: DeviceID?)
        /// The new key came; other remaining phones may have made one each at the same time. Milliseconds since 1970.
        case settling(until: Int64, after: DeviceID?, others: Int)

        var isExpected: Bool { if case .expected = self { true } else { false } }

        /// The device whose revocation caused the change.
        var revoked: DeviceID? {
            switch self {
            case .none: nil
            case .expected(let device), .settling(_, let device, _): device
            }
        }
    }

    /// A change of which no phone has been notified.
    struct UntoldChange: Hashable, Sendable {
        /// The revoked device, or nil if a file of an earlier version does not name it.
        var device: DeviceID?
        /// Another phone's key came before this one.
        var isFurther = false
        /// This chat has shown the notice. The maker of the new key may be its only reader: another chat must show the notice as well.
        var isSaidItself = false

        init(after device: DeviceID?, isFurther: Bool = false) {
            self.device = device
            self.isFurther = isFurther
        }

        init(_ stored: StoredKeyRing.Devices.Change) {
            device = stored.device.map { DeviceID($0) }
            (isFurther, isSaidItself) = (stored.isFurther ?? false, stored.isSaidItself ?? false)
        }

        var stored: StoredKeyRing.Devices.Change {
            StoredKeyRing.Devices.Change(
                device: device?.text, isFurther: isFurther ? true : nil, isSaidItself: isSaidItself ? true : nil)
        }
    }

    enum GrantedAction: Hashable, Sendable {
        /// The granted key is the newest already.
        case known
        case changed(after: DeviceID?, isFurther: Bool)
        case refused
    }

    /// Each phone that survives a revocation makes a key, all within a short time.
    static let settlingMilliseconds: Int64 = 10 * 60_000
    static let olderLimit = 4
    static let pastLimit = 32

    private(set) var newest: Key
    private(set) var older: [Key]
    /// Names of all earlier keys. None is accepted again: a device revoked since then knows it, and a relay can repeat its grant.
    private(set) var past: [KeyName]
    /// Order of creation among all chats.
    let number: Int
    /// Whether this bridge made the chat. No other device can grant a key for it.
    let isOurs: Bool
    /// Devices that have the newest key.
    var granted: Set<DeviceID>
    var change = Change.none
    var untold: UntoldChange?
    /// Name of a key that replaced the newest in one of the two files alone.
    var awaited: KeyName?
    /// The chat is gone. Its keys stay until its open turns have ended.
    private(set) var isEnded = false
    /// Number of open turns by the key that they began with.
    private var uses: [KeyName: Int] = [:]

    init(
        _ newest: Key, older: [Key] = [], past: [KeyName] = [], number: Int, isOurs: Bool, isEnded: Bool = false,
        granted: Set<DeviceID>
    ) {
        self.newest = newest
        self.older = older
        self.past = past
        self.number = number
        self.isOurs = isOurs
        self.isEnded = isEnded
        self.granted = granted
    }

    var isInUse: Bool { !uses.isEmpty }

    func key(named name: KeyName) -> Key? { newest.name == name ? newest : older.first { $0.name == name } }

    /// Whether another key will come.
    var awaitsKey: Bool { change.isExpected || awaited != nil }

    /// All keys, newest first.
    var all: [Key] { [newest] + older.reversed() }

    /// `phones` is the number of reading devices. Each makes one key after a revocation; a higher number could include a relay's own.
    mutating func granted(_ key: Key, wall: Int64, phones: Int) -> GrantedAction {
        guard key.secret != newest.secret else { return .known }
        guard !isOurs else { return .refused }
        if key.name == awaited {
            replace(by: key)
            return .changed(after: untold?.device, isFurther: untold?.isFurther ?? false)
        }
        guard !past.contains(key.name), past.count < Self.pastLimit else { return .refused }
        let isFurther = !change.isExpected
        let revoked: DeviceID?
        let until: Int64
        let others: Int
        switch change {
        case .none:
            return .refused
        case .expected(let device):
            until = wall.addingReportingOverflow(Self.settlingMilliseconds).partialValue
            revoked = device
            others = max(1, phones) - 1
        case .settling(let end, let device, let left):
            guard wall <= end else {
                change = .none
                return .refused
            }
            revoked = device
            until = end
            others = left - 1
        }
        change = others > 0 ? .settling(until: until, after: revoked, others: others) : .none
        replace(by: key)
        return .changed(after: revoked, isFurther: isFurther)
    }

    mutating func replace(by key: Key) {
        past.append(newest.name)
        // Drop names over the limit. They belong to our own keys, which no other device grants: a chat of a phone accepts none at the limit.
        past.removeFirst(max(0, past.count - Self.pastLimit))
        older.append(newest)
        newest = key
        awaited = nil
        forgetUnused()
    }

    /// A file that is older than the newest key names this one.
    mutating func replaced(_ name: KeyName) {
        if !past.contains(name) { past.append(name) }
    }

    mutating func end() { isEnded = true }

    /// Begins an ended chat again. Its open turns keep their keys.
    mutating func begin(under key: Key) {
        isEnded = false
        replace(by: key)
        granted = []
    }

    mutating func turnBegan(under name: KeyName) { uses[name, default: 0] += 1 }

    /// Ends a turn. True if that removed a key.
    mutating func turnEnded(under name: KeyName) -> Bool {
        guard let count = uses[name] else { return false }
        uses[name] = count > 1 ? count - 1 : nil
        return forgetUnused()
    }

    @discardableResult
    mutating func forgetUnused() -> Bool {
        let count = older.count
        older.removeAll { uses[$0.name] == nil }
        // A turn beyond the limit can end neither sealed nor in the open.
        older.removeFirst(max(0, older.count - Self.olderLimit))
        return older.count < count
    }
}
