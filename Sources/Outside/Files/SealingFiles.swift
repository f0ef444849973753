import Glibc
package import Sealing
package import Vocabulary

/// The keys of sealed chats and the known devices, a pair of files for each connection.
///
/// `session-keys.json` has the reference bridge's format, so that either bridge can continue after the other
/// (relay.md#credentials-on-disk); `sealing.json` beside it has the fields that the reference bridge lacks. Each write
/// replaces the whole file. Both belong in the configuration directory; if that is not writable, they are in the state
/// directory. The two directories may be one folder under two names.
package struct SealingFiles: Sendable {
    private struct SecretForm: Codable {
        /// 64 hexadecimal digits.
        var secretHex: String
        var createdAt: String
    }

    package struct Loaded: Sendable {
        package var stored: StoredKeyRing
        /// Warnings to the user, such as files that others may read.
        package var warnings: [String]
        /// Set if both folders have keys: one file was written while the other folder was not writable.
        package var copies: Copies?
    }

    package struct Copies: Hashable, Sendable {
        package var used: String
        package var other: String
        /// The two files hold different keys.
        package var differ: Bool
        /// New name of the other file, which no save overwrites or removes.
        package fileprivate(set) var keptAs: String?

        package var words: String {
            "keys of sealed chats are in \(used) and in \(other); \(used) is used"
                + (differ ? ", and they hold different keys" : "") + (keptAs.map { "; \(other) is \($0) now" } ?? "")
        }
        package var remedy: String {
            keptAs.map { "keep \($0) until each sealed chat can be read" } ?? "stop the bridge and move \(other) away"
        }
    }

    /// Size of the largest possible ring: 10,000 chats and as many ended ones, with the longest ids, all devices and past keys.
    private static let limit = 64 << 20
    private static let keysRemedy =
        "put back a copy of it, or delete it: then chats that are sealed now stay so, and are read again only where the phone grants the same key"
    private static let devicesRemedy =
        "put back a copy of it, or delete it: then each device is held until you allow it with sophon-bridge devices allow"

    private let configDirectory: String?
    private let stateDirectory: String
    private let owner: UInt32

    package init(configDirectory: String?, stateDirectory: String, owner: UInt32 = geteuid()) {
        self.configDirectory = configDirectory
        self.stateDirectory = stateDirectory
        self.owner = owner
    }

    // MARK: Keys

    package func load(_ connection: ConnectionName) throws(FileError) -> Loaded {
        let keys = try newest(StoredKeyRing.Keys.self, "session-keys", connection, remedy: Self.keysRemedy) {
            ($0.saveNumber, $0.savedAt)
        }
        let devices = try newest(
            StoredKeyRing.Devices.self, "sealing", connection,
            remedy: Self.devicesRemedy
        ) { ($0.saveNumber, $0.savedAt) }
        var copies: Copies?
        var all = keys.value
        if keys.copies.count > 1 {
            let used = keys.copies.first { $0.value == keys.value } ?? keys.copies[0]
            let other = keys.copies.first { $0.path != used.path } ?? keys.copies[1]
            copies = Copies(used: used.path, other: other.path, differ: used.value.keys != other.value.keys)
            all?.addLacking(of: other.value)
        }
        return Loaded(
            stored: StoredKeyRing(keys: all ?? StoredKeyRing.Keys(), devices: devices.value),
            warnings: keys.warnings + devices.warnings, copies: copies)
    }

    /// Called at the start of a bridge, because the next save would overwrite or remove the other file. Its extra keys
    /// join the file in use, and the other file is renamed. If its folder is not writable, it stays.
    package func setAside(_ loaded: Loaded) -> Copies? {
        guard var copies = loaded.copies, copies.differ else { return loaded.copies }
        let isPut = (try? put(loaded.stored.keys, copies.used)) != nil
        guard let name = Self.asideNames(copies.other).first(where: { access($0, F_OK) != 0 }) else { return copies }
        // Without the put it needs its first name too: the next start reads no other.
        let isKept = (isPut ? rename(copies.other, name) : link(copies.other, name)) == 0
        if isKept { copies.keptAs = name }
        return copies
    }

    private static func asideNames(_ path: String) -> [String] {
        [path + ".other"] + (2...9).map { "\(path).other\($0)" }
    }

    /// Returns when the disk has both files. The result tells the user where they are, if not in the configuration directory.
    package func save(
        _ stored: StoredKeyRing, of connection: ConnectionName, wallMilliseconds: Int64
    ) throws(FileError) -> String? {
        let time = JSONFile.timestamp(wallMilliseconds)
        var stored = stored
        stored.keys.savedAt = time
        stored.devices?.savedAt = time
        // Devices first: entries about a key that does not exist yet are ignored, but a key without them would count as
        // another person's.
        let devices = try stored.devices.map { devices throws(FileError) in try write(devices, "sealing", connection) }
        let keys = try write(stored.keys, "session-keys", connection)
        return keys ?? devices ?? nil
    }

    /// Deleted together with the connection's credentials. Returns whether there were any files.
    package func delete(_ connection: ConnectionName) throws(FileError) -> Bool {
        var isFound = false
        for name in ["session-keys", "sealing", "relay-device"] {
            for path in paths(name, connection) {
                if try PrivateFile.remove(path) { isFound = true }
                for left in [Self.unfinished(path)] + Self.asideNames(path) { try PrivateFile.remove(left) }
            }
        }
        return isFound
    }

    // MARK: The device's secret

    /// The secret from the credentials if pairing stored it there; else from a file of its own, for a token from
    /// elsewhere. Without either, `make` makes a new one. A damaged secret is an error and never replaced: the phone
    /// would have to grant every chat's key again.
    package func deviceSecret(
        of connection: ConnectionName, in credentials: RelayCredentials?, wallMilliseconds: Int64,
        make: () -> SecretKey
    ) throws(FileError) -> (secret: SecretKey, warning: String?) {
        if let known = try knownDeviceSecret(of: connection, in: credentials) { return known }
        let secret = make()
        let form = SecretForm(secretHex: secret.hex, createdAt: JSONFile.timestamp(wallMilliseconds))
        return (secret, try write(form, "relay-device", connection))
    }

    /// Nil if no secret was made yet.
    package func knownDeviceSecret(
        of connection: ConnectionName, in credentials: RelayCredentials?
    ) throws(FileError) -> (secret: SecretKey, warning: String?)? {
        if let text = credentials?.bridgeSecret?.text {
            guard let secret = SecretKey(hex: text) else {
                throw FileError(
                    .malformed,
                    "the credentials of \(connection) have a bridgeSecretHex that is not 64 hexadecimal digits; "
                        + "run: sophon-bridge pair")
            }
            return (secret, nil)
        }
        let remedy = "put back a copy of it, or delete it: then the phone's chats have to grant their keys anew"
        for path in paths("relay-device", connection) {
            guard
                let (form, warning) = try JSONFile.read(
                    SecretForm.self, from: path, remedy: remedy, ownedBy: owner)
            else { continue }
            guard let secret = SecretKey(hex: form.secretHex) else {
                throw FileError(.malformed, "\(path) holds no device's secret; \(remedy)")
            }
            return (secret, warning)
        }
        return nil
    }

    /// The error for files that parse and hold an impossible value.
    package func error(_ fault: StoredKeyRingFault, of connection: ConnectionName) -> FileError {
        let names = ["session-keys", "sealing"].flatMap { paths($0, connection) }.filter { access($0, F_OK) == 0 }
        let remedy: String =
            switch fault {
            case .laterVersion: "run that version"
            case .badKey, .badDevice: Self.keysRemedy
            }
        return FileError(.malformed, "\(names.joined(separator: " or ")) holds \(fault); \(remedy)")
    }

    // MARK: Within

    /// Paths of a file: first in the configuration directory, then in the state directory.
    private func paths(_ name: String, _ connection: ConnectionName) -> [String] {
        let file = connection.text == "default" ? "/\(name).json" : "/\(name).\(connection.text).json"
        let folders = [configDirectory, stateDirectory].compactMap { $0 }
        let isOne = folders.count == 2 && Self.areOne(folders[0], folders[1])
        return (isOne ? [folders[0]] : folders).map { $0 + file }
    }

    /// A link or a bind mount can give one folder, or one file, two names.
    private static func areOne(_ first: String, _ second: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard stat(first, &one) == 0, stat(second, &other) == 0 else { return first == second }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }

    /// The unfinished file has one fixed name, so that killed processes leave no copies of the keys.
    private static func unfinished(_ path: String) -> String { path + ".new" }

    private func put(_ form: some Encodable, _ path: String) throws(FileError) {
        // A file over the limit could not be read at the next start: fail now, and keep the older file.
        try JSONFile.write(form, to: path, through: Self.unfinished(path), atMost: Self.limit)
    }

    private func newest<Form: Decodable>(
        _ type: Form.Type, _ name: String, _ connection: ConnectionName, remedy: String,
        _ saved: (Form) -> (number: Int?, time: String?)
    ) throws(FileError) -> (value: Form?, copies: [(path: String, value: Form)], warnings: [String]) {
        var found: Form?
        var copies: [(path: String, value: Form)] = []
        var warnings: [String] = []
        for path in paths(name, connection) {
            guard
                let (value, warning) = try JSONFile.read(
                    type, from: path, remedy: remedy, atMost: Self.limit, ownedBy: owner)
            else { continue }
            if let warning { warnings.append(warning) }
            copies.append((path, value))
            // On a tie the later path wins: it is written only while the earlier one is not writable.
            if let found, Self.isOlder(saved(value), than: saved(found)) { continue }
            found = value
        }
        return (found, copies, warnings)
    }

    /// Compares the numbers of the saves, which no clock changes; if another bridge wrote one file, compares the times.
    private static func isOlder(
        _ one: (number: Int?, time: String?), than other: (number: Int?, time: String?)
    ) -> Bool {
        if let mine = one.number, let theirs = other.number, mine != theirs { return mine < theirs }
        guard let mine = one.time, let theirs = other.time else { return false }
        return mine < theirs
    }

    private func write(_ form: some Encodable, _ name: String, _ connection: ConnectionName) throws(FileError)
        -> String?
    {
        let paths = paths(name, connection)
        guard let first = paths.first, paths.count > 1 else {
            try put(form, paths[0])
            return nil
        }
        do {
            try put(form, first)
        } catch  where error.code == .unwritable {
            try put(form, paths[1])
            return "\(error.message). The keys of sealed chats are in \(paths[1]) instead"
        }
        // The second file is out of date now, whatever its time says, unless it is the same file.
        if !Self.areOne(first, paths[1]) { try PrivateFile.remove(paths[1]) }
        return nil
    }
}
