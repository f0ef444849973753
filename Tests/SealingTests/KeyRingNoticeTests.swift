import Crypto
import Sealing
import Testing
import Vocabulary

@Suite("The ring of keys: what the phone is told")
struct KeyRingNoticeTests {
    /// A registered ring with the first phone pinned, long after the pairing.
    private func conversation() throws -> RingConversation {
        var talk = try RingConversation(minutesAfterPairing: 600)
        _ = talk.linkUp()
        _ = talk.registered()
        _ = talk.allKept()
        _ = talk.announced(try talk.phone(1))
        _ = talk.allKept()
        return talk
    }

    @Test("each held device is told once, also over a restart, and again under another key")
    func told() throws {
        var talk = try conversation()
        _ = talk.announced(try talk.phone(2))
        _ = talk.allKept()
        let device = try #require(talk.ring.untoldDevices.first)
        #expect(talk.ring.untoldDevices.map(\.id) == [DeviceID("phone-2")])
        _ = talk.tell { ring, now, _ in ring.told(of: device, at: now) }
        #expect(talk.ring.untoldDevices.isEmpty)
        #expect(talk.pass(.seconds(5)) == ["save"])
        #expect(try talk.restarted().ring.untoldDevices.isEmpty)
        _ = talk.allKept()
        _ = talk.announced(try talk.phone(3, id: "phone-2"))
        #expect(talk.ring.untoldDevices.map(\.id) == [DeviceID("phone-2")])
    }

    @Test("notices of a device go to chats whose key was wrapped here, then to the oldest of the others")
    func chatsForNotices() throws {
        var talk = try conversation()
        #expect(talk.ring.chatsForNotices == [])
        for (number, name) in ["ses_1", "ses_2"].enumerated() {
            _ = try talk.granted(name, UInt8(9 + number))
            _ = talk.allKept()
        }
        #expect(talk.ring.chatsForNotices == ["ses_1", "ses_2"].map { SessionID($0) })
        _ = talk.makeKey("ses_0")
        _ = talk.allKept()
        #expect(talk.ring.chatsForNotices.count == 2)
        _ = talk.answered(1, .delivered(GrantReceipt()))
        #expect(talk.ring.chatsForNotices == ["ses_0", "ses_1", "ses_2"].map { SessionID($0) })
        // The refused phone gets no further keys, but knows those of the chats that it began: notices still go there.
        _ = talk.refuse("phone-1")
        #expect(talk.ring.chatsForNotices == ["ses_1", "ses_2"].map { SessionID($0) })
    }

    @Test("a changed key is told in chats that have kept theirs since, the oldest first, with or without a device")
    func chatsForChanges() throws {
        var talk = try conversation()
        for number in 1...4 {
            _ = try talk.granted("ses_\(number)", UInt8(8 + number))
            _ = talk.allKept()
        }
        _ = talk.revoked("phone-1")
        _ = talk.allKept()
        // A chat that the relay invented with a key that only it may know.
        _ = try talk.granted("ses_0", 30)
        _ = talk.allKept()
        _ = try talk.granted("ses_2", 31)
        _ = talk.allKept()
        var change = try #require(talk.ring.untoldChanges.first)
        #expect(change.session == SessionID("ses_2"))
        #expect(change.others == ["ses_1", "ses_3", "ses_4"].map { SessionID($0) })
        #expect(talk.ring.chatsForNotices == ["ses_1", "ses_3", "ses_4", "ses_0"].map { SessionID($0) })
        for (number, name) in ["ses_1", "ses_3", "ses_4"].enumerated() {
            _ = try talk.granted(name, UInt8(32 + number))
            _ = talk.allKept()
        }
        change = try #require(talk.ring.untoldChanges.first)
        #expect(change.others == [] && talk.ring.figures.unheardChanges == 4)
        // The bridge tells the change in the chat itself, which is not enough.
        _ = talk.tell { ring, now, _ in ring.saidItself(change, at: now) }
        _ = talk.pass(.seconds(10))
        _ = talk.allKept()
        talk = try talk.restarted()
        #expect(talk.ring.untoldChanges.count == 4)
        #expect(talk.ring.untoldChanges.filter(\.isSaidItself).map(\.session) == [change.session])
        // The person revoked the phone, and confirms it by this refusal.
        #expect(talk.refuse("phone-1").first == "tell deviceRefused(phone-1)")
        #expect(talk.ring.figures.unheardChanges == 0)
    }
}
