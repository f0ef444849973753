import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys: chats")
struct KeyRingTests {
    private static let chat = SessionID("ses_1")

    /// A registered ring with one pinned phone.
    private func conversation() throws -> RingConversation {
        var talk = try RingConversation()
        #expect(talk.linkUp() == ["register"])
        #expect(talk.registered() == ["save"])
        #expect(talk.kept() == [])
        #expect(talk.announced(try talk.phone(1)) == [#"tell devicePinned(phone-1)"#, "save"])
        #expect(talk.kept() == ["acknowledge 1"])
        return talk
    }

    @Test("a granted key is on the disk before its update is acknowledged, and before it is used")
    func granted() throws {
        var talk = try conversation()
        #expect(try talk.granted("ses_1", 9) == ["save"])
        #expect(talk.saved?.keys.keys == ["ses_1": try talk.bench.key(9).hex])
        #expect(talk.ring.isSealed(Self.chat))
        #expect(talk.ring.keyName(for: Self.chat) == nil)
        #expect(talk.ring.sealer(Self.chat, try talk.name(9)) == nil)
        #expect(talk.kept() == ["acknowledge 2", "ready ses_1"])
        #expect(talk.ring.keyName(for: Self.chat) == (try talk.name(9)))
        #expect(talk.ring.sealer(Self.chat, try talk.name(9)) != nil)
    }

    @Test("a key that cannot be written is not acknowledged; it comes again, and is written then")
    func notKept() throws {
        var talk = try conversation()
        #expect(try talk.granted("ses_1", 9) == ["save"])
        #expect(talk.notKept() == ["let go 2", "tell notSaved"])
        #expect(try talk.granted("ses_1", 9) == ["save"])
        #expect(talk.kept() == ["acknowledge 3", "ready ses_1"])
    }

