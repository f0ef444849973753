import Files
import FoundationEssentials
import Glibc
import Testing
import Vocabulary

@testable import Sealing

@Suite("Keys of sealed chats on disk")
struct SealingFilesTests {
    private static let standard = ConnectionName("default")
    private static let hex = String(repeating: "0a", count: 32)
    private let folder: Folder
    private var files: SealingFiles {
        SealingFiles(configDirectory: folder.path + "/config", stateDirectory: folder.path + "/state")
    }

    init() throws { folder = try Folder() }

    private func key(_ byte: UInt8) throws -> SecretKey {
        try #require(SecretKey([UInt8](repeating: byte, count: 32)))
    }

    private func stored(_ keys: [String: String]) throws -> StoredKeyRing {
        let devices = """
            {"version":1,"deviceID":"d","pairedAt":5,"hasPinned":true,"hasHeldKey":true,"devices":[],
            "chats":{"ses_1":{"number":0,"isOurs":true,"granted":["p"],"older":[]}}}
            """
        return StoredKeyRing(
            keys: .init(keys: keys),
            devices: try JSONDecoder().decode(StoredKeyRing.Devices.self, from: Data(devices.utf8)))
    }

    @Test("the reference bridge's file is read as it is")
    func referenceFile() throws {
        try folder.put(
            #"{ "keys": { "ses_1": "\#(Self.hex)" }, "savedAt": "2026-05-06T07:08:09.123Z" }"#,
            "config/session-keys.json")
        let loaded = try files.load(Self.standard)
        #expect(loaded.stored.keys.keys == ["ses_1": Self.hex])
        #expect(loaded.stored.devices == nil)
        #expect(loaded.warnings.isEmpty)
    }

