import Vocabulary

/// A `KeyRing` in the form of its two files.
package struct StoredKeyRing: Sendable, Equatable {
    /// The reference bridge's own file: a key for each chat, in hexadecimal digits (relay.md#credentials-on-disk).
    package struct Keys: Codable, Sendable, Equatable {
        package var keys: [String: String]
        /// Marks of ended chats, beside the reference bridge's members: the chats stay sealed even without the other file.
        package var endedMarks: String?
        /// Number of the next device: unique even without the other file.
        package var nextNumber: Int?
        /// Counts the saves, in both files.
        package var saveNumber: Int?
        package var savedAt: String?

        package init(
            keys: [String: String] = [:], endedMarks: String? = nil, nextNumber: Int? = nil, saveNumber: Int? = nil,
            savedAt: String? = nil
        ) {
            self.keys = keys
            self.endedMarks = endedMarks
            self.nextNumber = nextNumber
            self.saveNumber = saveNumber
            self.savedAt = savedAt
        }

        /// Adds keys of chats that this file lacks. An earlier save of the same bridge is ignored, since its chats may have ended since.
        package mutating func addLacking(of other: Keys) {
            if let saveNumber, let earlier = other.saveNumber, earlier < saveNumber { return }
            keys.merge(other.keys) { mine, _ in mine }
        }

        /// Whether some process has written the file.
        var isThere: Bool { savedAt != nil || !keys.isEmpty || endedMarks != nil }
    }

    /// State beyond the reference bridge's file.
    package struct Devices: Codable, Sendable, Equatable {
        package struct Device: Codable, Sendable, Equatable {
            package var id: String
            package var publicKey: String
            package var label: String?
            package var platform: String?
            package var standing: DeviceBook.Standing
            /// Whether a phone has shown the notice of the device.
            package var isTold: Bool?
            package var number: Int?
        }

        /// A change of a key of which no phone has shown the notice.
        package struct Change: Codable, Sendable, Equatable {
            /// The revoked device.
            package var device: String?
            /// Another phone's key came before this one.
            package var isFurther: Bool?
            /// The chat itself has shown the notice, and no other chat has.
            package var isSaidItself: Bool?
        }

        package struct Chat: Codable, Sendable, Equatable {
            package var number: Int
            package var isOurs: Bool
            /// Numbers of devices, each behind a `#`. A file of an earlier version has ids.
            package var granted: [String]
            /// Keys under which turns are open.
            package var older: [String]
            /// Names of all earlier keys.
            package var past: [String]?
            /// A device was revoked, and the new key has not come.
            package var changeExpected: Bool?
            /// The revoked device.
            package var revoked: String?
            /// The chat is gone, and turns are open in it.
            package var isEnded: Bool?
            /// Name of the chat's key. Nil in a file of an earlier version.
            package var name: String?
            package var untold: Change?

            /// Whether the chat has or had the key.
            func knows(_ key: KeyName) -> Bool { name == nil || name == key.text || past?.contains(key.text) == true }
        }

        /// A chat that is gone, with the names of its keys.
        package struct Ended: Codable, Sendable, Equatable {
            package var session: String
            package var last: String?
            package var past: [String]
            package var isOurs: Bool?
            package var revoked: String?
            package var untold: Change?
        }

        package var version = 1
        package var installation: String?
        package var deviceID: String?
        package var pairedAt: Int64?
        package var hasPinned: Bool
        package var isLost: Bool?
        package var nextNumber: Int?
        package var hasHeldKey: Bool
        package var devices: [Device]
        package var chats: [String: Chat]
        package var ended: [Ended]?
        /// Older ends, as marks of equal length.
        package var endedMarks: String?
        package var saveNumber: Int?
        package var savedAt: String?
    }

    package var keys: Keys
    package var devices: Devices?

    package init(keys: Keys = Keys(), devices: Devices? = nil) {
        self.keys = keys
        self.devices = devices
    }
}

