import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys: devices")
struct KeyRingDevicesTests {
    /// A registered ring without any device.
    private func conversation(trusts: Bool = false, minutesAfterPairing: Int64 = 1) throws -> RingConversation {
        var talk = try RingConversation(trusts: trusts, minutesAfterPairing: minutesAfterPairing)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.kept()
        return talk
    }

    // MARK: Pinning

    @Test(
        "every device of the first ten minutes after pairing is pinned; one that comes later is held until it is allowed"
    )
    func pairing() throws {
        var talk = try conversation()
        #expect(talk.announced(try talk.phone(1)).first == "tell devicePinned(phone-1)")
        _ = talk.kept()
        talk.wall = RingConversation.pairedAt + 10 * 60_000
        #expect(talk.announced(try talk.phone(2)).first == "tell devicePinned(phone-2)")
        _ = talk.kept()
        talk.wall += 1
        #expect(talk.announced(try talk.phone(3)) == ["tell deviceHeld(phone-3)", "save"])
        #expect(talk.kept() == ["acknowledge 3"])
        #expect(talk.allow("phone-3") == ["tell devicePinned(phone-3)", "save"])
        #expect(talk.allow("phone-3") == [])
        #expect(talk.allow("phone-9") == [])
    }

    @Test("before any is pinned the first is, however late it comes; and no second")
    func firstUse() throws {
        var talk = try conversation(minutesAfterPairing: 600)
        #expect(talk.announced(try talk.phone(1)).first == "tell devicePinned(phone-1)")
        _ = talk.kept()
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
    }

    @Test("a relay that revokes all devices does not get its own pinned for it")
    func allRevoked() throws {
        var talk = try conversation(minutesAfterPairing: 600)
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        #expect(talk.revoked("phone-1").first == "tell deviceRevoked(phone-1)")
        _ = talk.kept()
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
        _ = talk.kept()
        // The revoked phone does not come back by itself either.
        #expect(talk.announced(try talk.phone(1)).first == "tell deviceHeld(phone-1)")
    }

    @Test("a clock that was set back before the pairing pins nobody for it")
    func clockSetBack() throws {
        var talk = try conversation(minutesAfterPairing: -5)
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
    }

    @Test("a known device under another key is another device")
    func changedKey() throws {
        var talk = try conversation(minutesAfterPairing: 600)
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        _ = talk.makeKey("ses_1")
        #expect(talk.kept().last == "grant 1 ses_1 to phone-1")
        _ = talk.answered(1, .delivered(GrantReceipt()))
        _ = talk.pass(.seconds(5))
        _ = talk.kept()
        #expect(talk.announced(try talk.phone(5, id: "phone-1")) == ["tell deviceChangedKey(phone-1)", "save"])
        #expect(talk.kept() == ["acknowledge 2"])
        #expect(talk.grants.count == 1)
        #expect(talk.allow("phone-1") == ["tell devicePinned(phone-1)", "save", "grant 2 ses_1 to phone-1"])
    }

