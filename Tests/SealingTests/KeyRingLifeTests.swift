import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys: ends, installations, the person's word")
struct KeyRingLifeTests {
    /// A registered ring with the first phone pinned, long after the pairing.
    private func conversation(_ stored: StoredKeyRing = StoredKeyRing()) throws -> RingConversation {
        var talk = try RingConversation(stored: stored, minutesAfterPairing: 600)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        _ = talk.announced(try talk.phone(1))
        _ = talk.allKept()
        return talk
    }

    // MARK: Ends

    @Test("a turn that is open when its chat ends keeps its key until its end, and not a moment longer")
    func endedWithTurn() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        let name = try talk.turnBegan("ses_1")
        #expect(talk.ended("ses_1") == ["save"])
        #expect(talk.saved?.keys.keys.keys.sorted() == ["ses_1"])
        #expect(talk.ring.sealer(SessionID("ses_1"), name) != nil)
        // Nothing new begins under the key of an ended chat.
        #expect(talk.ring.keyName(for: SessionID("ses_1")) == nil)
        _ = talk.allKept()
        #expect(talk.turnEnded("ses_1", name) == ["save"])
        #expect(talk.saved?.keys.keys == [:])
        #expect(talk.ring.sealer(SessionID("ses_1"), name) == nil)
        #expect(talk.ring.isSealed(SessionID("ses_1")))
    }

    @Test(
        "a process that was killed before such a turn ended forgets the key at the next end, or at once without the turn"
    )
    func endedOverRestart() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        let name = try talk.turnBegan("ses_1")
        _ = talk.ended("ses_1")
        var next = try talk.restarted()
        next.ring.turnBegan(in: SessionID("ses_1"), under: name)
        #expect(next.restored() == [])
        #expect(next.ring.sealer(SessionID("ses_1"), name) != nil)
        var other = try talk.restarted()
        #expect(other.restored() == ["save"])
        #expect(other.saved?.keys.keys == [:])
    }

    @Test("a chat that had a key is never taken for an open one again, also after a restart")
    func endedStaysSealed() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        _ = talk.ended("ses_1")
        let next = try talk.restarted()
        #expect(next.ring.isSealed(SessionID("ses_1")))
        #expect(next.ring.keyName(for: SessionID("ses_1")) == nil)
        #expect(!next.ring.isSealed(SessionID("ses_2")))
    }

    @Test(
        "its last key may come back with it, one that was replaced may not, and none once a device that has it was revoked"
    )
    func endedComesBack() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        _ = try talk.granted("ses_1", 10)
        _ = talk.allKept()
        _ = talk.ended("ses_1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 9).first == "tell keyRefused(ses_1)")
        #expect(try talk.granted("ses_1", 10) == ["save"])
        #expect(talk.allKept().first?.hasPrefix("acknowledge") == true)
        // A chat that comes back remembers its replaced keys.
        #expect(try talk.granted("ses_1", 9).first == "tell keyRefused(ses_1)")
        _ = talk.ended("ses_1")
        _ = talk.allow("phone-1")
        _ = talk.allKept()
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 10).first == "tell keyRefused(ses_1)")
        #expect(try talk.granted("ses_1", 11) == ["tell keyChanged(ses_1) after phone-1", "save"])
    }

    @Test("a relay that ends chats without end fills nothing: the newest keep their names, all of them stay sealed")
    func manyEnded() throws {
        var talk = try conversation()
        for number in 0..<KeyRing.chatLimit + 5 {
            _ = talk.makeKey("ses_\(number)")
            _ = talk.ended("ses_\(number)")
        }
        _ = talk.allKept()
        #expect(talk.saved?.devices?.ended?.count == KeyRing.chatLimit)
        #expect(talk.ring.isSealed(SessionID("ses_\(KeyRing.chatLimit + 4)")))
        #expect(talk.ring.isSealed(SessionID("ses_0")))
        #expect(talk.saved?.devices?.endedMarks?.utf8.count == 50)
    }

    @Test("with the installation its devices and chats go, and none is pinned by itself after that")
    func installationRevoked() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        #expect(talk.tell { ring, now, _ in ring.installationRevoked(at: now) } == ["save"])
        #expect(talk.saved?.keys.keys == [:] && talk.saved?.devices?.devices == [])
        #expect(talk.ring.isSealed(SessionID("ses_1")) && talk.ring.hasHeldKey)
        _ = talk.allKept()
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
    }

    // MARK: Another installation

    @Test(
        "with another installation's token keys and devices go, its chats stay sealed, and what was asked for the old one is not heard"
    )
    func moved() throws {
        var talk = try conversation()
        _ = talk.tell { ring, now, _ in ring.moved(to: "inst_a", pairedAt: nil, at: now) }
        _ = talk.allKept()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        _ = talk.linkDown()
        _ = talk.linkUp()
        let asked = talk.registration
        let wall = talk.wall
        #expect(talk.tell { ring, now, _ in ring.moved(to: "inst_b", pairedAt: wall, at: now) } == ["save"])
        #expect(talk.saved?.keys.keys == [:] && talk.saved?.devices?.devices == [])
        // The agent knows its conversation by the chat's id alone, so a call that names the chat could continue it in
        // the open.
        #expect(talk.ring.isSealed(SessionID("ses_1")) && talk.ring.hasHeldKey && talk.ring.deviceID == nil)
        let answer = KeyCallAnswer.delivered(RegistrationReceipt(device: DeviceID("old"), keyChanged: false))
        #expect(talk.tell { ring, now, _ in ring.registrationAnswered(asked, answer, at: now) } == [])
        #expect(talk.ring.deviceID == nil)
        _ = talk.allKept()
        // A relay that refuses the token makes the person pair again, and names the installation: such a pairing pins
        // nobody.
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
        // The same installation again changes nothing.
        _ = talk.allKept()
        #expect(talk.tell { ring, now, _ in ring.moved(to: "inst_b", pairedAt: wall, at: now) } == [])
    }

    @Test("of what is stored of another installation no key is taken up, and its chats stay sealed")
    func storedOfAnother() throws {
        var talk = try conversation()
        _ = talk.tell { ring, now, _ in ring.moved(to: "inst_a", pairedAt: nil, at: now) }
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        let stored = try #require(talk.saved)
        func restart(_ installation: String?) throws -> (RingConversation, [String]) {
            var next = try RingConversation(stored: stored, installation: installation)
            let orders = next.restored()
            return (next, orders)
        }
        var (next, orders) = try restart("inst_b")
        #expect(orders == ["save"] && next.saved?.keys.keys == [:] && next.saved?.devices?.installation == "inst_b")
        #expect(next.ring.isSealed(SessionID("ses_1")) && next.ring.keyName(for: SessionID("ses_1")) == nil)
        #expect(next.ring.hasHeldKey)
        for installation in ["inst_a", nil] {
            (next, orders) = try restart(installation)
            #expect(orders == [] && next.ring.isSealed(SessionID("ses_1")))
        }
    }

    @Test("another device's secret is made known at once, and no grant for the old one is opened")
    func anotherSecret() throws {
        var talk = try conversation()
        let secret = try talk.bench.key(201)
        #expect(talk.tell { ring, now, _ in ring.use(device: secret, at: now) } == ["save", "register"])
        #expect(talk.ring.publicKey == Hexadecimal.text(talk.bench.library.publicKey(of: secret)))
        _ = talk.registered("bridge-2")
        _ = talk.allKept()
        #expect(
            try talk.granted("ses_1", 9, device: "bridge-2").first
                == "tell \(KeyRingNews.grantUnreadable(SessionID("ses_1"), .notAuthentic))")
        #expect(talk.tell { ring, now, _ in ring.use(device: secret, at: now) } == [])
    }

    @Test("switched off, this bridge does not make itself known; switched on again it does at once")
    func off() throws {
        var talk = try RingConversation()
        _ = talk.tell { ring, now, _ in ring.registers(false, at: now) }
        #expect(talk.linkUp() == [])
        #expect(talk.tell { ring, now, _ in ring.registers(true, at: now) } == ["register"])
        #expect(talk.tell { ring, now, _ in ring.registers(true, at: now) } == [])
        _ = talk.tell { ring, now, _ in ring.registers(false, at: now) }
        #expect(talk.registrationFailed(.later(nil)) == [])
        #expect(talk.ring.nextWake == nil)
    }

    // MARK: Grants

    @Test(
        "until the relay has named this bridge on this link, what can be opened was meant for it; then only what names it"
    )
    func renamed() throws {
        var talk = try conversation()
        _ = talk.linkDown()
        _ = talk.linkUp()
        #expect(try talk.granted("ses_1", 9, device: "bridge-2") == ["save"])
        #expect(talk.allKept().first?.hasPrefix("acknowledge") == true)
        _ = talk.registered("bridge-2")
        _ = talk.allKept()
        #expect(try talk.granted("ses_2", 9, device: "bridge-1").first?.hasPrefix("acknowledge") == true)
        #expect(!talk.ring.isSealed(SessionID("ses_2")))
    }

    @Test("a chat that this bridge makes gets a key of its own, whatever was granted under that name before")
    func granted() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        #expect(talk.makeKey("ses_1") == ["save"])
        #expect(talk.allKept().contains("grant 1 ses_1 to phone-1"))
        #expect(talk.ring.keyName(for: SessionID("ses_1")) != (try talk.name(9)))
        #expect(try talk.granted("ses_1", 9).first == "tell keyRefused(ses_1)")
        #expect(talk.makeKey("ses_1") == [])
    }

    @Test("nothing is said in a chat of our own before each pinned device that can have its key has it")
    func chatGranted() throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.allow("phone-2")
        _ = talk.allKept()
        _ = talk.makeKey("ses_1")
        #expect(talk.allKept().last == "grant 1 ses_1 to phone-1,phone-2")
        #expect(!talk.ring.isGranted(SessionID("ses_1")))
        // One of the two phones cannot have the key: the ring asks again for each phone by itself.
        #expect(talk.answered(1, .refused) == ["grant 2 ses_1 to phone-1"])
        #expect(talk.answered(2, .delivered(GrantReceipt())) == ["grant 3 ses_1 to phone-2"])
        #expect(!talk.ring.isGranted(SessionID("ses_1")))
        #expect(talk.answered(3, .refused) == ["tell grantRefused(ses_1, phone-2)", "chat granted ses_1"])
        #expect(talk.ring.isGranted(SessionID("ses_1")))
    }

    @Test("a chat whose key no device can have is not granted")
    func grantedToNobody() throws {
        var talk = try conversation()
        _ = talk.makeKey("ses_1")
        _ = talk.allKept()
        #expect(talk.answered(1, .refused) == ["tell grantRefused(ses_1, phone-1)"])
        #expect(!talk.ring.isGranted(SessionID("ses_1")))
        // The next link retries the grant.
        _ = talk.linkDown()
        #expect(talk.linkUp().contains("grant 2 ses_1 to phone-1"))
        #expect(talk.answered(2, .delivered(GrantReceipt())) == ["chat granted ses_1"])
    }

    @Test("the keys of many chats go out no faster than the relay's bucket takes them, and nothing wakes once all have")
    func pace() throws {
        var talk = try conversation()
        for number in 0..<40 {
            _ = try talk.granted("ses_\(number)", UInt8(number + 1))
            _ = talk.allKept()
        }
        _ = talk.announced(try talk.phone(99))
        _ = talk.allow("phone-99")
        _ = talk.allKept()
        var sent: [Instant] = []
        for _ in 0..<400 where sent.count < 40 {
            while let grant = talk.grants.first {
                talk.grants.removeFirst()
                sent.append(talk.now)
                _ = talk.answered(grant.number, .delivered(GrantReceipt()))
            }
            guard let wake = talk.ring.nextWake else { break }
            _ = talk.pass(wake - talk.now)
            _ = talk.allKept()
        }
        #expect(sent.count == 40)
        let span = try #require(sent.last) - (try #require(sent.first))
        #expect(span > .seconds(7) && span < .seconds(9), "\(span)")
        _ = talk.pass(.seconds(60))
        _ = talk.allKept()
        #expect(talk.ring.nextWake == nil)
    }

    // MARK: The person's word

    @Test("a device that the person refused stays refused, whatever is announced or trusted, until they allow it")
    func refused() throws {
        var talk = try conversation()
        _ = talk.makeKey("ses_1")
        _ = talk.allKept()
        _ = talk.answered(1, .delivered(GrantReceipt()))
        _ = talk.pass(.seconds(5))
        _ = talk.allKept()
        let before = talk.ring.keyName(for: SessionID("ses_1"))
        #expect(talk.refuse("phone-1") == ["tell deviceRefused(phone-1)", "save"])
        _ = talk.allKept()
        // The refused phone knows the old key, so the ring makes another.
        #expect(talk.ring.keyName(for: SessionID("ses_1")) != before && !talk.ring.isGranted(SessionID("ses_1")))
        #expect(talk.refuse("phone-1") == [])
        _ = talk.tell { ring, now, random in ring.use(.trust, at: now, using: random) }
        #expect(talk.announced(try talk.phone(1)).first?.hasPrefix("acknowledge") == true)
        #expect(talk.announced(try talk.phone(5, id: "phone-1")).first == "tell deviceChangedKey(phone-1)")
        _ = talk.allKept()
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .refused)
        #expect(talk.allow("phone-1").first == "tell devicePinned(phone-1)")
    }

    @Test("a person's refusal opens no other key of a chat: only the relay's revocation is followed by new ones")
    func refusedOpensNothing() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.allKept()
        _ = talk.refuse("phone-1")
        _ = talk.allKept()
        #expect(try talk.granted("ses_1", 10).first == "tell keyRefused(ses_1)")
    }

    @Test("what the person allows is the key that they saw, not what the relay has put in its place since")
    func otherKey() throws {
        var talk = try conversation()
        let seen = try talk.phone(2).publicKey
        _ = talk.announced(try talk.phone(2))
        _ = talk.announced(try talk.phone(3, id: "phone-2"))
        #expect(talk.ring.allow(DeviceID("phone-2"), key: seen, at: talk.now, using: talk.bench.library) == .otherKey)
        #expect(talk.ring.allow(DeviceID("x"), key: seen, at: talk.now, using: talk.bench.library) == .unknownDevice)
        #expect(talk.ring.book.devices[DeviceID("phone-2")]?.standing == .held)
    }

    @Test("trust that is set later pins what is held, at once and at a start")
    func trustLater() throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.allKept()
        let stored = try #require(talk.saved)
        let trusting = talk.tell { ring, now, random in ring.use(.trust, at: now, using: random) }
        #expect(trusting == ["tell devicePinned(phone-2)", "save"])
        var next = try RingConversation(stored: stored, trusts: true)
        #expect(next.restored() == ["tell devicePinned(phone-2)", "save"])
    }

    @Test("a relay that announces devices without end shuts out no phone of the person's: the oldest held gives way")
    func roomOfHeld() throws {
        var talk = try conversation()
        for number in 2...80 {
            let announced = talk.announced(try talk.phone(UInt8(number), id: "d\(number)"))
            #expect(announced.first == "tell deviceHeld(d\(number))")
            _ = talk.allKept()
        }
        #expect(talk.ring.book.devices.count == 64)
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .pinned)
        #expect(talk.ring.book.devices[DeviceID("d17")] == nil && talk.ring.book.devices[DeviceID("d18")] != nil)
    }

    @Test("revoked devices make room for others; those that the person refused do not")
    func room() throws {
        var talk = try conversation()
        for number in 2...64 {
            _ = talk.announced(try talk.phone(UInt8(number), id: "d\(number)"))
            _ = talk.refuse("d\(number)")
        }
        #expect(talk.announced(try talk.phone(99, id: "more")).contains("tell tooManyDevices"))
        _ = talk.revoked("phone-1")
        #expect(talk.announced(try talk.phone(99, id: "more")).first == "tell deviceHeld(more)")
    }
}