/// A stored file is invalid. The message contains nothing of its content.
package enum StoredKeyRingFault: Error, Hashable, Sendable, CustomStringConvertible {
    case badKey, badDevice, laterVersion

    package var description: String {
        switch self {
        case .badKey: "a chat's key that is not 64 hexadecimal digits"
        case .badDevice: "a device whose public key is not 64 hexadecimal digits"
        case .laterVersion: "the form of a later version of this program"
        }
    }
}

extension StoredKeyRing {
    /// Whether the files belong to the installation. A file or a token without a name counts as matching.
    func isOf(_ installation: String?) -> Bool {
        guard let installation, let stored = devices?.installation else { return true }
        return stored == installation
    }

    func book() throws(StoredKeyRingFault) -> DeviceBook {
        // Keys were granted, or devices pinned: the next announced device is not the one that they were meant for.
        guard let devices else {
            return DeviceBook(hasPinned: isBookLost, isLost: isBookLost, nextNumber: keys.nextNumber ?? 1)
        }
        guard devices.version == 1 else { throw .laterVersion }
        var known: [DeviceBook.Device] = []
        for device in devices.devices.prefix(DeviceBook.limit) {
            guard let key = SecretKey(hex: device.publicKey) else { throw .badDevice }
            var read = DeviceBook.Device(
                id: DeviceID(device.id), publicKey: key.bytes, label: device.label, platform: device.platform,
                standing: device.standing, isTold: device.isTold ?? false)
            read.number = device.number ?? 0
            known.append(read)
        }
        var book = DeviceBook(
            known, hasPinned: devices.hasPinned, isLost: devices.isLost ?? false,
            nextNumber: max(devices.nextNumber ?? 1, keys.nextNumber ?? 1), pairedAt: devices.pairedAt)
        if isBookOlder { book.holdAll() }
        return book
    }

    /// Somebody restored an older copy of the devices' file, since each save writes it before the keys. Its devices and ended chats are out of date.
    var isBookOlder: Bool {
        devices != nil && (keys.saveNumber ?? 0) > (devices?.saveNumber ?? 0)
    }

    /// Number of the newest save.
    var saveNumber: Int { max(keys.saveNumber ?? 0, devices?.saveNumber ?? 0) }

    private var isBookLost: Bool { devices == nil && keys.isThere }

    /// Whether some chat ever had a key.
    var hasHeldKey: Bool { devices?.hasHeldKey == true || !keys.keys.isEmpty || keys.endedMarks != nil }

    /// Ended chats, and chats with lost keys: they stay sealed, and accept their last key, like chats that come back from the archive.
    var endedChats: EndedChats {
        guard let devices else { return EndedChats(marks: keys.endedMarks ?? "") }
        var ended = EndedChats(devices.ended ?? [], marks: devices.endedMarks ?? "")
        let lost = devices.chats.filter { keys.keys[$0.key] == nil }
        for (session, chat) in lost.sorted(by: { $0.value.number < $1.value.number }) {
            ended.addLost(SessionID(session), chat)
        }
        // Any chat that had a key in either file stays sealed. An older copy does not know which key it had last.
        if isBookOlder { ended.markAll() }
        ended.add(marks: keys.endedMarks ?? "")
        return ended
    }

