import BridgeModel
import Sealing
import Testing

@Suite("The ring of keys against a relay that wants one of its own")
struct KeyRingHostileTests {
    private static let chat = SessionID("ses_1")

    /// The first phone is pinned, and its chat has the key 9.
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
        // Nobody knows any more which key it had last.
        #expect(try talk.granted("ses_1", 12).first == "tell keyRefused(ses_1)")
        #expect(!talk.ring.isSealed(SessionID("ses_other")))
    }
}