    @Test("no key is wrapped for a device that is held, and all are once it is allowed")
    func held() throws {
        var talk = try conversation(minutesAfterPairing: 600)
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        _ = talk.announced(try talk.phone(2))
        _ = talk.kept()
        _ = talk.makeKey("ses_2")
        #expect(talk.kept().last == "grant 1 ses_2 to phone-1")
        #expect(
            talk.allow("phone-2") == ["tell devicePinned(phone-2)", "save", "grant 2 ses_1 to phone-2"])
        _ = talk.kept()
        #expect(talk.answered(1, .delivered(GrantReceipt())).contains("grant 3 ses_2 to phone-2"))
    }

    @Test("with trust in the configuration every device is pinned, also one whose key changes")
    func trust() throws {
        var talk = try conversation(trusts: true, minutesAfterPairing: 600)
        for number in UInt8(1)...3 {
            #expect(talk.announced(try talk.phone(number)).first == "tell devicePinned(phone-\(number))")
            _ = talk.kept()
        }
        _ = talk.announced(try talk.phone(5, id: "phone-1"))
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .pinned)
    }

    @Test("a device that trust pins under another key is the first pinned: no later one is pinned unasked")
    func trustOfChangedKey() throws {
        var first = try conversation(minutesAfterPairing: 600)
        _ = first.announced(try first.phone(1))
        _ = first.kept()
        _ = first.revoked("phone-1")
        var stored = try #require(first.saved)
        stored.devices?.hasPinned = false
        var talk = try RingConversation(stored: stored, trusts: true, minutesAfterPairing: 600)
        #expect(talk.announced(try talk.phone(5, id: "phone-1")).first == "tell deviceChangedKey(phone-1)")
        #expect(talk.ring.book.devices[DeviceID("phone-1")]?.standing == .pinned)
        _ = talk.tell { $0.use(.pin, at: $1, using: $2) }
        #expect(talk.announced(try talk.phone(2)).first == "tell deviceHeld(phone-2)")
    }

    @Test("bridges, and this bridge itself, are no devices that keys are for")
    func bridges() throws {
        var talk = try conversation()
        var other = try talk.phone(1)
        other.platform = "bridge"
        #expect(talk.announced(other) == ["acknowledge 1"])
        #expect(talk.announced(try talk.phone(200, id: "bridge-1")) == ["acknowledge 2"])
        #expect(talk.announced(try talk.phone(200, id: "other")) == ["acknowledge 3"])
        #expect(talk.ring.book.devices.isEmpty)
    }

    @Test("a device whose public key keeps nothing secret is told and forgotten")
    func weakKey() throws {
        var talk = try conversation()
        let device = DeviceBook.Device(id: DeviceID("x"), publicKey: [UInt8](repeating: 0, count: 32))
        #expect(talk.announced(device) == ["tell deviceUnusable(x)", "acknowledge 1"])
        let short = DeviceBook.Device(id: DeviceID("x"), publicKey: [1, 2, 3])
        #expect(talk.announced(short) == ["tell deviceUnusable(x)", "acknowledge 2"])
    }

    @Test("a relay that announces devices without end fills nothing")
    func manyDevices() throws {
        var talk = try conversation()
        for number in 0..<70 {
            _ = talk.announced(try talk.phone(UInt8(number % 100 + 1), id: "d\(number)"))
            _ = talk.kept()
        }
        #expect(talk.ring.book.devices.count == 64)
        #expect(talk.announced(try talk.phone(99, id: "more")) == ["tell tooManyDevices", "acknowledge 71"])
    }

    @Test("who is pinned, and that the time of pairing is over, outlives the process")
    func restart() throws {
        var talk = try conversation(minutesAfterPairing: 600)
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        _ = talk.announced(try talk.phone(2))
        var next = try talk.restarted()
        #expect(next.ring.book.devices[DeviceID("phone-1")]?.standing == .pinned)
        #expect(next.ring.book.devices[DeviceID("phone-2")]?.standing == .held)
        #expect(next.ring.deviceID == DeviceID("bridge-1"))
        #expect(next.announced(try next.phone(3)).first == "tell deviceHeld(phone-3)")
    }

    // MARK: Registration

    @Test("the bridge makes itself known after each connect")
    func registration() throws {
        var talk = try RingConversation()
        #expect(talk.linkUp() == ["register"])
        #expect(talk.registered() == ["save"])
        _ = talk.kept()
        #expect(talk.linkDown() == [])
        #expect(talk.linkUp() == ["register"])
        // The same name again changes nothing.
        #expect(talk.registered() == [])
        #expect(talk.ring.publicKey == Hexadecimal.text(try talk.publicKey))
    }

    @Test("a registration that fails is tried again, ever more slowly, and as late as the relay says")
    func registrationFails() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        #expect(talk.registrationFailed(.later(nil)) == [])
        #expect(talk.ring.nextWake == talk.now + .seconds(1))
        #expect(talk.pass(.seconds(1)) == ["register"])
        #expect(talk.registrationFailed(.later(.seconds(30))) == [])
        #expect(talk.ring.nextWake == talk.now + .seconds(30))
        #expect(talk.pass(.seconds(30)) == ["register"])
        #expect(talk.registrationFailed(.later(nil)) == [])
        #expect(talk.ring.nextWake == talk.now + .seconds(4))
        // Without the link, no retry is due.
        #expect(talk.linkDown() == [])
        #expect(talk.ring.nextWake == nil)
        #expect(talk.pass(.seconds(60)) == [])
    }

    @Test("a registration that is refused is told, and tried again with the next link")
    func registrationRefused() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        #expect(talk.registrationFailed(.refused) == ["tell registrationRefused"])
        #expect(talk.ring.nextWake == nil)
        _ = talk.linkDown()
        #expect(talk.linkUp() == ["register"])
    }

    @Test("a relay that knew another key of ours is told of: what was granted to that one has to come again")
    func registeredAnew() throws {
        var talk = try RingConversation()
        _ = talk.linkUp()
        #expect(talk.registered(keyChanged: true) == ["tell registeredAnew", "save"])
    }

    // MARK: Grants

    @Test("a new device gets every chat's key, two calls at a time, the oldest chat first")
    func everyChat() throws {
        var talk = try conversation()
        for number in 1...4 {
            _ = try talk.granted("ses_\(number)", UInt8(number))
            _ = talk.kept()
        }
        // The ring pins the device at its announcement, and grants it keys after the save.
        let orders = talk.announced(try talk.phone(20))
        #expect(
            orders == [
                "tell devicePinned(phone-20)", "save", "grant 1 ses_1 to phone-20", "grant 2 ses_2 to phone-20",
            ])
        _ = talk.kept()
        #expect(talk.answered(2, .delivered(GrantReceipt())).contains("grant 3 ses_3 to phone-20"))
        #expect(talk.answered(1, .delivered(GrantReceipt())).contains("grant 4 ses_4 to phone-20"))
        #expect(talk.answered(3, .delivered(GrantReceipt())) == [])
        #expect(talk.answered(4, .delivered(GrantReceipt())) == [])
        // One save stores all four receipts.
        #expect(talk.pass(.seconds(5)) == ["save"])
        _ = talk.kept()
        #expect(talk.grants.count == 4)
        // A restart repeats none of the grants.
        var next = try talk.restarted()
        #expect(next.linkUp() == ["register"])
    }

    @Test("a grant of unknown outcome is made again after a while; one that is refused waits for the next link")
    func grantFails() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        #expect(talk.announced(try talk.phone(1)).last == "grant 1 ses_1 to phone-1")
        _ = talk.kept()
        #expect(talk.answered(1, .later(nil)) == [])
        #expect(talk.ring.nextWake == talk.now + .seconds(1))
        #expect(talk.pass(.seconds(1)) == ["grant 2 ses_1 to phone-1"])
        #expect(talk.answered(2, .refused) == ["tell grantRefused(ses_1, phone-1)"])
        #expect(talk.pass(.seconds(3_600)) == [])
        _ = talk.linkDown()
        #expect(talk.linkUp() == ["register", "grant 3 ses_1 to phone-1"])
        #expect(talk.answered(3, .delivered(GrantReceipt())) == [])
        // A second answer to the same grant changes nothing.
        #expect(talk.answered(3, .delivered(GrantReceipt())) == [])
    }

    @Test("a device that is revoked while it is granted a key counts as without it")
    func revokedMeanwhile() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        _ = talk.announced(try talk.phone(1))
        _ = talk.kept()
        _ = talk.revoked("phone-1")
        _ = talk.kept()
        _ = talk.answered(1, .delivered(GrantReceipt()))
        _ = talk.pass(.seconds(5))
        _ = talk.kept()
        #expect(talk.saved?.devices?.chats["ses_1"]?.granted == [])
        #expect(talk.allow("phone-1").last == "grant 2 ses_1 to phone-1")
    }

    @Test("nothing is granted while the link is down")
    func linkDown() throws {
        var talk = try conversation()
        _ = try talk.granted("ses_1", 9)
        _ = talk.kept()
        _ = talk.linkDown()
        #expect(talk.announced(try talk.phone(1)) == ["tell devicePinned(phone-1)", "save"])
        #expect(talk.kept() == ["acknowledge 2"])
        #expect(talk.linkUp() == ["register", "grant 1 ses_1 to phone-1"])
    }
}