    @Test("what is written has the reference bridge's form, for its owner alone, and is read again")
    func form() throws {
        #expect(
            try files.save(stored(["ses_1": Self.hex]), of: Self.standard, wallMilliseconds: 1_770_000_000_123)
                == nil)
        #expect(
            folder.text("config/session-keys.json") == """
                {
                  "keys" : {
                    "ses_1" : "\(Self.hex)"
                  },
                  "savedAt" : "2026-02-02T02:40:00.123Z"
                }
                """)
        for name in ["config/session-keys.json", "config/sealing.json"] { #expect(folder.mode(name) == 0o600) }
        let loaded = try files.load(Self.standard).stored
        #expect(loaded.keys.keys == ["ses_1": Self.hex])
        #expect(loaded.devices?.chats == (try stored([:]).devices?.chats))
        #expect(loaded.devices?.deviceID == "d")
    }

    @Test("nothing there is nothing stored")
    func nothing() throws {
        let loaded = try files.load(Self.standard)
        #expect(loaded.stored == StoredKeyRing())
        #expect(try !files.delete(Self.standard))
    }

    @Test("each connection has keys of its own, and they go with it")
    func connections() throws {
        let work = ConnectionName("work")
        _ = try files.save(stored(["a": Self.hex]), of: Self.standard, wallMilliseconds: 0)
        _ = try files.save(stored(["b": Self.hex]), of: work, wallMilliseconds: 0)
        #expect(
            folder.names(in: "config")
                == ["sealing.json", "sealing.work.json", "session-keys.json", "session-keys.work.json"])
        #expect(try files.load(work).stored.keys.keys == ["b": Self.hex])
        #expect(try files.delete(work))
        #expect(try files.load(work).stored == StoredKeyRing())
        #expect(try files.load(Self.standard).stored.keys.keys == ["a": Self.hex])
    }

    @Test(
        "half of a file, or another file, is refused with what to do, and nothing of it is shown",
        arguments: [
            #"{ "keys": { "ses_1": "\#(hex)"#, #"{ "keys": { "ses_1": 5 } }"#, #"{ "savedAt": "x" }"#, "", "[]",
            "\u{0}",
        ])
    func damaged(text: String) throws {
        try folder.put(text, "config/session-keys.json")
        do {
            _ = try files.load(Self.standard)
            Issue.record("it was read")
        } catch {
            #expect(error.code == .malformed)
            #expect(error.message.contains("session-keys.json") && error.message.contains("delete it"))
            #expect(!error.message.contains("0a0a"))
        }
        #expect(folder.text("config/session-keys.json") == text)
    }

    @Test("the other file is judged as strictly")
    func damagedDevices() throws {
        try folder.put(#"{"version":1}"#, "config/sealing.json")
        #expect { try files.load(Self.standard) } throws: { ($0 as? FileError)?.code == .malformed }
    }

    @Test("a file of another user is refused: it may hold keys that they know")
    func foreign() throws {
        let theirs = SealingFiles(
            configDirectory: folder.path + "/config", stateDirectory: folder.path + "/state", owner: geteuid() + 1)
        try folder.put(#"{ "keys": {} }"#, "config/session-keys.json")
        #expect {
            try theirs.load(Self.standard)
        } throws: {
            guard let error = $0 as? FileError else { return false }
            return error.code == .foreign && error.message.contains("chown")
        }
    }

    @Test("a file that others may read is read, and told")
    func readable() throws {
        try folder.put(#"{ "keys": {} }"#, "config/session-keys.json", mode: 0o644)
        #expect(try files.load(Self.standard).warnings.count == 1)
    }

    @Test("where the configuration's directory cannot be written, the state's has the keys, and they count")
    func readOnly() throws {
        try folder.put(
            #"{ "keys": { "old": "\#(Self.hex)" }, "savedAt": "2026-01-01T00:00:00.000Z", "saveNumber": 1 }"#,
            "config/session-keys.json")
        // No user can replace a directory by a file.
        let blocked = SealingFiles(
            configDirectory: folder.path + "/blocked", stateDirectory: folder.path + "/state")
        try folder.put("x", "blocked/session-keys.json/x")
        try folder.put("x", "blocked/sealing.json/x")
        var new = try stored(["new": Self.hex])
        new.keys.saveNumber = 2
        let told = try blocked.save(
            new, of: Self.standard, wallMilliseconds: 1_770_000_000_000)
        #expect(told?.contains("state/session-keys.json") == true)
        #expect(folder.mode("state/session-keys.json") == 0o600)
        #expect(try files.load(Self.standard).stored.keys.keys == ["new": Self.hex])
        // The copy goes once the file can be written again.
        _ = try files.save(stored(["newer": Self.hex]), of: Self.standard, wallMilliseconds: 0)
        #expect(folder.names(in: "state") == [])
        #expect(try files.load(Self.standard).stored.keys.keys == ["newer": Self.hex])
    }

    @Test("without a configuration directory they are in the state's")
    func noConfigDirectory() throws {
        let files = SealingFiles(configDirectory: nil, stateDirectory: folder.path + "/state")
        #expect(try files.save(stored([:]), of: Self.standard, wallMilliseconds: 0) == nil)
        #expect(folder.names(in: "state") == ["sealing.json", "session-keys.json"])
    }

    @Test("one folder by two names holds each file once, and keeps it", arguments: [false, true])
    func oneFolder(isLinked: Bool) throws {
        try folder.put("x", "both/x")
        if isLinked { #expect(symlink(folder.path + "/both", folder.path + "/other") == 0) }
        let one = SealingFiles(
            configDirectory: folder.path + "/both", stateDirectory: folder.path + (isLinked ? "/other" : "/both"))
        for round in 1...2 {
            let told = try one.save(
                stored(["ses_\(round)": Self.hex]), of: Self.standard, wallMilliseconds: Int64(round))
            #expect(told == nil)
            #expect(folder.names(in: "both") == ["sealing.json", "session-keys.json", "x"])
        }
        let loaded = try one.load(Self.standard)
        #expect(loaded.stored.keys.keys == ["ses_2": Self.hex] && loaded.copies == nil)
        #expect(try one.delete(Self.standard))
    }

    @Test("a file that is the same one in both folders is not taken for the other copy")
    func oneFile() throws {
        _ = try files.save(stored(["a": Self.hex]), of: Self.standard, wallMilliseconds: 0)
        try folder.put("x", "state/x")
        for name in ["sealing.json", "session-keys.json"] {
            #expect(symlink(folder.path + "/config/" + name, folder.path + "/state/" + name) == 0)
        }
        _ = try files.save(stored(["b": Self.hex]), of: Self.standard, wallMilliseconds: 1)
        #expect(try files.load(Self.standard).stored.keys.keys == ["b": Self.hex])
    }

    @Test("keys in both folders are told with the place that counts, and whether they differ")
    func copies() throws {
        let file = #"{ "keys": { "a": "\#(Self.hex)" }, "savedAt": "2026-03-01T00:00:00.000Z" }"#
        try folder.put(file, "config/session-keys.json")
        try folder.put(file, "state/session-keys.json")
        let same = try #require(try files.load(Self.standard).copies)
        #expect(!same.differ && same.other != same.used)
        try folder.put(#"{ "keys": {}, "savedAt": "2026-02-01T00:00:00.000Z" }"#, "state/session-keys.json")
        let other = try #require(try files.load(Self.standard).copies)
        #expect(other.differ && other.used.hasSuffix("config/session-keys.json"))
    }

    private static let otherHex = String(repeating: "ab", count: 32)

    @Test("a reference bridge that wrote last is believed, and keys that it lacks are kept")
    func referenceWroteLast() throws {
        let later = #"{ "keys": { "a": "\#(Self.hex)" }, "savedAt": "2026-03-01T00:00:00.000Z" }"#
        try folder.put(later, "config/session-keys.json")
        try folder.put(
            #"{ "keys": { "a": "\#(Self.otherHex)", "b": "\#(Self.hex)" }, "savedAt": "2026-02-01T00:00:00.000Z" }"#,
            "state/session-keys.json")
        #expect(try files.load(Self.standard).stored.keys.keys == ["a": Self.hex, "b": Self.hex])
    }

    @Test("the newer save counts where the clock was behind when it was made, and nothing of the older one comes back")
    func clockBehind() throws {
        try folder.put(
            #"{ "keys": { "a": "\#(Self.hex)", "ended": "\#(Self.hex)" }, "savedAt": "2026-03-01T00:00:00.000Z", "saveNumber": 4 }"#,
            "config/session-keys.json")
        try folder.put(
            #"{ "keys": { "a": "\#(Self.hex)", "b": "\#(Self.hex)" }, "savedAt": "1970-01-01T00:00:09.000Z", "saveNumber": 7 }"#,
            "state/session-keys.json")
        let loaded = try files.load(Self.standard)
        #expect(loaded.stored.keys.keys == ["a": Self.hex, "b": Self.hex])
        #expect(loaded.copies?.used.hasSuffix("state/session-keys.json") == true)
    }

    @Test("the file that is not used stays on the disk, whatever is saved", arguments: [true, false])
    func setAside(again: Bool) throws {
        let other =
            #"{ "keys": { "a": "\#(Self.otherHex)", "b": "\#(Self.hex)" }, "savedAt": "2026-02-01T00:00:00.000Z" }"#
        try folder.put(
            #"{ "keys": { "a": "\#(Self.hex)" }, "savedAt": "2026-03-01T00:00:00.000Z" }"#, "config/session-keys.json")
        try folder.put(other, "state/session-keys.json")
        if again { try folder.put("x", "state/session-keys.json.other") }
        let kept = "state/session-keys.json.other" + (again ? "2" : "")
        let loaded = try files.load(Self.standard)
        let copies = try #require(files.setAside(loaded))
        #expect(copies.keptAs?.hasSuffix(kept) == true && copies.words.contains(kept) && copies.remedy.contains(kept))
        #expect(folder.text(kept) == other)
        // The file in use has everything before anything else is saved.
        let next = try files.load(Self.standard)
        #expect(next.copies == nil && next.stored.keys.keys == ["a": Self.hex, "b": Self.hex])
        _ = try files.save(next.stored, of: Self.standard, wallMilliseconds: 1)
        #expect(folder.text(kept) == other)
        #expect(try files.load(Self.standard).stored.keys.keys == ["a": Self.hex, "b": Self.hex])
        #expect(try files.delete(Self.standard))
        #expect(folder.names(in: "state") == [])
    }

    @Test("files that hold the same keys stay as they are")
    func sameKeys() throws {
        let file = #"{ "keys": { "a": "\#(Self.hex)" }, "savedAt": "2026-03-01T00:00:00.000Z" }"#
        for place in ["config", "state"] { try folder.put(file, place + "/session-keys.json") }
        #expect(files.setAside(try files.load(Self.standard))?.keptAs == nil)
        #expect(folder.names(in: "state") == ["session-keys.json"])
    }

    @Test("what a killed writer left of a key file is neither read nor kept")
    func unfinished() throws {
        try folder.put(#"{ "keys": { "torn"#, "config/session-keys.json.new")
        #expect(try files.load(Self.standard).stored == StoredKeyRing())
        _ = try files.save(stored(["ses_1": Self.hex]), of: Self.standard, wallMilliseconds: 0)
        #expect(folder.names(in: "config") == ["sealing.json", "session-keys.json"])
        try folder.put("torn", "config/sealing.json.new")
        #expect(try files.delete(Self.standard))
        #expect(folder.names(in: "config") == [])
    }

    @Test("what is wrong within a file is said with its name and what to do")
    func faults() throws {
        try folder.put(#"{ "keys": { "ses_1": "xyz" } }"#, "config/session-keys.json")
        let bad = files.error(.badKey, of: Self.standard)
        #expect(bad.code == .malformed && bad.message.contains("config/session-keys.json holds a chat's key"))
        #expect(bad.message.contains("delete it") && !bad.message.contains("xyz"))
        #expect(files.error(.laterVersion, of: Self.standard).message.contains("run that version"))
    }

    @Test("what could not be read back is not written: the older files stay")
    func tooLarge() throws {
        _ = try files.save(stored(["ses_1": Self.hex]), of: Self.standard, wallMilliseconds: 0)
        let text = folder.text("config/sealing.json")
        var large = try stored(["ses_2": Self.hex])
        large.devices?.endedMarks = String(repeating: "a", count: 65 << 20)
        #expect { try files.save(large, of: Self.standard, wallMilliseconds: 1) } throws: {
            ($0 as? FileError)?.code == .tooLarge
        }
        #expect(folder.text("config/sealing.json") == text)
        #expect(try files.load(Self.standard).stored.keys.keys == ["ses_1": Self.hex])
        #expect(folder.names(in: "config") == ["sealing.json", "session-keys.json"])
    }

    @Test("a ring that is as full as it can be is written, and read again")
    func fullest() throws {
        func id(_ kind: String, _ number: Int) -> String {
            let name = "\(kind)\(number)"
            return name + String(repeating: "/", count: 256 - name.utf8.count)
        }
        let names = (0..<32).map { String(repeating: "n", count: 30) + "\($0)" }
        var keys = StoredKeyRing.Keys()
        var chats: [String: StoredKeyRing.Devices.Chat] = [:]
        var ended: [StoredKeyRing.Devices.Ended] = []
        let granted = (0..<64).map { "#\(1_000_000_000_000 + $0)" }
        for number in 0..<10_000 {
            keys.keys[id("c", number)] = Self.hex
            chats[id("c", number)] = .init(
                number: number, isOurs: true, granted: granted, older: Array(repeating: Self.hex, count: 4),
                past: names,
                changeExpected: true, revoked: id("d", 0), isEnded: true)
            ended.append(
                .init(session: id("e", number), last: names[0], past: names, isOurs: true, revoked: id("d", 0)))
        }
        var full = try stored(keys.keys)
        full.devices?.chats = chats
        full.devices?.ended = ended
        full.devices?.endedMarks = String(repeating: "0123456789", count: 1 << 18)
        full.devices?.devices = (0..<64).map {
            .init(
                id: id("d", $0), publicKey: Self.hex, label: String(repeating: "\u{1}", count: 400),
                platform: String(repeating: "\u{1}", count: 400), standing: .pinned, isTold: true, number: .max - $0)
        }
        _ = try files.save(full, of: Self.standard, wallMilliseconds: 0)
        let loaded = try files.load(Self.standard).stored
        #expect(loaded.keys.keys.count == 10_000 && loaded.devices?.chats.count == 10_000)
        #expect(loaded.devices?.ended?.count == 10_000 && loaded.devices?.devices.count == 64)
    }

    // MARK: The device's secret

    @Test("who only looks makes none")
    func looks() throws {
        #expect(try files.knownDeviceSecret(of: Self.standard, in: nil)?.secret == nil)
        #expect(folder.names == [])
    }

    @Test("the device's secret is the one of the credentials, else it is made once and kept 0600")
    func deviceSecret() throws {
        var credentials = RelayCredentials(token: Secret("t"), bridgeSecret: Secret(Self.hex))
        let (seven, eight) = (try key(7), try key(8))
        func secret(_ credentials: RelayCredentials?, _ made: SecretKey) throws -> SecretKey {
            try files.deviceSecret(of: Self.standard, in: credentials, wallMilliseconds: 0) { made }.secret
        }
        #expect(try secret(credentials, eight) == SecretKey(hex: Self.hex))
        credentials.bridgeSecret = nil
        #expect(try secret(credentials, seven) == seven)
        #expect(folder.mode("config/relay-device.json") == 0o600)
        #expect(try secret(nil, eight) == seven)
    }

    @Test("a damaged secret is not replaced in silence", arguments: ["", "{}", #"{"secretHex":"00","createdAt":"x"}"#])
    func damagedSecret(text: String) throws {
        try folder.put(text, "config/relay-device.json")
        let key = try key(7)
        #expect(throws: FileError.self) {
            try files.deviceSecret(of: Self.standard, in: nil, wallMilliseconds: 0) { key }
        }
        #expect(folder.text("config/relay-device.json") == text)
        let credentials = RelayCredentials(token: Secret("t"), bridgeSecret: Secret("xyz"))
        #expect(throws: FileError.self) {
            try files.deviceSecret(of: Self.standard, in: credentials, wallMilliseconds: 0) { key }
        }
    }
}
