import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys against a relay that wants one of its own")
struct KeyRingHostileTests {
    private static let chat = SessionID("ses_1")

    /// A conversation with the first phone pinned and key 9 in its chat.
    private func conversation() throws -> RingConversation {
        var talk = try RingConversation(minutesAfterPairing: 600)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        _ = talk.announced(try talk.phone(1))
        _ = talk.allKept()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        return talk
    }

    @Test("an ended chat takes the key that it had last and no other", arguments: [false, true])
    func endedFirst(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        if isRestarted { talk = try talk.restarted() }
        #expect(try talk.granted("ses_1", 12).first == "tell keyRefused(ses_1)")
        #expect(talk.ring.keyName(for: Self.chat) == nil && talk.ring.isSealed(Self.chat))
        #expect(try talk.granted("ses_1", 9).first == "save")
    }

    @Test(
        "after a revocation an ended chat takes one new key, and its chat hears of the device",
        arguments: [false, true])
    func endedAndRevoked(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.ended("ses_1")
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        if isRestarted { talk = try talk.restarted() }
        #expect(try talk.granted("ses_1", 12).first == "tell keyChanged(ses_1) after phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 13).first == "tell keyRefused(ses_1)")
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 13).first == "tell keyRefused(ses_1)")
        #expect(try talk.granted("ses_1", 12).first == "save")
    }

    @Test(
        "after a revocation a chat takes as many keys as phones are left, and each is told as another one",
        arguments: 1...3)
    func keysAfterRevocation(phones: UInt8) throws {
        var talk = try conversation()
        for number in 0..<phones {
            _ = talk.announced(try talk.phone(number + 2))
            _ = talk.allow("phone-\(number + 2)")
            _ = talk.allKept()
        }
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        for number in 0..<phones {
            let again = number == 0 ? "" : " again"
            #expect(
                try talk.granted("ses_1", 30 + number).first == "tell keyChanged(ses_1) after phone-1\(again)")
            _ = talk.allKept()
            #expect(talk.ring.untoldChanges.first?.isFurther == (number > 0))
        }
        #expect(try talk.granted("ses_1", 40).first == "tell keyRefused(ses_1)")
    }

    @Test("after the only phone was revoked a chat takes one key", arguments: [false, true])
    func keyAfterLastPhone(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        if isRestarted { talk = try talk.restarted() }
        #expect(try talk.granted("ses_1", 30).first == "tell keyChanged(ses_1) after phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 31).first == "tell keyRefused(ses_1)")
    }

    @Test("a chat that this bridge made takes no key from outside, also when it has ended and a device was revoked")
    func ownEnded() throws {
        var talk = try conversation()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        _ = talk.ended("own")
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("own", 12).first == "tell keyRefused(own)")
    }

    @Test("keys without the book of devices are wrapped for nobody: every device is held", arguments: [1, 600])
    func lostBook(minutesAfterPairing: Int64) throws {
        let keys = try #require(try conversation().saved).keys
        var talk = try RingConversation(
            stored: StoredKeyRing(keys: keys), minutesAfterPairing: minutesAfterPairing)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        for number in UInt8(1)...2 {
            #expect(talk.announced(try talk.phone(number)).first == "tell deviceHeld(phone-\(number))")
            _ = talk.allKept()
        }
        var next = try talk.restarted()
        #expect(next.announced(try next.phone(3)).first == "tell deviceHeld(phone-3)")
        #expect(talk.grants.isEmpty && next.grants.isEmpty)
        _ = next.allKept()
        _ = next.linkUp()
        let allowed = next.allow("phone-1") + next.allKept()
        #expect(allowed.contains("tell devicePinned(phone-1)") && allowed.contains("grant 1 ses_1 to phone-1"))
    }

    @Test(
        "keys that are lost leave their chats sealed: each takes the key that it had last and no other",
        arguments: [true, false])
    func lostKeys(isNamed: Bool) throws {
        var stored = try #require(try conversation().saved)
        stored.keys = StoredKeyRing.Keys()
        // An earlier version did not store the name of the key: the chat accepts one key, and no other after it.
        if !isNamed { stored.devices?.chats["ses_1"]?.name = nil }
        var talk = try RingConversation(stored: stored, minutesAfterPairing: 600)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        #expect(talk.ring.isSealed(Self.chat) && talk.ring.keyName(for: Self.chat) == nil)
        #expect(!talk.ring.isSealed(SessionID("ses_other")))
        if isNamed { #expect(try talk.granted("ses_1", 12).first == "tell keyRefused(ses_1)") }
        #expect(try talk.granted("ses_1", 9).first == (isNamed ? "save" : "tell keyChanged(ses_1) after no device"))
        _ = talk.allKept()
        #expect(talk.ring.untoldChanges.map(\.session) == (isNamed ? [] : [Self.chat]))
        #expect(try talk.granted("ses_1", 12).first == "tell keyRefused(ses_1)")
        #expect(talk.grants.isEmpty)
    }

    @Test(
        "without the book of devices chats that had ended stay sealed, also where all have", arguments: [false, true])
    func lostBookOfEnded(isOneLive: Bool) throws {
        var talk = try conversation()
        if isOneLive { _ = try talk.granted("ses_2", 10) }
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        var next = try RingConversation(
            stored: StoredKeyRing(keys: try #require(talk.saved).keys), minutesAfterPairing: 600)
        _ = next.linkUp()
        _ = next.registered()
        _ = next.allKept()
        #expect(next.ring.isSealed(Self.chat) && next.ring.isSealed(SessionID("ses_2")) == isOneLive)
        #expect(try next.granted("ses_1", 12).first == "tell keyRefused(ses_1)")
        #expect(next.announced(try next.phone(3)).first == "tell deviceHeld(phone-3)")
    }

    @Test("a book that is lost before the first chat holds devices too")
    func lostBookOfNone() throws {
        var keys = StoredKeyRing.Keys()
        keys.savedAt = "2026-01-01T00:00:00.000Z"
        var talk = try RingConversation(stored: StoredKeyRing(keys: keys), minutesAfterPairing: 600)
        #expect(talk.announced(try talk.phone(1)).first == "tell deviceHeld(phone-1)")
    }

    @Test(
        "a process that ends between the two files loses no key: a chat takes the one that it was about to write, and no other"
    )
    func tornSave() throws {
        var talk = try conversation()
        let before = try #require(talk.saved)
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        _ = try talk.granted("ses_1", 12)
        _ = try talk.granted("ses_2", 13)
        _ = talk.allKept()
        var torn = try #require(talk.saved)
        torn.keys = before.keys
        var next = try RingConversation(stored: torn, minutesAfterPairing: 600)
        _ = next.restored()
        _ = next.allKept()
        #expect(try next.granted("ses_2", 14).first == "tell keyRefused(ses_2)")
        #expect(try next.granted("ses_2", 13).contains("save"))
        #expect(try next.granted("ses_1", 14).first == "tell keyRefused(ses_1)")
        #expect(try next.granted("ses_1", 12).contains("tell keyChanged(ses_1) after phone-1"))
        _ = next.allKept()
        #expect(try next.ring.keyName(for: Self.chat) == next.name(12))
    }

    @Test("a process that ends between the two files gives an ended chat of our own no key from outside")
    func tornEnd() throws {
        var talk = try conversation()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        let before = try #require(talk.saved)
        _ = talk.ended("own")
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        var torn = try #require(talk.saved)
        torn.keys = before.keys
        var next = try RingConversation(stored: torn, minutesAfterPairing: 600)
        _ = next.restored()
        _ = next.allKept()
        _ = next.revoked("phone-1")
        _ = next.allKept()
        #expect(try next.granted("own", 12).first == "tell keyRefused(own)")
        // The relay repeats the end, since no acknowledgement reached it.
        _ = next.ended("ses_1")
        #expect(next.ring.isSealed(Self.chat) && next.ring.keyName(for: Self.chat) == nil)
    }

    @Test(
        "a key of our own that a device had which was revoked is not used again after a process ended between the files"
    )
    func tornRenewal() throws {
        var talk = try conversation()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        let before = try #require(talk.saved)
        let old = try #require(talk.ring.keyName(for: SessionID("own")))
        _ = talk.announced(try talk.phone(2))
        _ = talk.allow("phone-2")
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        var torn = try #require(talk.saved)
        torn.keys = before.keys
        var next = try RingConversation(stored: torn, minutesAfterPairing: 600)
        _ = next.restored()
        _ = next.allKept()
        let new = try #require(next.ring.keyName(for: SessionID("own")))
        #expect(new != old)
        #expect(try next.granted("own", 12).first == "tell keyRefused(own)")
    }

    @Test("a key that a relay granted for a chat before this bridge made it is not the chat's, also after a torn save")
    func tornMaking() throws {
        var talk = try conversation()
        _ = try talk.granted("own", 12)
        _ = talk.allKept()
        let before = try #require(talk.saved)
        _ = talk.makeKey("own")
        var torn = try #require(talk.saved)
        torn.keys = before.keys
        var next = try RingConversation(stored: torn, minutesAfterPairing: 600)
        _ = next.restored()
        _ = next.allKept()
        #expect(next.ring.isSealed(SessionID("own")) && next.ring.keyName(for: SessionID("own")) == nil)
        #expect(try next.granted("own", 12).first == "tell keyRefused(own)")
        _ = next.makeKey("own")
        _ = next.allKept()
        #expect(try next.ring.keyName(for: SessionID("own")) != next.name(12))
        #expect(next.ring.keyName(for: SessionID("own")) != nil)
    }

    @Test("a chat whose key one file alone has heard of stays sealed where that file is lost after the next start")
    func lostAfterTorn() throws {
        var talk = try conversation()
        let before = try #require(talk.saved)
        _ = try talk.granted("ses_2", 13)
        var torn = try #require(talk.saved)
        torn.keys = before.keys
        var next = try RingConversation(stored: torn, minutesAfterPairing: 600)
        _ = next.restored()
        _ = next.allKept()
        let keys = try #require(next.saved).keys
        #expect(try RingConversation(stored: StoredKeyRing(keys: keys)).ring.isSealed(SessionID("ses_2")))
    }

    @Test("a turn keeps its key where its chat, one of our own, ends and is made again", arguments: [false, true])
    func madeAgain(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        let key = try talk.turnBegan("own")
        _ = talk.ended("own")
        _ = talk.allKept()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        if isRestarted {
            talk = try talk.restarted()
            talk.ring.turnBegan(in: SessionID("own"), under: key)
            _ = talk.restored()
        }
        #expect(talk.ring.has(key, of: SessionID("own")))
        let next = try #require(talk.ring.keyName(for: SessionID("own")))
        #expect(next != key && !talk.ring.isGranted(SessionID("own")))
        _ = talk.turnEnded("own", key)
        #expect(!talk.ring.has(key, of: SessionID("own")) && talk.ring.has(next, of: SessionID("own")))
    }

    @Test("a chat of our own that came back under its last key takes none from outside after a revocation")
    func ownComesBack() throws {
        var talk = try conversation()
        _ = talk.makeKey("own")
        _ = talk.allKept()
        let secret = try #require(talk.saved?.keys.keys["own"].flatMap { SecretKey(hex: $0) })
        _ = talk.ended("own")
        _ = talk.allKept()
        #expect(talk.granted("own", wrapped: try talk.wrapped(secret)).first == "save")
        _ = talk.allKept()
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("own", 12).first == "tell keyRefused(own)")
        #expect(talk.ring.keyName(for: SessionID("own")) != KeyName(of: secret, library: talk.bench.library))
    }

    @Test(
        "a change that no phone has heard of is kept until one has, also over an end of its chat and a restart",
        arguments: [false, true], [false, true])
    func untoldChange(isEnded: Bool, isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.revoked("phone-1")
        _ = try talk.granted("ses_1", 12)
        #expect(talk.ring.untoldChanges.isEmpty, "its key is not on the disk")
        _ = talk.allKept()
        if isEnded {
            _ = talk.ended("ses_1")
            _ = talk.allKept()
            #expect(talk.ring.untoldChanges.isEmpty, "nothing can be said there")
        }
        if isRestarted { talk = try talk.restarted() }
        if isEnded {
            _ = try talk.granted("ses_1", 12)
            _ = talk.allKept()
        }
        let change = try #require(talk.ring.untoldChanges.first)
        #expect(change.session == Self.chat && change.revoked == NumberedDevice(id: DeviceID("phone-1"), number: 1))
        _ = talk.tell { ring, now, _ in ring.told(of: change, at: now) }
        _ = talk.pass(.seconds(10))
        _ = talk.allKept()
        #expect(talk.ring.untoldChanges.isEmpty)
        talk = try talk.restarted()
        #expect(talk.ring.untoldChanges.isEmpty)
    }

    @Test("a number is given once, to a device under one key, and never again", arguments: [false, true])
    func numbers(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.allKept()
        _ = talk.announced(try talk.phone(3, id: "phone-2"))
        _ = talk.allKept()
        if isRestarted { talk = try talk.restarted() }
        _ = talk.announced(try talk.phone(1))
        _ = talk.revoked("phone-1")
        _ = talk.announced(try talk.phone(1))
        _ = talk.allKept()
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.number == 1)
        #expect(talk.ring.book.devices[DeviceID("phone-2")]?.number == 3)
        _ = talk.tell { ring, now, _ in ring.installationRevoked(at: now) }
        _ = talk.announced(try talk.phone(1))
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.number == 4)
    }

    @Test(
        "a chat that had a key stays sealed, whatever number of chats the relay ends after it",
        arguments: [false, true])
    func sealedForGood(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = talk.ended("ses_1")
        for number in 0..<10_005 {
            _ = talk.makeKey("made_\(number)")
            _ = talk.ended("made_\(number)")
        }
        _ = talk.allKept()
        if isRestarted { talk = try talk.restarted() }
        #expect(talk.ring.isSealed(Self.chat))
        // The marks of ended chats no longer name the last key of each.
        #expect(try talk.granted("ses_1", 12).first == "tell keyRefused(ses_1)")
        #expect(!talk.ring.isSealed(SessionID("ses_other")))
    }
}
