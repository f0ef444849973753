import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys: pairing again, another installation, files that do not belong together")
struct KeyRingPairingTests {
    private static let chat = SessionID("ses_1")

    /// A ring ten hours after its pairing with `inst_a`, without a device or a key.
    private func fresh() throws -> RingConversation {
        var talk = try RingConversation(minutesAfterPairing: 600, installation: "inst_a")
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        return talk
    }

    /// A ring with the first phone pinned and key 9 in its chat.
    private func conversation() throws -> RingConversation {
        var talk = try fresh()
        _ = talk.announced(try talk.phone(1))
        _ = talk.allKept()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        return talk
    }

    /// A person's pairing left a token of this installation, to the running process or to the next one.
    private func paired(
        _ talk: RingConversation, _ installation: String, isRestarted: Bool
    ) throws -> RingConversation {
        var next = isRestarted ? try talk.restarted(installation: installation, pairedAt: talk.wall) : talk
        if isRestarted { _ = next.restored() } else { _ = next.paired(with: installation) }
        _ = next.allKept()
        _ = next.linkUp()
        _ = next.registered()
        _ = next.allKept()
        return next
    }

    // MARK: Pairing again

    @Test("a pairing after the first device or the first key pins nobody", arguments: [false, true], [false, true])
    func pairedAgain(isRestarted: Bool, hasDevice: Bool) throws {
        var talk = try fresh()
        if hasDevice { _ = talk.announced(try talk.phone(1)) } else { _ = try talk.granted("ses_1", 9) }
        _ = talk.allKept()
        talk = try paired(talk, "inst_a", isRestarted: isRestarted)
        for number in UInt8(2)...3 {
            #expect(talk.announced(try talk.phone(number)).first == "tell deviceHeld(phone-\(number))")
            _ = talk.allKept()
        }
        talk = try talk.restarted(installation: "inst_a", pairedAt: talk.wall)
        #expect(talk.announced(try talk.phone(4)).first == "tell deviceHeld(phone-4)")
        #expect(talk.grants.isEmpty)
    }

    @Test("a pairing before any device and any key is the first one", arguments: [false, true])
    func pairedBefore(isRestarted: Bool) throws {
        var talk = try paired(try fresh(), "inst_a", isRestarted: isRestarted)
        for number in UInt8(2)...3 {
            #expect(talk.announced(try talk.phone(number)).first == "tell devicePinned(phone-\(number))")
            _ = talk.allKept()
        }
        // The ten minutes of the pairing continue in the next process, and end there.
        talk = try talk.restarted(installation: "inst_a", pairedAt: talk.wall)
        #expect(talk.announced(try talk.phone(4)).first == "tell devicePinned(phone-4)")
        talk.wall += 11 * 60_000
        #expect(talk.announced(try talk.phone(5)).first == "tell deviceHeld(phone-5)")
    }

    // MARK: Another installation

    @Test(
        "another installation reads no chat of the one before, nor does any of them go on in the open",
        arguments: [false, true])
    func anotherInstallation(isRestarted: Bool) throws {
        var talk = try conversation()
        _ = try talk.granted("ses_2", 10)
        _ = talk.ended("ses_2")
        _ = talk.makeKey("own")
        _ = talk.allKept()
        talk = try paired(talk, "inst_b", isRestarted: isRestarted)
        #expect(talk.saved?.keys.keys == [:] && talk.saved?.devices?.devices == [] && talk.ring.hasHeldKey)
        for name in ["ses_1", "ses_2", "own"] {
            #expect(talk.ring.isSealed(SessionID(name)) && talk.ring.keyName(for: SessionID(name)) == nil)
            for key in UInt8(9)...12 { #expect(try talk.granted(name, key).first == "tell keyRefused(\(name))") }
        }
        #expect(!talk.ring.isSealed(SessionID("ses_other")))
        // The new installation's owner may be another person than the owner of these phones.
        #expect(talk.announced(try talk.phone(1)).first == "tell deviceHeld(phone-1)")
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.number == 2)
        _ = talk.allKept()
        let next = try paired(talk, "inst_a", isRestarted: true)
        #expect(next.ring.isSealed(Self.chat) && next.ring.isSealed(SessionID("own")) && next.ring.hasHeldKey)
        #expect(next.grants.isEmpty)
    }

    // MARK: Files

    @Test("an older copy of sealing.json opens no chat, and lets no device read")
    func olderCopy() throws {
        var talk = try conversation()
        let copy = try #require(talk.saved?.devices)
        _ = try talk.granted("ses_2", 10)
        _ = talk.allKept()
        _ = talk.ended("ses_2")
        _ = talk.refuse("phone-1")
        _ = talk.allKept()
        var stored = try #require(talk.saved)
        stored.devices = copy
        talk = try RingConversation(stored: stored, minutesAfterPairing: 600, installation: "inst_a")
        #expect(talk.restored().first == "tell bookLost")
        _ = talk.allKept()
        _ = talk.linkUp()
        #expect(talk.ring.isSealed(SessionID("ses_2")))
        #expect(try talk.granted("ses_2", 10).first == "tell keyRefused(ses_2)")
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .held)
        _ = talk.makeKey("own")
        _ = talk.allKept()
        #expect(talk.announced(try talk.phone(3)).first == "tell deviceHeld(phone-3)")
        #expect(talk.grants.isEmpty)
        // The next start finds files that match, and pins nobody for the older copy.
        talk = try talk.restarted(installation: "inst_a")
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .held)
        #expect(try talk.ring.keyName(for: Self.chat) == talk.name(9))
    }

    @Test("marks of ended chats in either file count")
    func marksOfBoth() throws {
        var talk = try conversation()
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        let marked = try #require(talk.saved?.keys.endedMarks)
        var other = try fresh()
        _ = other.announced(try other.phone(1))
        var stored = try #require(other.saved)
        stored.keys.endedMarks = marked
        #expect(try RingConversation(stored: stored).ring.isSealed(Self.chat))
    }

    @Test("a number of a device is not given again where sealing.json is lost")
    func numbersOfALostBook() throws {
        let talk = try conversation()
        var next = try RingConversation(
            stored: StoredKeyRing(keys: try #require(talk.saved).keys), minutesAfterPairing: 600)
        _ = next.announced(try next.phone(3))
        #expect(next.ring.book.devices[DeviceID("phone-3")]?.number == 2)
    }
}
