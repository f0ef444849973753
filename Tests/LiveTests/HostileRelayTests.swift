import BridgeCore
import BridgeService
import RelayRules
import Sealing
import Testing
import Vocabulary
import Worlds

/// A relay that works against the person, and devices that it announces.
@Suite("Sealed chats: a relay that lies")
struct HostileRelayTests {
    // MARK: The relay lies

    @Test("an envelope that was there before is refused: a message of the user's again, and the bridge's own words")
    func replayed() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 5, atLeast: .seconds(5))
        let chat = try #require(world.chats[0])
        let ours = try #require(world.relay.sessions.first?.messages.last { $0.role == .agent }?.sealedText)
        world.relaySends(try #require(phone.made.first), as: "again", after: .zero)
        world.relaySends(ours, as: "mirrored", after: .seconds(1))
        world.run(seconds: 30, atLeast: .seconds(12))
        #expect(world.gateway.begun["Hello?"] == 1 && world.gateway.begun["Hello there."] == nil)
        let read = world.reads(phone, chat: chat)
        #expect(read.count == 3 && read.dropFirst().allSatisfy { $0?.contains("cannot read it") == true }, "\(read)")
    }

    @Test("a message of the user's that an earlier process took is refused when it comes again, for 30 days")
    func replayedLater() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 5, atLeast: .seconds(5))
        world.restarts(down: .seconds(1))
        world.relaySends(try #require(phone.made.first), as: "again", after: .seconds(4))
        world.run(seconds: 40, atLeast: .seconds(20))
        #expect(world.gateway.begun["Hello?"] == 1)
        let read = world.reads(phone, chat: try #require(world.chats[0]))
        #expect(read.count == 2 && read.last??.contains("cannot read it") == true, "\(read)")
        #expect(world.openTurns == 0)
    }

    @Test(
        "an envelope that was altered, cut, emptied or made for another chat is answered by a sentence, and no agent hears it",
        arguments: ["altered", "cut", "emptied", "swapped", "no base64"])
    func broken(how: String) throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writesSealed("And then?", chat: 1, after: .seconds(2))
        world.run(seconds: 8, atLeast: .seconds(8))
        let (first, second) = (try #require(world.chats[0]), try #require(world.chats[1]))
        let good = phone.seal("Disk?", in: first)
        let envelope =
            switch how {
            case "altered": String(good.dropLast(8)) + "AAAAAAA="
            case "cut": String(good.prefix(40))
            case "emptied": "AA=="
            case "swapped": phone.seal("Disk?", in: second)
            default: "§" + good
            }
        world.relaySends(envelope, as: how, after: .zero)
        world.run(seconds: 40, atLeast: .seconds(20))
        #expect(world.gateway.begun["Disk?"] == nil)
        #expect(world.openTurns == 0)
        let last = world.reads(phone, chat: first).last
        #expect(last??.isEmpty == false && last != "I look.\n\nIt is full.", "\(String(describing: last))")
    }

    @Test("another key for a chat that has one is refused, and the chat goes on under its own")
    func anotherKey() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 4, atLeast: .seconds(4))
        let chat = try #require(world.chats[0])
        let theirs = try #require(SecretKey([UInt8](repeating: 9, count: 32)))
        world.relayGrants(theirs, session: chat, after: .zero)
        world.writesSealed("And then?", after: .seconds(2))
        world.run()
        #expect(world.reads(phone, chat: chat) == ["Hello there.", "Hello there."])
        #expect(world.events.contains { if case .keys(_, .keyRefused) = $0 { true } else { false } })
        #expect(world.relay.pendingUpdates().isEmpty)
    }

    @Test("a grant for another device changes nothing")
    func anotherDevice() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("One")
        let other = world.addsPhone("Two")
        world.start()
        world.run(seconds: 2, atLeast: .seconds(2))
        let session = world.relay.userStartsSession(at: world.moment)
        phone.makeKey(of: session)
        let box = try #require(phone.box(session, for: other.publicKey))
        world.relay.userGrants(session: session, [(other.id, box)], by: phone.id, at: world.moment)
        world.run(seconds: 6, atLeast: .seconds(6))
        #expect(SealedWorld.stored(world).keys.keys.isEmpty)
        #expect(world.relay.pendingUpdates().isEmpty)
    }

    // MARK: Devices

    @Test(
        "a device that is announced late gets no key, the phone is told once in its chat, and allowed it gets them all")
    func heldDevice() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        let late = world.addsPhone("Late", after: .seconds(700))
        world.run(seconds: 760, atLeast: .seconds(740))
        let chat = try #require(world.chats[0])
        #expect(world.relay.wrappedKeys(of: late.id).isEmpty)
        #expect(world.ask { $0.sealing?.devicesHeld } == 1)
        let told = world.reads(phone, chat: chat).compactMap { $0 }.filter { $0.contains("devices allow 2") }
        #expect(told.count == 1)
        #expect(SealedWorld.inTheOpen(world) == [])
        // A restart does not repeat it.
        world.restarts(down: .seconds(1))
        world.run(seconds: 800, atLeast: .seconds(790))
        #expect(world.reads(phone, chat: chat).count == 2)
        let device = DeviceBook.Device(
            id: DeviceID(late.id), publicKey: try #require(Hexadecimal.bytes(late.publicKey)))
        world.sides[0].ask { connection in
            connection.carryOut(DeviceOrders.Order(.allow, device, of: connection.name)) { action, isKept in
                #expect(action == .done && isKept)
            }
        }
        world.run(seconds: 830, atLeast: .seconds(820))
        late.takeKeys(from: world.relay)
        #expect(world.reads(late, chat: chat).first == "Hello there.")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    @Test("a notice whose answer was lost is said again in the same bytes")
    func noticeRepeated() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.time.after(.seconds(699)) {
            world.relay.plan(Fault(.replyLost, method: "sendMessage", count: 1))
        }
        _ = world.addsPhone("Late", after: .seconds(700))
        world.run(seconds: 800, atLeast: .seconds(790))
        let chat = try #require(world.chats[0])
        let told = world.reads(phone, chat: chat).compactMap { $0 }.filter { $0.contains("devices allow 2") }
        #expect(told.count == 1)
        #expect(world.relay.tally.faults > 0, "the answer was lost")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    @Test("a chat whose device was revoked goes on under the key that the phone made then")
    func revoked() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        let lost = world.addsPhone("Lost")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.revokes(lost, after: .seconds(4))
        world.run(seconds: 6, atLeast: .seconds(6))
        let chat = try #require(world.chats[0])
        phone.makeKey(of: chat)
        phone.grantToBridge(chat, through: &world.relay, at: world.moment)
        world.writesSealed("And then?", after: .seconds(2))
        world.run()
        let read = world.reads(phone, chat: chat).compactMap { $0 }
        #expect(read.filter { $0 == "Hello there." }.count == 2)
        #expect(
            read.contains { $0.hasPrefix("This chat has a new key") && $0.contains("that device 2 was revoked") },
            "\(read)")
        let last = try #require(world.relay.sessions.first?.messages.last { $0.role == .agent }?.sealedText)
        #expect(lost.read(last, in: chat) == nil)
    }

    @Test("a key that comes after a revocation is told in chats with older keys, and is in the status until one has it")
    func toldInOthers() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        let lost = world.addsPhone("Lost")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writesSealed("Hello?", chat: 1, after: .seconds(2))
        world.run(seconds: 5, atLeast: .seconds(5))
        let (chat, other) = (try #require(world.chats[0]), try #require(world.chats[1]))
        let theirs = try #require(SecretKey([UInt8](repeating: 9, count: 32)))
        world.revokes(lost, after: .zero)
        // A chat of the relay's own, which is the newest and has no older key.
        world.relayGrants(theirs, session: world.relay.userStartsSession(at: world.moment), after: .seconds(1))
        world.relay.plan(Fault(.status(500, retryAfterMilliseconds: nil), method: "sendMessage", count: 2))
        world.relayGrants(theirs, session: chat, after: .seconds(2))
        world.run(seconds: 20, atLeast: .seconds(20))
        #expect(world.ask { $0.sealing?.keysChanged } == 1)
        world.run(seconds: 200, atLeast: .seconds(190))
        let told = world.reads(phone, chat: other).compactMap { $0 }.filter {
            $0.hasPrefix("Another chat has a new key, since the relay says that device 2 was revoked")
        }
        #expect(told.count == 1)
        #expect(world.ask { $0.sealing?.keysChanged } == 0)
        #expect(world.relay.sessions.map { $0.messages.filter { $0.role == .agent }.count } == [2, 2, 0])
    }

    @Test("where no chat has an older key the status says so until the person has: in the chat itself it is said once")
    func toldInStatus() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 5, atLeast: .seconds(5))
        let chat = try #require(world.chats[0])
        world.revokes(phone, after: .zero)
        world.relayGrants(
            try #require(SecretKey([UInt8](repeating: 9, count: 32))), session: chat, after: .seconds(2))
        world.run(seconds: 200, atLeast: .seconds(190))
        world.restarts(down: .seconds(1))
        world.run(seconds: 400, atLeast: .seconds(390))
        #expect(world.ask { $0.sealing?.keysChanged } == 1)
        #expect(world.relay.sessions.map { $0.messages.filter { $0.role == .agent }.count } == [2])
        let device = DeviceBook.Device(
            id: DeviceID(phone.id), publicKey: try #require(Hexadecimal.bytes(phone.publicKey)))
        world.sides[0].ask { connection in
            connection.carryOut(DeviceOrders.Order(.revoke, device, of: connection.name)) { action, isKept in
                #expect(action == .done && isKept)
            }
        }
        world.run(seconds: 410, atLeast: .seconds(405))
        #expect(world.ask { $0.sealing?.keysChanged } == 0)
    }

    @Test(
        "the notice of a changed key is said again until a chat has taken it, by the next process too",
        arguments: [false, true])
    func revokedUnheard(isRestarted: Bool) throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone("Mine")
        let lost = world.addsPhone("Lost")
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.revokes(lost, after: .seconds(4))
        world.run(seconds: 6, atLeast: .seconds(6))
        let chat = try #require(world.chats[0])
        func told() -> Int {
            world.reads(phone, chat: chat).compactMap { $0 }.filter { $0.hasPrefix("This chat has a new key") }.count
        }
        world.relay.plan(Fault(.status(500, retryAfterMilliseconds: nil), method: "sendMessage", count: 1))
        phone.makeKey(of: chat)
        phone.grantToBridge(chat, through: &world.relay, at: world.moment)
        world.run(seconds: 20, atLeast: .seconds(20))
        #expect(told() == 0 && world.relay.tally.faults == 1)
        if isRestarted { world.restarts(down: .seconds(1)) }
        world.run(seconds: 200, atLeast: .seconds(190))
        #expect(told() == 1)
        world.restarts(down: .seconds(1))
        world.run(seconds: 300, atLeast: .seconds(290))
        #expect(told() == 1)
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }
}
