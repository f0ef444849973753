import Vocabulary

/// The keys of one chat: the newest, and older ones under which turns are still open.
///
/// A turn continues under the key that it began with. The newest key is changed only where a change is expected: each surviving
/// phone makes a new one when a device is revoked (relay.md#session-key-life-cycle). Any other grant of another key is refused, or
/// a relay could put a key of its own under a chat and read how it continues.
struct ChatKeys: Sendable {
    struct Key: Sendable {
        var secret: SecretKey
        var name: KeyName
        /// Of the ring, when it came: the files have it from that revision on.
        var revision: Int
    }

    enum Change: Hashable, Sendable {
        case none
        /// A device was revoked: one new key will come. Nil: a file of an earlier version does not name it.
        case expected(after: DeviceID?)
        /// It has come, and the other phones that are left may have made one each at the same time. Milliseconds since 1970.
        case settling(until: Int64, after: DeviceID?, others: Int)

        var isExpected: Bool { if case .expected = self { true } else { false } }

        /// The device whose revocation it follows.
        var revoked: DeviceID? {
            switch self {
            case .none: nil
            case .expected(let device), .settling(_, let device, _): device
            }
        }
    }

    /// A change that no phone has had the notice of.
    struct UntoldChange: Hashable, Sendable {
        /// The device that was revoked; nil: a file of an earlier version does not name it.
        var device: DeviceID?
        /// Another phone's key had come before it.
        var isFurther = false
        /// The chat itself has it. Who put the key there may be all who reads it: another chat has to have it too.
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
        /// It is the newest already.
        case known
        case changed(after: DeviceID?, isFurther: Bool)
        case refused
    }

    /// Each phone that survives a revocation makes a key; they come close together.
    static let settlingMilliseconds: Int64 = 10 * 60_000
    static let olderLimit = 4
    static let pastLimit = 32

    private(set) var newest: Key
    private(set) var older: [Key]
    /// The names of all keys it had. None is taken again: a device that was revoked since knows it, and a relay can repeat its grant.
    private(set) var past: [KeyName]
    /// Which came first, among all chats.
    let number: Int
    /// By this bridge, for a chat that it made: no other device can grant it.
    let isOurs: Bool
    /// The devices that have the newest.
    var granted: Set<DeviceID>
    var change = Change.none
    var untold: UntoldChange?
    /// The key that has replaced the newest in one of the two files alone.
    var awaited: KeyName?
    /// The chat is gone; its keys are here until its open turns have ended.
    private(set) var isEnded = false
    /// Open turns, by the key they began with.
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

    /// Another key will come.
    var awaitsKey: Bool { change.isExpected || awaited != nil }

    /// The newest first.
    var all: [Key] { [newest] + older.reversed() }

    /// `phones`: how many may read. Each of them makes one key after a revocation, and a relay could add its own to them.
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
        // Names of our own keys alone, which no other device can grant: a chat of a phone takes none at the limit.
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

    /// A chat that had ended begins again; its open turns keep their keys.
    mutating func begin(under key: Key) {
        isEnded = false
        replace(by: key)
        granted = []
    }

    mutating func turnBegan(under name: KeyName) { uses[name, default: 0] += 1 }

    /// Whether a key was forgotten by it.
    mutating func turnEnded(under name: KeyName) -> Bool {
        guard let count = uses[name] else { return false }
        uses[name] = count > 1 ? count - 1 : nil
        return forgetUnused()
    }

    @discardableResult
    mutating func forgetUnused() -> Bool {
        let count = older.count
        older.removeAll { uses[$0.name] == nil }
        // Beyond the limit a turn cannot be finished sealed, and it is not finished in the open either.
        older.removeFirst(max(0, older.count - Self.olderLimit))
        return older.count < count
    }
}
