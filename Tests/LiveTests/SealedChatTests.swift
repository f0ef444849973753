import BridgeCore
import BridgeService
import RelayRules
import Sealing
import Testing
import Vocabulary
import Worlds

/// A live connection, its relay and a phone that seals.
@Suite("Sealed chats")
struct SealedChatTests {
    // MARK: A conversation

    @Test("what is written sealed is answered sealed, tool cards too, and the relay reads nothing of it")
    func conversation() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writesSealed("Disk?", after: .seconds(3))
        world.run()
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        let chat = try #require(world.chats[0])
        #expect(world.reads(phone, chat: chat) == ["Hello there.", "I look.\n\nIt is full."])
        #expect(SealedWorld.inTheOpen(world) == [])
        #expect(world.gateway.begun["Hello?"] == 1 && world.gateway.begun["Disk?"] == 1)
        let task = try #require(world.relay.sessions.first?.tasks.first)
        #expect(task.status == "completed")
        #expect(phone.read(try #require(task.sealed["args_ct"]), in: chat, .tasks)?.contains("df") == true)
        #expect(SealedWorld.stored(world).keys.keys[chat] == phone.keys[chat]?.last?.hex)
    }

    @Test("a message that comes before its key waits for it with its bubble open, and is answered when it is there")
    func keyComesLater() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", grantAfter: .seconds(20), after: .seconds(1))
        world.run(seconds: 15)
        #expect(world.ask { $0.sealing?.messagesWaiting } == 1)
        #expect(world.gateway.begun["Hello?"] == nil)
        world.run()
        #expect(world.reads(phone, chat: try #require(world.chats[0])) == ["Hello there."])
        #expect(SealedWorld.inTheOpen(world) == [] && world.gateway.begun["Hello?"] == 1)
    }

    @Test("a key that never comes: one fixed sentence, and the agent does not hear of it")
    func keyNeverComes() throws {
        let world = SealedWorld.make()
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", grantAfter: .seconds(5_000), after: .seconds(1))
        world.run(seconds: 200, atLeast: .seconds(180))
        #expect(world.gateway.begun["Hello?"] == nil)
        let said = SealedWorld.inTheOpen(world)
        #expect(said.count == 1 && said.first?.contains("key") == true, "\(said)")
    }

    @Test("what comes in the open in a chat that has a key is answered sealed, and said to have come unencrypted")
    func openInSealedChat() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writes("And then?", after: .seconds(4))
        world.run()
        let read = world.reads(phone, chat: try #require(world.chats[0])).compactMap { $0 }
        #expect(read.count == 2 && read.first == "Hello there.")
        #expect(
            read.last?.hasPrefix("Hello there.") == true && read.last?.contains("came unencrypted") == true, "\(read)")
        #expect(SealedWorld.inTheOpen(world) == [])
    }

    @Test("a chat in the open stays open beside a sealed one")
    func openChat() {
        let world = SealedWorld.make()
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writes("And then?", chat: 1, after: .seconds(2))
        world.run()
        #expect(SealedWorld.inTheOpen(world).contains("Hello there."))
        #expect(world.gateway.begun["And then?"] == 1)
    }

    @Test("required: what comes in the open is answered by a sentence, and the agent does not get it")
    func required() {
        let world = SealedWorld.make(.require)
        world.addsPhone()
        world.start()
        world.writes("Hello?", after: .seconds(1))
        world.run()
        #expect(world.gateway.begun["Hello?"] == nil)
        #expect(SealedWorld.inTheOpen(world).contains { $0.contains("encrypted messages only") })
    }

    @Test("off: nothing registers, and a sealed message is answered by a sentence")
    func off() {
        let world = SealedWorld.make(.off)
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.writes("And then?", chat: 1, after: .seconds(1))
        world.run()
        #expect(world.callsMade["devices"] == nil && world.relay.bridgeDevice == nil)
        #expect(world.gateway.begun["Hello?"] == nil && world.gateway.begun["And then?"] == 1)
    }

    @Test("the bridge makes itself known after each connect")
    func registersAgain() {
        let world = SealedWorld.make()
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.time.after(.seconds(3)) { world.sides[0].cutRelay() }
        world.writesSealed("And then?", after: .seconds(20))
        world.run()
        #expect((world.callsMade["devices"] ?? 0) >= 2)
        #expect(world.openTurns == 0)
    }

    // MARK: Chats of our own

    @Test("a run that no message began is shown sealed, and its key is with the phone before anything is said")
    func ownChat() throws {
        let world = SealedWorld.make(mirror: .cron)
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.schedulerRuns("Back up.", job: "backup", in: "agent:main:cron:backup", as: "run-1", after: .seconds(4))
        var wasGranted: Bool?
        world.afterStep = { world in
            guard let chat = world.relay.sessions.first(where: { $0.source == "cron" }), !chat.messages.isEmpty,
                wasGranted == nil
            else { return }
            wasGranted = world.relay.wrappedKeys(of: phone.id).contains { $0.session == chat.id }
        }
        world.run(seconds: 60, atLeast: .seconds(20))
        let chat = try #require(world.relay.sessions.first { $0.source == "cron" })
        #expect(wasGranted == true)
        #expect(world.reads(phone, chat: chat.id) == ["The backup is done."])
        #expect(SealedWorld.inTheOpen(world) == [])
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
    }

    @Test(
        "a run waits for a phone that may read it, also over a restart, and is shown when there is one",
        arguments: [false, true])
    func noPhone(restarts: Bool) throws {
        let world = SealedWorld.make(.require, mirror: .cron)
        world.start()
        world.schedulerRuns("Back up.", job: "backup", in: "agent:main:cron:backup", as: "run-1", after: .seconds(1))
        world.run(seconds: 30, atLeast: .seconds(30))
        #expect(world.relay.sessions.isEmpty)
        #expect(world.ask { $0.sealing?.runsWaiting } == 1)
        #expect(world.journal.owes)
        if restarts { world.restarts(down: .seconds(1)) }
        world.run(seconds: 40, atLeast: .seconds(40))
        let phone = world.addsPhone()
        world.run(seconds: 120, atLeast: .seconds(110))
        let chat = try #require(world.relay.sessions.first)
        #expect(world.reads(phone, chat: chat.id) == ["The backup is done."])
        #expect(world.ask { $0.sealing?.runsWaiting } == 0)
        #expect(SealedWorld.inTheOpen(world) == [])
    }

    @Test("a chat that has a key of the relay's when the bridge hears of it is not taken; the next one gets the words")
    func relayKnowsTheChat() throws {
        let world = SealedWorld.make(mirror: .cron)
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        let theirs = try #require(SecretKey([UInt8](repeating: 9, count: 32)))
        world.schedulerRuns("Back up.", job: "backup", in: "agent:main:cron:backup", as: "run-1", after: .seconds(4))
        var isGranted = false
        world.afterStep = { world in
            guard !isGranted, let chat = world.relay.sessions.first(where: { $0.source == "cron" }) else { return }
            isGranted = true
            world.sides[0].relayGrants(theirs, session: chat.id, after: .zero)
        }
        world.schedulerRuns("Back up.", job: "backup", in: "agent:main:cron:backup", as: "run-2", after: .seconds(20))
        world.run(seconds: 60, atLeast: .seconds(40))
        let made = world.relay.sessions.filter { $0.source == "cron" }
        let chat = try #require(made.last)
        #expect(made.count == 2 && made[0].messages.isEmpty)
        #expect(world.reads(phone, chat: chat.id) == ["The backup is done.", "The backup is done."])
        let sealer = SessionSealer(SessionID(chat.id), key: theirs, library: phone.library)
        for message in chat.messages {
            let isRead = message.sealedText.map { (try? sealer.text(of: $0, .messages)) != nil } ?? false
            #expect(!isRead)
        }
    }

    // MARK: Ends

    @Test(
        "with its chat a key goes from the files, and what is said in its name later is not answered in the open",
        arguments: [true, false])
    func ended(archives: Bool) throws {
        let world = SealedWorld.make()
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 5, atLeast: .seconds(5))
        let chat = try #require(world.chats[0])
        if archives { world.archivesChat(0, after: .zero) } else { world.deletesChat(0, after: .zero) }
        world.run(seconds: 8, atLeast: .seconds(8))
        #expect(SealedWorld.stored(world).keys.keys.isEmpty)
        #expect(SealedWorld.stored(world).devices?.ended?.map(\.session) == [chat])
        #expect(world.relay.pendingUpdates().isEmpty)
        guard archives else { return }
        world.writes("And then?", after: .zero)
        world.run(seconds: 300, atLeast: .seconds(200))
        #expect(world.gateway.begun["And then?"] == nil)
        #expect(!SealedWorld.inTheOpen(world).contains { $0.contains("Hello") })
    }

    // MARK: Trouble

    @Test("a full disk: no grant is acknowledged, and nothing is said under its key, until there is room")
    func fullDisk() throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.run(seconds: 2, atLeast: .seconds(2))
        world.disk.isFull = true
        world.time.after(.seconds(30)) { world.disk.isFull = false }
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 20, atLeast: .seconds(20))
        #expect(SealedWorld.stored(world).keys.keys.isEmpty)
        #expect(world.relay.pendingUpdates().contains { $0.type == "session_key_granted" })
        #expect(world.gateway.begun["Hello?"] == nil)
        world.run(seconds: 200)
        let answers = world.reads(phone, chat: try #require(world.chats[0]))
        #expect(answers.last == "Hello there.", "\(answers)")
        #expect(world.relay.pendingUpdates().isEmpty)
    }

    @Test(
        "a process that is killed at any step answers sealed, once, and has every key whose grant it acknowledged",
        arguments: 1...70)
    func killed(step: Int) throws {
        let world = SealedWorld.make()
        let phone = world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .milliseconds(300))
        world.writesSealed("Disk?", after: .milliseconds(600))
        var isForgotten = false
        world.afterStep = { world in
            guard let chat = world.chats[0], let bridge = world.relay.bridgeDevice,
                world.relay.wrappedKeys(of: bridge.id).contains(where: { $0.session == chat }),
                !world.relay.pendingUpdates().contains(where: { $0.type == "session_key_granted" })
            else { return }
            // The bridge acknowledged the end, so the disk must hold it.
            if SealedWorld.stored(world).keys.keys[chat] == nil { isForgotten = true }
        }
        world.run(killAfter: step * 2)
        #expect(!isForgotten, "acknowledged, and not on the disk")
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(SealedWorld.inTheOpen(world) == [])
        let chat = try #require(world.chats[0])
        #expect(world.reads(phone, chat: chat) == ["Hello there.", "I look.\n\nIt is full."])
        #expect(world.gateway.begun["Hello?"] == 1 && world.gateway.begun["Disk?"] == 1)
        #expect(world.openTurns == 0)
    }

    @Test("with another installation's token the former one's devices and keys go, and its chats stay sealed")
    func anotherInstallation() {
        let world = SealedWorld.make()
        world.addsPhone()
        world.start()
        world.writesSealed("Hello?", after: .seconds(1))
        world.run(seconds: 5, atLeast: .seconds(5))
        #expect(!SealedWorld.stored(world).keys.keys.isEmpty)
        let other = Secret("inst_Another000000001:s_test_0123456789abcdefghijklmnopqrstuv")
        world.use(other, after: .zero)
        world.run(seconds: 8, atLeast: .seconds(8))
        #expect(SealedWorld.stored(world).keys.keys.isEmpty && SealedWorld.stored(world).devices?.devices == [])
        #expect(SealedWorld.stored(world).keys.endedMarks?.isEmpty == false)
        #expect(SealedWorld.stored(world).devices?.hasHeldKey == true)
    }
}