    @Test("what could not be written is tried again after a while, without being asked")
    func triedAgain() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.notKept()
        #expect(talk.ring.nextWake == talk.now + .seconds(5))
        #expect(talk.pass(.seconds(4)) == [])
        #expect(talk.pass(.seconds(1)) == ["save"])
        #expect(talk.kept() == ["ready ses_1"])
        #expect(talk.ring.nextWake == nil)
    }

    @Test("a grant that comes twice is one, and its second update waits for the disk like the first")
    func twice() throws {
        var talk = try conversation()
        #expect(try talk.granted("ses_1", 9) == ["save"])
        #expect(try talk.granted("ses_1", 9) == [])
        #expect(talk.kept() == ["acknowledge 2", "acknowledge 3", "ready ses_1"])
        #expect(try talk.granted("ses_1", 9) == ["acknowledge 4"])
    }

    @Test("one save at a time: what comes meanwhile is in the next")
    func coalesced() throws {
        var talk = try conversation()
        #expect(try talk.granted("ses_1", 9) == ["save"])
        #expect(try talk.granted("ses_2", 8) == [])
        #expect(try talk.granted("ses_3", 7) == [])
        #expect(talk.saved?.keys.keys.count == 1)
        #expect(talk.kept() == ["acknowledge 2", "ready ses_1", "save"])
        #expect(talk.saved?.keys.keys.count == 3)
        #expect(talk.kept() == ["acknowledge 3", "acknowledge 4", "ready ses_2", "ready ses_3"])
    }

    @Test("a grant for another device is none of ours")
    func otherDevice() throws {
        var talk = try conversation()
        #expect(try talk.granted("ses_1", 9, device: "phone-1") == ["acknowledge 2"])
        #expect(!talk.ring.isSealed(Self.chat))
    }

    @Test("a grant that comes before the relay has named this bridge is taken if it can be opened")
    func beforeRegistration() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        #expect(try talk.granted("ses_1", 9, device: "whatever") == ["save"])
        #expect(talk.kept() == ["acknowledge 1", "ready ses_1"])
        // A grant for another device is ignored.
        let foreign = try SealedBox.seal(
            try talk.bench.key(9), for: talk.phone(3).publicKey, library: talk.bench.library,
            random: talk.bench.library)
        #expect(talk.granted("ses_2", wrapped: Base64.encode(foreign), device: "phone-3") == ["acknowledge 2"])
    }

    @Test(
        "a grant that cannot be opened is told, acknowledged and changes nothing",
        arguments: [
            ("", SealingError.malformed), ("%%%", .badEncoding), ("AA==", .unsupportedVersion), ("Ag==", .malformed),
        ])
    func unreadable(wrapped: String, error: SealingError) throws {
        var talk = try conversation()
        #expect(
            talk.granted("ses_1", wrapped: wrapped)
                == ["tell \(KeyRingNews.grantUnreadable(Self.chat, error))", "acknowledge 2"])
        #expect(!talk.ring.isSealed(Self.chat))
    }

    @Test("a grant that was made for another secret is not opened, though it has our name")
    func wrongSecret() throws {
        var talk = try conversation()
        let foreign = try SealedBox.seal(
            try talk.bench.key(9), for: talk.phone(3).publicKey, library: talk.bench.library,
            random: talk.bench.library)
        #expect(
            talk.granted("ses_1", wrapped: Base64.encode(foreign))
                == ["tell \(KeyRingNews.grantUnreadable(Self.chat, .notAuthentic))", "acknowledge 2"])
    }

    @Test("another key for a chat that has one is refused, whether a turn is open or not", arguments: [false, true])
    func otherKey(isInUse: Bool) throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        if isInUse { _ = try talk.turnBegan("ses_1") }
        #expect(try talk.granted("ses_1", 10) == ["tell keyRefused(ses_1)", "acknowledge 3"])
        #expect(talk.ring.keyName(for: Self.chat) == (try talk.name(9)))
        #expect(talk.ring.sealer(Self.chat, try talk.name(10)) == nil)
    }

    @Test("after a device was revoked a new key is taken and told; a turn that is open goes on under its own")
    func rotation() throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.kept()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        let old = try talk.turnBegan("ses_1")
        #expect(talk.revoked("phone-2") == ["tell deviceRevoked(phone-2)", "save"])
        #expect(talk.kept() == ["acknowledge 4"])
        #expect(try talk.granted("ses_1", 10) == ["tell keyChanged(ses_1) after phone-2", "save"])
        #expect(talk.ring.keyName(for: Self.chat) == nil)
        #expect(talk.kept() == ["acknowledge 5", "ready ses_1"])
        #expect(talk.ring.keyName(for: Self.chat) == (try talk.name(10)))
        #expect(talk.ring.sealer(Self.chat, old) != nil)
        // The reference bridge reads this file, which holds only the newest key.
        #expect(talk.saved?.keys.keys == ["ses_1": try talk.bench.key(10).hex])
        // Another process continues the open turn under the old key.
        var next = try talk.restarted()
        next.ring.turnBegan(in: Self.chat, under: old)
        #expect(next.restored() == [])
        #expect(next.ring.sealer(Self.chat, old) != nil)
        #expect(talk.turnEnded("ses_1", old) == ["save"])
        #expect(talk.ring.sealer(Self.chat, old) == nil)
    }

    @Test("an old key that no open turn needs is forgotten at the next start")
    func forgottenAtStart() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        let old = try talk.turnBegan("ses_1")
        _ = talk.revoked("phone-1")
        _ = talk.kept()
        _ = try talk.granted("ses_1", 10)
        var next = try talk.restarted()
        #expect(next.ring.sealer(Self.chat, old) != nil)
        #expect(next.restored() == ["save"])
        #expect(next.ring.sealer(Self.chat, old) == nil)
        #expect(next.saved?.devices?.chats["ses_1"]?.older == [])
    }

    @Test("three survivors renew a key within minutes: the later counts; a key that comes hours after is refused")
    func settling() throws {
        var talk = try conversation()
        for number in UInt8(2)...4 {
            _ = talk.announced(try talk.phone(number))
            _ = talk.kept()
        }
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        _ = talk.revoked("phone-1")
        _ = talk.kept()
        #expect(try talk.granted("ses_1", 10).contains("tell keyChanged(ses_1) after phone-1"))
        _ = talk.kept()
        talk.wall += 60_000
        #expect(try talk.granted("ses_1", 11).contains("tell keyChanged(ses_1) after phone-1 again"))
        _ = talk.kept()
        talk.wall += 3_600_000
        #expect(try talk.granted("ses_1", 12).contains("tell keyRefused(ses_1)"))
        #expect(talk.ring.keyName(for: Self.chat) == (try talk.name(11)))
    }

    @Test("a key that the chat has had is not taken again: whoever was revoked knows it", arguments: [false, true])
    func oldKeyAgain(afterRestart: Bool) throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        for (phone, key) in [(UInt8(2), UInt8(10)), (3, 11)] {
            _ = talk.announced(try talk.phone(phone))
            _ = talk.kept()
            _ = talk.revoked("phone-\(phone)")
            _ = talk.kept()
            #expect(try talk.granted("ses_1", key).contains("tell keyChanged(ses_1) after phone-\(phone)"))
            _ = talk.kept()
        }
        _ = talk.revoked("phone-1")
        _ = talk.kept()
        if afterRestart { talk = try talk.restarted() }
        for key in [UInt8(9), 10] {
            #expect(try talk.granted("ses_1", key).first == "tell keyRefused(ses_1)")
        }
        #expect(try talk.granted("ses_1", 12).first == "tell keyChanged(ses_1) after phone-1")
    }

    @Test("that a device was revoked which was never pinned lets nobody change a key")
    func revokedStranger() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        #expect(talk.revoked("phone-7") == ["acknowledge 3"])
        #expect(try talk.granted("ses_1", 10) == ["tell keyRefused(ses_1)", "acknowledge 4"])
    }

    @Test("that a key is expected outlives the process")
    func expectedAcrossRestart() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        _ = talk.revoked("phone-1")
        var next = try talk.restarted()
        #expect(try next.granted("ses_1", 10).contains("tell keyChanged(ses_1) after phone-1"))
    }

    @Test("a key goes with its chat, on the disk too, before that is acknowledged")
    func ended() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        #expect(talk.ended("ses_1") == ["save"])
        #expect(talk.saved?.keys.keys == [:])
        #expect(talk.ring.keyName(for: Self.chat) == nil)
        #expect(talk.ring.hasHeldKey)
        #expect(talk.kept() == ["acknowledge 3"])
        #expect(talk.ended("ses_1") == ["acknowledge 4"])
    }

    @Test("a chat that ends while its key is being written is not called ready")
    func endedMeanwhile() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        #expect(talk.ended("ses_1") == [])
        #expect(talk.kept() == ["acknowledge 2", "save"])
        #expect(talk.kept() == ["acknowledge 3"])
    }

    @Test("a message is opened, waits for a key that may come, or is told to be unreadable")
    func opening() throws {
        var talk = try conversation()
        let text: String = try talk.bench.sealer("ses_1", 9).seal("hi", .messages, random: talk.bench.random)
        let newer: String = try talk.bench.sealer("ses_1", 10).seal("ho", .messages, random: talk.bench.random)
        func open(_ text: String, mayBeEmpty: Bool = false) -> OpenedMessage {
            talk.ring.open(text, in: Self.chat, mayBeEmpty: mayBeEmpty)
        }
        #expect(open(text) == .waitsForKey)
        _ = try talk.granted("ses_1", 9)
        #expect(open(text) == .waitsForKey)
        _ = talk.kept()
        #expect(open(text) == .text("hi"))
        #expect(open(newer) == .unreadable(.notAuthentic))
        #expect(open("AA==") == .unreadable(.empty))
        #expect(open("AA==", mayBeEmpty: true) == .text(""))
        #expect(open("no base64") == .unreadable(.badEncoding))
        let old = try talk.turnBegan("ses_1")
        _ = talk.revoked("phone-1")
        _ = talk.kept()
        #expect(open(newer) == .waitsForKey)
        _ = try talk.granted("ses_1", 10)
        _ = talk.kept()
        #expect(open(newer) == .text("ho"))
        #expect(open(text) == .text("hi"))
        _ = talk.turnEnded("ses_1", old)
        #expect(open(text) == .unreadable(.notAuthentic))
    }

    @Test("a key for a chat of our own is made only if somebody could read it, and is granted when it is on the disk")
    func ownChat() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        #expect(talk.makeKey("ses_1") == [])
        #expect(!talk.ring.isSealed(Self.chat))
        _ = talk.registered()
        _ = talk.kept()
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        #expect(talk.makeKey("ses_1") == ["save"])
        #expect(talk.kept() == ["ready ses_1", "grant 1 ses_1 to phone-1"])
        let grant = try #require(talk.grants.last)
        #expect(grant.path == "/v1/bridge/sessions/ses_1/recipients")
        #expect(grant.wrappedBy == DeviceID("bridge-1"))
        let box = try #require(grant.recipients.first.flatMap { Base64.decode($0.wrappedKey) })
        let key = try SealedBox.open(box, with: try talk.bench.key(1), library: talk.bench.library)
        #expect(KeyName(of: key, library: talk.bench.library) == talk.ring.keyName(for: Self.chat))
        // The save of the receipt may come late, since a repeated grant says the same.
        #expect(talk.answered(1, .delivered(GrantReceipt())) == ["chat granted ses_1"])
        #expect(talk.pass(.seconds(5)) == ["save"])
        #expect(talk.saved?.devices?.chats["ses_1"]?.granted == ["#1"])
        #expect(talk.kept() == [])
        #expect(talk.ring.nextWake == nil)
    }

    @Test("when a device is revoked, the keys of our own chats are renewed for those that are left")
    func ownRotation() throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.kept()
        _ = talk.makeKey("ses_1")
        _ = talk.kept()
        _ = talk.answered(1, .delivered(GrantReceipt()))
        _ = talk.pass(.seconds(5))
        _ = talk.kept()
        let old = try talk.turnBegan("ses_1")
        #expect(talk.revoked("phone-2") == ["tell deviceRevoked(phone-2)", "save"])
        #expect(talk.kept() == ["acknowledge 3", "ready ses_1", "grant 2 ses_1 to phone-1"])
        #expect(talk.ring.keyName(for: Self.chat) != old)
        #expect(talk.ring.sealer(Self.chat, old) != nil)
        // The revoked phone still cannot grant this chat a key of its own.
        #expect(try talk.granted("ses_1", 10) == ["tell keyRefused(ses_1)", "acknowledge 4"])
    }

    @Test("the reference bridge's keys are taken over, and a file that is damaged is refused")
    func referenceFile() throws {
        let bench = try Bench()
        let hex = try bench.key(9).hex
        let talk = try RingConversation(stored: StoredKeyRing(keys: .init(keys: ["ses_1": hex])))
        #expect(talk.ring.keyName(for: Self.chat) == (try talk.name(9)))
        #expect(talk.ring.hasHeldKey)
        for bad in ["", "9", String(hex.dropLast()), hex + "00", String(repeating: "z", count: 64)] {
            #expect(throws: StoredKeyRingFault.badKey) {
                try RingConversation(stored: StoredKeyRing(keys: .init(keys: ["ses_1": bad])))
            }
        }
    }

    @Test(
        "numbers at the ends of their type, in a file that somebody edited, end nothing",
        arguments: [Int.min, -1, Int.max])
    func wildNumbers(number: Int) throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        var stored = try #require(talk.saved)
        stored.devices?.chats["ses_1"]?.number = number
        stored.devices?.pairedAt = Int64(number)
        var next = try RingConversation(stored: stored)
        next.wall = Int64(number)
        _ = next.announced(try next.phone(3))
        #expect(try next.granted("ses_2", 8).contains("save") || next.ring.isSealed(SessionID("ses_2")))
        #expect(next.ring.keyName(for: Self.chat) == (try next.name(9)))
    }

    @Test("nothing that a ring prints shows a key")
    func hidden() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        var dumped = ""
        dump(talk.ring, to: &dumped)
        #expect(!dumped.contains(try talk.bench.key(9).hex))
        #expect(!dumped.contains(try talk.bench.key(200).hex))
    }
}