    /// Keys of the files have revision 0. Chats that came back leave `ended`.
    func chats(
        _ ended: inout EndedChats, _ library: some SealingLibrary
    ) throws(StoredKeyRingFault) -> [SessionID: ChatKeys] {
        let numbers = Dictionary(
            (devices?.devices ?? []).compactMap { device in device.number.map { ("#\($0)", device.id) } }
        ) { first, _ in first }
        func key(_ hex: String) throws(StoredKeyRingFault) -> ChatKeys.Key {
            guard let secret = SecretKey(hex: hex) else { throw .badKey }
            return ChatKeys.Key(secret: secret, name: KeyName(of: secret, library: library), revision: 0)
        }
        var chats: [SessionID: ChatKeys] = [:]
        let isOlder = isBookOlder
        // Chats of the reference bridge come first, sorted by name: each start finds the same order.
        for (place, name) in keys.keys.keys.sorted().enumerated() {
            guard let hex = keys.keys[name] else { continue }
            let chat = devices?.chats[name]
            let newest = try key(hex)
            // Another bridge resumed the chat, or the process ended between the two files.
            if chat == nil, !isOlder, !ended.mayComeBack(SessionID(name), under: newest.name) { continue }
            // The process ended between the two files: a relay had granted this key before the bridge made the chat.
            if let chat, chat.isOurs, !isOlder, !chat.knows(newest.name) {
                ended.addLost(SessionID(name), chat)
                continue
            }
            let earlier = chat == nil ? ended.remove(SessionID(name)) : nil
            var older: [ChatKeys.Key] = []
            for hex in chat?.older ?? [] { older.append(try key(hex)) }
            var made = ChatKeys(
                newest, older: older, past: chat?.past?.map { KeyName($0) } ?? earlier?.past(before: newest.name) ?? [],
                number: chat?.number ?? place - keys.keys.count,
                isOurs: chat?.isOurs ?? earlier?.isOurs ?? false, isEnded: chat?.isEnded ?? false,
                granted: isOlder ? [] : Set((chat?.granted ?? []).map { DeviceID(numbers[$0] ?? $0) }))
            made.untold = chat?.untold.map { ChatKeys.UntoldChange($0) } ?? earlier?.untold
            // The key is newer than the copy.
            if isOlder, let old = chat?.name, old != newest.name.text {
                made.replaced(KeyName(old))
            } else if chat?.changeExpected == true {
                made.change = .expected(after: chat?.revoked.map { DeviceID($0) })
            }
            // The process ended between the two files, after this key was replaced: the relay has no acknowledgement and grants the new one again.
            if !isOlder, let name = chat?.name, made.past.contains(newest.name) { made.awaited = KeyName(name) }
            chats[SessionID(name)] = made
        }
        return chats
    }

    init(
        _ book: DeviceBook, _ chats: [SessionID: ChatKeys], _ ended: EndedChats, deviceID: DeviceID?,
        hasHeldKey: Bool, installation: String?, saveNumber: Int
    ) {
        var keys: [String: String] = [:]
        var stored: [String: Devices.Chat] = [:]
        for (session, chat) in chats {
            keys[session.text] = chat.newest.secret.hex
            stored[session.text] = Devices.Chat(
                number: chat.number, isOurs: chat.isOurs,
                granted: chat.granted.compactMap { book.devices[$0]?.number }.sorted().map { "#\($0)" },
                older: chat.older.map(\.secret.hex), past: chat.past.isEmpty ? nil : chat.past.map(\.text),
                changeExpected: chat.change.isExpected ? true : nil,
                revoked: chat.change.isExpected ? chat.change.revoked?.text : nil, isEnded: chat.isEnded ? true : nil,
                name: (chat.awaited ?? chat.newest.name).text, untold: chat.untold?.stored)
        }
        let (marks, allMarks) = (ended.storedMarks, ended.allMarks)
        self.init(
            keys: Keys(
                keys: keys, endedMarks: allMarks.isEmpty ? nil : allMarks, nextNumber: book.nextNumber,
                saveNumber: saveNumber),
            devices: Devices(
                installation: installation, deviceID: deviceID?.text, pairedAt: book.pairedAt,
                hasPinned: book.hasPinned, isLost: book.isLost ? true : nil, nextNumber: book.nextNumber,
                hasHeldKey: hasHeldKey,
                devices: book.devices.values.sorted { $0.id < $1.id }.map {
                    Devices.Device(
                        id: $0.id.text, publicKey: Hexadecimal.text($0.publicKey), label: $0.label,
                        platform: $0.platform, standing: $0.standing, isTold: $0.isTold ? true : nil, number: $0.number)
                }, chats: stored, ended: ended.stored.isEmpty ? nil : ended.stored,
                endedMarks: marks.isEmpty ? nil : marks, saveNumber: saveNumber))
    }
}
