import AgentKit
import BridgeService
import Crypto
import Files
import FoundationEssentials
import Glibc
import Locking
import Sealing
import Testing
import Vocabulary

@Suite("The keys of a connection in their files")
struct KeyFilesTests {
    private static let hex = String(repeating: "0a", count: 32)
    private let folder = FileManager.default.temporaryDirectory.appending(path: "keys-\(UUID().uuidString)").path
    private let library: OpenSSLSealing
    private let settings: Configuration.Connection
    private var files: KeyFiles { KeyFiles(settings.name, in: configuration) }

    private var configuration: Configuration {
        var configuration = Configuration(stateDirectory: folder + "/state")
        configuration.configDirectory = folder + "/config"
        return configuration
    }

    init() throws {
        library = try OpenSSLSealing()
        settings = try load().configuration.connections[0]
        try FileManager.default.createDirectory(atPath: folder + "/config", withIntermediateDirectories: true)
    }

    private func put(_ text: String, _ name: String) throws {
        let path = folder + "/config/" + name
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, 0o600)
    }

    private func open(_ token: String? = "inst_a:s_test_1") throws(FileError) -> KeyFiles.Opened {
        try files.open(
            for: settings, token: token.map { Secret($0) }, library: library, random: library, wallMilliseconds: 0)
    }

    private func pair(_ token: String, secret: String? = hex, savedAt: String = "2026-02-02T02:40:00.123Z") throws {
        let secret = secret.map { #","bridgeSecretHex":"\#($0)""# } ?? ""
        try put(#"{"botToken":"\#(token)","savedAt":"\#(savedAt)"\#(secret)}"#, "credentials.json")
    }

    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    @Test("a first start makes a device, and every later one is the same device")
    func firstStart() throws {
        defer { remove() }
        let first = try open().ring.publicKey
        #expect(try open().ring.publicKey == first)
        #expect(try files.look(at: settings, token: nil, library: library)?.ring.publicKey == first)
    }

    @Test("looking makes nothing")
    func looking() throws {
        defer { remove() }
        #expect(try files.look(at: settings, token: nil, library: library)?.ring.publicKey == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/config") == [])
    }

    @Test("the device of the pairing is taken where the token is of its installation, and not for another one")
    func pairing() throws {
        defer { remove() }
        try pair("inst_a:s_test_1")
        let paired = try open().ring.publicKey
        // Another token of the same installation, from the environment.
        #expect(try open("inst_a:s_test_2").ring.publicKey == paired)
        #expect(try open("inst_b:s_test_1").ring.publicKey != paired)
        #expect(try open("no-installation").ring.publicKey != paired)
    }

    @Test("the time of the pairing is when its credentials were saved", arguments: [1, 20])
    func pairedAt(minutes: Int64) throws {
        defer { remove() }
        try pair("inst_a:s_test_1")
        var ring = try open().ring
        let wall = 1_770_000_000_123 + minutes * 60_000
        for number in UInt8(1)...2 {
            let secret = try #require(SecretKey([UInt8](repeating: number, count: 32)))
            let phone = DeviceBook.Device(id: DeviceID("phone-\(number)"), publicKey: library.publicKey(of: secret))
            ring.deviceAnnounced(phone, UpdateID("\(number)"), wall: wall, at: .zero, using: library)
        }
        #expect(ring.figures.pinned == (minutes == 1 ? 2 : 1))
    }

    @Test("a damaged device of the pairing is an error, and not another device; a token of elsewhere does not need it")
    func damagedSecret() throws {
        defer { remove() }
        try pair("inst_a:s_test_1", secret: "xyz")
        #expect {
            try open()
        } throws: {
            ($0 as? FileError)?.message.contains("sophon-bridge pair") == true
        }
        #expect(throws: Never.self) { try open("inst_b:s_test_1") }
    }

    @Test("the reference bridge's keys are taken up, and what is written it can read: each chat's key in its own form")
    func reference() throws {
        defer { remove() }
        try put(#"{ "keys": { "ses_1": "\#(Self.hex)" }, "savedAt": "2026-01-01T00:00:00.000Z" }"#, "session-keys.json")
        var ring = try open().ring
        #expect(ring.isSealed(SessionID("ses_1")) && ring.hasHeldKey)
        let phone = try #require(SecretKey([UInt8](repeating: 1, count: 32)))
        ring.deviceAnnounced(
            DeviceBook.Device(id: DeviceID("phone"), publicKey: library.publicKey(of: phone)), UpdateID("1"), wall: 0,
            at: .zero, using: library)
        var saved: StoredKeyRing?
        for case .save(let stored, _) in ring.takeOrders() { saved = stored }
        #expect(try files.save(try #require(saved), wallMilliseconds: 1_770_000_000_123) == nil)
        struct Reference: Decodable {
            var keys: [String: String]
            var savedAt: String
        }
        let data = try #require(FileManager.default.contents(atPath: folder + "/config/session-keys.json"))
        let reference = try JSONDecoder().decode(Reference.self, from: data)
        #expect(reference.keys == ["ses_1": Self.hex] && reference.savedAt == "2026-02-02T02:40:00.123Z")
        // The way back gives the same.
        let again = try open().ring
        #expect(again.figures.held == 1 && again.isSealed(SessionID("ses_1")))
    }

    @Test(
        "what cannot be a key or a device is an error with what to do, and stays on the disk",
        arguments: [
            ("session-keys.json", #"{"keys":{"ses_1":"0a"}}"#, "delete it"),
            ("session-keys.json", #"{"keys":{"ses_1":""#, "delete it"),
            (
                "sealing.json", #"{"version":2,"hasPinned":true,"hasHeldKey":true,"devices":[],"chats":{}}"#,
                "run that version"
            ),
            (
                "sealing.json",
                #"{"version":1,"hasPinned":true,"hasHeldKey":true,"chats":{},"devices":[{"id":"a","publicKey":"00","standing":"pinned"}]}"#,
                "delete it"
            ),
        ])
    func damaged(name: String, text: String, remedy: String) throws {
        defer { remove() }
        try put(text, name)
        #expect {
            try open()
        } throws: {
            let message = ($0 as? FileError)?.message ?? ""
            return message.contains(name) && message.contains(remedy)
        }
        #expect(FileManager.default.contents(atPath: folder + "/config/" + name) == Data(text.utf8))
    }

    @Test("keys in both folders: the other file is read until the one that is used can be written, and is kept")
    func copiesStay() throws {
        defer { remove() }
        try put(
            #"{ "keys": { "ses_1": "\#(Self.hex)" }, "savedAt": "2026-01-02T00:00:00.000Z" }"#, "session-keys.json")
        let other = folder + "/state/session-keys.json"
        try FileManager.default.createDirectory(atPath: folder + "/state", withIntermediateDirectories: true)
        try Data(#"{ "keys": { "ses_2": "\#(Self.hex)" }, "savedAt": "2026-01-01T00:00:00.000Z" }"#.utf8)
            .write(to: URL(filePath: other))
        // A directory in the place of the file that is written first, so that no user can write it.
        let unfinished = folder + "/config/session-keys.json.new"
        try FileManager.default.createDirectory(atPath: unfinished, withIntermediateDirectories: true)
        for name in [".other", ".other2"] {
            let opened = try open()
            #expect(opened.copies?.keptAs == other + name && FileManager.default.fileExists(atPath: other))
            #expect(opened.ring.isSealed(SessionID("ses_1")) && opened.ring.isSealed(SessionID("ses_2")))
        }
        try FileManager.default.removeItem(atPath: unfinished)
        #expect(try open().copies?.keptAs == other + ".other3")
        #expect(!FileManager.default.fileExists(atPath: other))
        #expect(try open().ring.isSealed(SessionID("ses_2")))
    }

    @Test("the writing thread says once that it cannot write, and when it can again; nothing is kept until then")
    func writer() throws {
        defer { remove() }
        let news = Locked<[KeyWriter.News]>([])
        let answers = Locked<[Bool]>([])
        let writer = try KeyWriter(files, clock: SystemClock()) { heard in news.withLock { $0.append(heard) } }
        defer { writer.stop() }
        func save() {
            let count = answers.withLock { $0.count }
            writer.save(StoredKeyRing()) { isSaved in answers.withLock { $0.append(isSaved) } }
            while answers.withLock({ $0.count }) == count { sched_yield() }
        }
        // A file in a directory's place: no user can write below it.
        try FileManager.default.removeItem(atPath: folder + "/config")
        try Data().write(to: URL(filePath: folder + "/config"))
        try Data().write(to: URL(filePath: folder + "/state"))
        save()
        save()
        try FileManager.default.removeItem(atPath: folder + "/state")
        save()
        try FileManager.default.removeItem(atPath: folder + "/config")
        save()
        #expect(answers.withLock { $0 } == [false, false, true, true])
        let heard = news.withLock { $0 }
        #expect(heard.count == 3 && heard.last == .works)
        guard case .failed = heard.first, case .elsewhere(let words) = heard.dropFirst().first else {
            Issue.record("\(heard)")
            return
        }
        #expect(words.contains("state/session-keys.json"))
    }

    // MARK: Orders

    @Test("a person's decision waits in a file of its own until it is carried out, for the key that they saw")
    func orders() throws {
        defer { remove() }
        let orders = DeviceOrders(stateDirectory: folder + "/state")
        #expect(orders.pending() == [])
        let secret = try #require(SecretKey([UInt8](repeating: 1, count: 32)))
        let phone = DeviceBook.Device(id: DeviceID("phone"), publicKey: library.publicKey(of: secret), standing: .held)
        let order = DeviceOrders.Order(.allow, phone, of: settings.name)
        let path = try orders.add(order)
        for (name, text) in [("device-order-x.json", "{"), ("other.json", "{}"), ("device-order-y.json.Ab12", "{}")] {
            try Data(text.utf8).write(to: URL(filePath: folder + "/state/" + name))
        }
        #expect(Set(orders.pending().map(\.order)) == [order, nil])
        var ring = try open().ring
        #expect(ring.carryOut(order, at: .zero, using: library) == .unknownDevice)
        for (number, id) in ["first", "phone"].enumerated() {
            let secret = try #require(SecretKey([UInt8](repeating: UInt8(2 - number), count: 32)))
            let device = DeviceBook.Device(id: DeviceID(id), publicKey: library.publicKey(of: secret))
            ring.deviceAnnounced(device, UpdateID("\(number)"), wall: 0, at: .zero, using: library)
        }
        #expect(ring.figures.held == 1)
        var other = order
        other.publicKey = String(repeating: "ab", count: 32)
        #expect(ring.carryOut(other, at: .zero, using: library) == .otherKey)
        #expect(ring.carryOut(order, at: .zero, using: library) == .done && ring.figures.held == 0)
        #expect(ring.carryOut(order, at: .zero, using: library) == .nothing)
        for found in orders.pending() { try orders.remove(found) }
        #expect(!DeviceOrders.isPending(path) && orders.pending() == [])
    }

    @Test("decisions are found as they were given, even after the clock was set back; an earlier version's come first")
    func orderOfOrders() throws {
        defer { remove() }
        let orders = DeviceOrders(stateDirectory: folder + "/state")
        func order(_ number: Int) -> DeviceOrders.Order {
            let phone = DeviceBook.Device(id: DeviceID("phone-\(number)"), publicKey: [])
            return DeviceOrders.Order(number.isMultiple(of: 2) ? .allow : .revoke, phone, of: settings.name)
        }
        let times: [Int64] = [1_770_000_000_000, 1_770_000_000_000, 1_600_000_000_000, 1_770_000_000_001]
        for (number, time) in times.enumerated() { _ = try orders.add(order(number), wallMilliseconds: time) }
        try JSONFile.write(order(9), to: folder + "/state/device-order-\(UUID().uuidString).json")
        #expect(orders.pending().map(\.order) == [order(9), order(0), order(1), order(2), order(3)])
    }

    @Test("what the relay says of a device does nothing to a terminal")
    func labels() {
        #expect(DeviceLabel.plain("Ada's iPhone 📱") == "Ada's iPhone 📱")
        #expect(DeviceLabel.plain("a\u{1B}[31mb\nc\u{202E}d\u{0}") == "a·[31mb·c·d·")
        #expect(DeviceLabel.plain(String(repeating: "x", count: 1_000)).count == 64)
    }

    // MARK: What doctor says

    @Test("doctor: a damaged file fails, held devices and a missing phone are warnings, all else is well")
    func doctor() throws {
        defer { remove() }
        func findings() -> [DoctorFinding] {
            DoctorFinding.devices(
                Result { () throws(FileError) in
                    try files.look(at: settings, token: Secret("inst_a:s_test_1"), library: library)
                }, settings)
        }
        #expect(findings().map(\.outcome) == [.ok])
        _ = try open()
        #expect(findings().map(\.outcome) == [.ok])
        try put(#"{ "keys": { "ses_1": "\#(Self.hex)" } }"#, "session-keys.json")
        #expect(findings().map(\.outcome) == [.warning])
        let secret = try #require(SecretKey([UInt8](repeating: 3, count: 32)))
        let device = { (name: String, standing: String) in
            let key = Hexadecimal.text(library.publicKey(of: secret))
            return #"{"id":"\#(name)","publicKey":"\#(key)","standing":"\#(standing)"}"#
        }
        func sealing(_ devices: String) throws {
            try put(
                #"{"version":1,"hasPinned":true,"hasHeldKey":true,"chats":{},"devices":[\#(devices)]}"#, "sealing.json")
        }
        try sealing(device("a", "pinned"))
        #expect(findings().map(\.outcome) == [.ok])
        try sealing(device("a", "pinned") + "," + device("b", "held"))
        #expect(findings().map(\.outcome) == [.warning])
        #expect(findings()[0].remedy?.contains("devices allow") == true)
        try put("{", "session-keys.json")
        #expect(findings().map(\.outcome) == [.failed] && findings()[0].exitCode == .unexpected)
    }
}
