import RelayProtocol
import Testing
import Vocabulary

@Suite("Updates of the relay and their acknowledgement")
struct RelayUpdateTests {
    // MARK: Acknowledgement

    @Test("an acknowledgement goes only as far as all before it is durable, once an event")
    func cumulative() {
        let talk = LinkConversation.live()
        for id in 1...4 { talk.receive(id) }
        #expect(talk.updates.map(\.id.text) == ["1", "2", "3", "4"])
        talk.acknowledge(3, 2)
        #expect(talk.sent.isEmpty)
        talk.acknowledge(1)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"3"}"#])
        talk.acknowledge(4, 4, 9)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"4"}"#])
    }

    @Test("an update that comes again is told once; when it was acknowledged, it is so again")
    func repeats() {
        let talk = LinkConversation.live()
        talk.receive(1)
        talk.receive(1)
        talk.receive(2)
        #expect(talk.updates.map(\.id.text) == ["1", "2"])
        talk.acknowledge(1, 2)
        _ = talk.orders
        talk.receive(1)
        #expect(talk.orders == [.send(Array(#"{"type":"ack","up_to_update_id":"2"}"#.utf8))])
    }

    @Test("a new socket begins anew: what waited comes again and is told again")
    func newSocket() {
        let talk = LinkConversation.live()
        talk.receive(1)
        talk.receive(2)
        talk.close(1006)
        talk.pass(1)
        talk.acknowledge(1, 2)
        talk.open()
        talk.receive(#"{"type":"ready"}"#)
        _ = talk.orders
        talk.receive(2)
        talk.acknowledge(1)
        #expect(talk.updates.map(\.id.text) == ["2"])
        talk.acknowledge(2)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"2"}"#])
    }

    @Test("over the limit nothing is taken, and after it nothing that a later acknowledgement would swallow")
    func limit() {
        let talk = LinkConversation.live(updateLimit: 2)
        for id in 1...4 { talk.receive(id) }
        #expect(talk.orders.filter { $0 == .note(.full(waiting: 2)) }.count == 1)
        talk.acknowledge(1, 2)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"2"}"#])
        // An acknowledgement of 5, if it were accepted now, would cover 3 and 4, which the link left out.
        talk.receive(5)
        #expect(talk.updates.isEmpty)
        for id in 3...5 { talk.receive(id) }
        #expect(talk.updates.map(\.id.text) == ["3", "4"])
    }

    @Test("updates are bounded in bytes too, but one alone is always taken")
    func bytes() {
        let talk = LinkConversation.live()
        let large = #"{"session":{"id":"ses_1"},"x":"\#(String(repeating: "x", count: 3 << 20))"}"#
        talk.receive(1, payload: large)
        talk.receive(2, payload: large)
        talk.receive(3)
        #expect(talk.updates.map(\.id.text) == ["1"])
        #expect(talk.link.heldBytes > 3 << 20)
        talk.acknowledge(1)
        #expect(talk.link.heldBytes == 0)
        talk.receive(2, payload: large)
        talk.receive(3)
        #expect(talk.updates.map(\.id.text) == ["2", "3"])
        talk.acknowledge(2, 3)
        talk.receive(4, payload: #"{"session":{"id":"s"},"x":"\#(String(repeating: "x", count: 6 << 20))"}"#)
        #expect(talk.updates.map(\.id.text) == ["4"])
    }

    @Test("what was left out and does not come again is asked for on a new socket")
    func gap() {
        let talk = LinkConversation.live(updateLimit: 1)
        talk.receive(1)
        talk.receive(2)
        talk.pass(20)
        talk.receive(#"{"type":"ping"}"#)
        talk.acknowledge(1)
        _ = talk.orders
        talk.pass(30)
        #expect(
            talk.orders == [
                .close(code: 1000, reason: "asking for what was left out"),
                .lost(reason: "the relay did not send again what was not taken", retryAt: talk.now),
                LinkConversation.dial,
            ])
    }

    private static func message(_ id: String) -> String {
        #"{"session_id":"ses_1","message_id":"\#(id)","text":"x","session":{"id":"ses_1"},"message":{"id":"\#(id)","text":"x"}}"#
    }

    @Test("the same id with another message is another update")
    func sameID() {
        let talk = LinkConversation.live()
        talk.receive(77, type: "session.message", payload: Self.message("msg_1"))
        talk.receive(77, type: "session.message", payload: Self.message("msg_2"))
        talk.receive(77, type: "session.message", payload: Self.message("msg_2"))
        let updates = talk.updates
        #expect(updates.count == 2)
        #expect(Set(updates.map(\.payload)).count == 2)
    }

    @Test("what could not be recorded is taken again, and nothing after it is acknowledged before")
    func letGo() throws {
        let talk = LinkConversation.live()
        talk.receive(1)
        talk.receive(2, payload: #"{"session":{"id":"ses_2"}}"#)
        let first = try #require(talk.updates.first)
        talk.link.letGo(first, at: talk.now)
        talk.acknowledge(2)
        #expect(talk.sent == [])
        talk.receive(1)
        #expect(talk.updates == [first])
        talk.acknowledge(1)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"2"}"#])
    }

    @Test("what could not be recorded and does not come again is asked for on a new socket, which holds nothing back")
    func letGoForGood() throws {
        let talk = LinkConversation.live()
        talk.receive(1)
        talk.receive(2, payload: #"{"session":{"id":"ses_2"}}"#)
        let first = try #require(talk.updates.first)
        talk.link.letGo(first, at: talk.now)
        talk.acknowledge(2)
        #expect(talk.sent == [])
        talk.pass(29)
        #expect(talk.orders == [])
        talk.pass(1)
        #expect(
            talk.orders == [
                .close(code: 1000, reason: "asking for what was left out"),
                .lost(reason: "the relay did not send again what was not taken", retryAt: talk.now),
                LinkConversation.dial,
            ])
        talk.open()
        talk.receive(#"{"type":"ready"}"#)
        talk.receive(3)
        _ = talk.orders
        talk.acknowledge(3)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"3"}"#])
    }

    @Test("what could not be recorded and comes again is waited for no longer, and anew when it fails again")
    func letGoAgain() throws {
        let talk = LinkConversation.live()
        talk.receive(1)
        let first = try #require(talk.updates.first)
        talk.link.letGo(first, at: talk.now)
        talk.pass(20)
        talk.receive(1)
        #expect(talk.updates.map(\.id) == [first.id])
        talk.pass(20)
        #expect(talk.orders == [])
        talk.link.letGo(first, at: talk.now)
        talk.pass(20)
        #expect(talk.orders == [])
        talk.receive(1)
        talk.acknowledge(1)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"1"}"#])
        talk.pass(20)
        #expect(talk.orders == [])
    }

    @Test("a number is acknowledged as a number, however large")
    func numbers() {
        let talk = LinkConversation.live()
        talk.receive(
            #"{"type":"session.ended","update_id":18446744073709551615,"payload":{"session":{"id":"ses_1"}},"ts":1}"#)
        #expect(talk.updates.map(\.id.text) == ["18446744073709551615"])
        talk.acknowledge(["18446744073709551615"])
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":18446744073709551615}"#])
    }

    @Test(
        "a malformed update is counted and acknowledged, and nobody is told",
        arguments: [
            #"{"update_id":"1","type":"session.message","payload":{"session":{"id":"ses_1"}}}"#,
            #"{"update_id":"1","type":"session.message","payload":{"message":{"id":"m","text":"hi"}}}"#,
            #"{"update_id":"1","type":"session.message"}"#, #"{"update_id":"1"}"#, #"{"update_id":"1","type":7}"#,
            #"{"update_id":"1","type":"approval.resolved","payload":{"approval_id":"a","decision":"yes"}}"#,
            #"{"update_id":"1","type":"device_added","payload":{"device_id":"d","pubkey":"short"}}"#,
        ])
    func malformed(update: String) {
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"update","update":\#(update)}"#)
        #expect(talk.link.unknown.malformed == 1)
        #expect(talk.sent == [#"{"type":"ack","up_to_update_id":"1"}"#])
    }

    @Test("an update without an id cannot be acknowledged: it is counted")
    func withoutID() {
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"update","update":{"type":"session.ended","payload":{"session":{"id":"s"}}}}"#)
        talk.receive(#"{"type":"update","update":{"update_id":"","type":"session.ended"}}"#)
        #expect(talk.link.unknown.malformed == 2)
        #expect(talk.sent.isEmpty)
    }

    @Test("what a bridge does not act on is told, counted and acknowledged by the link")
    func other() {
        let talk = LinkConversation.live()
        talk.receive(1, type: "memory.updated", payload: #"{"user_id":"usr_1"}"#)
        #expect(talk.link.unknown.counts == ["update memory.updated": 1])
        let orders = talk.orders
        #expect(orders.contains(.send(Array(#"{"type":"ack","up_to_update_id":"1"}"#.utf8))))
        #expect(
            orders.contains { if case .update(let update) = $0 { update.payload == .other } else { false } })
    }

    // MARK: What they say

    private func read(_ type: String, _ payload: String, wrapper: String = "") -> RelayUpdate? {
        let talk = LinkConversation.live()
        talk.receive(
            #"{"type":"update","update":{"update_id":"1","type":"\#(type)"\#(wrapper),"payload":\#(payload)}}"#)
        return talk.updates.first
    }

    @Test("a message is read whole")
    func message() {
        let update = read(
            "session.message",
            """
            {"session":{"id":"ses_1","model":"sonnet"},"message":{"id":"msg_1","text":"hi","thought_level":"max",
            "attachments":[{"key":"u/1","url":"https://a/b","mime":"image/png","name":null}]}}
            """,
            wrapper: #","session_id":"ses_0","interaction_id":"int_1","created_at":"2026-02-02T02:40:00.250Z""#)
        #expect(
            update
                == RelayUpdate(
                    id: UpdateID("1"), type: "session.message", receivedAt: .zero,
                    createdAtWallMilliseconds: 1_770_000_000_250, session: SessionID("ses_1"),
                    interaction: InteractionID("int_1"),
                    payload: .message(
                        UserMessage(
                            id: MessageID("msg_1"), session: SessionID("ses_1"), interaction: InteractionID("int_1"),
                            text: "hi",
                            attachments: [Attachment(url: "https://a/b", key: "u/1", mimeType: "image/png")],
                            model: "sonnet", thoughtLevel: "max"), sealedText: nil)))
    }

    @Test("of more files than a message may have, those beyond are one", arguments: [16, 17, 130])
    func attachments(count: Int) {
        let all = Array(repeating: #"{"key":"u/1","url":"https://a/b","name":"a.png"}"#, count: count)
        let update = read(
            "session.message",
            #"{"session":{"id":"ses_1"},"message":{"id":"msg_1","text":"hi","attachments":[\#(all.joined(separator: ","))]}}"#
        )
        guard case .message(let message, _) = update?.payload else {
            Issue.record("no message")
            return
        }
        let more = count - 16
        let names = message.attachments.dropFirst(16).map(\.plainName)
        #expect(message.attachments.prefix(16).allSatisfy { $0.url != nil })
        #expect(names == (more == 0 ? [] : ["\(more) more \(more == 1 ? "file" : "files")"]))
        #expect(message.attachments.dropFirst(16).allSatisfy { $0.url == nil })
    }

    @Test("a sealed text wins over an open one and is left closed")
    func sealedMessage() {
        let update = read(
            "session.message", #"{"session":{"id":"ses_1"},"message":{"id":"msg_1","text":"hi","text_ct":"AAEC"}}"#)
        guard case .message(let message, let sealedText) = update?.payload else {
            Issue.record("no message")
            return
        }
        #expect(message.text.isEmpty)
        #expect(sealedText == "AAEC")
    }

    @Test("a message without an id is called the same each time, whatever the update's id")
    func unnamedMessage() {
        let talk = LinkConversation.live()
        for id in 1...2 {
            talk.receive(
                id, type: "session.message", payload: #"{"session":{"id":"ses_1"},"message":{"text":"hi"}}"#)
        }
        let updates = talk.updates
        let names = updates.compactMap { update -> MessageID? in
            guard case .message(let message, _) = update.payload else { return nil }
            return message.id
        }
        #expect(names.count == 2)
        #expect(Set(names).count == 1)
        #expect(updates.first?.fingerprint != nil)
        #expect(updates.first?.fingerprint == updates.last?.fingerprint)
    }

    @Test("the same words without an id, under another interaction or at another time, are another message")
    func unnamedAgain() {
        let talk = LinkConversation.live()
        let wrappers = [
            #""interaction_id":"int_1""#, #""interaction_id":"int_2""#, #""created_at":"2026-11-22T10:00:00Z""#,
            #""created_at":"2026-11-22T10:20:00Z""#, #""interaction_id":"int_2","created_at":"2026-11-22T10:20:05Z""#,
        ]
        for (id, wrapper) in wrappers.enumerated() {
            talk.receive(
                #"{"type":"update","update":{"update_id":"\#(id)","type":"session.message",\#(wrapper),"#
                    + #""payload":{"session":{"id":"ses_1"},"message":{"text":"continue"}}}}"#)
        }
        let names = talk.updates.compactMap { update -> MessageID? in
            guard case .message(let message, _) = update.payload else { return nil }
            return message.id
        }
        #expect(names.count == 5 && Set(names.prefix(4)).count == 4)
        #expect(names.last == names[1], "another node of the relay may stamp it otherwise")
    }

    @Test(
        "the other updates of section 4 that carry something",
        arguments: [
            (
                "session.cancelled", #"{"session":{"id":"ses_1"},"reason":"navigation_away"}"#,
                RelayUpdate.Payload.stop(.navigationAway)
            ),
            ("session.cancelled", #"{"interaction_id":"int_1"}"#, .stop(.userAborted)),
            ("session.started", #"{"session":{"id":"ses_1"}}"#, .sessionStarted),
            ("session.ended", #"{"session":{"id":"ses_1"}}"#, .sessionEnded),
            ("session.model.changed", #"{"session":{"id":"ses_1"},"model":"opus"}"#, .model("opus")),
            ("session.model.changed", #"{"session":{"id":"ses_1"},"model":null}"#, .model(nil)),
            (
                "approval.resolved",
                #"{"approval_id":"a1","decision":"approve_always","scope":"domain","scope_value":"x","reason":"r"}"#,
                .approval(
                    ApprovalID("a1"), .approveAlways,
                    .init(reason: "r", scope: DecisionScope(name: "domain", value: "x")))
            ),
            (
                "approval.resolved", #"{"approval_id":"a1","decision":"approve_always","reason":" ","scope":null}"#,
                .approval(ApprovalID("a1"), .approveAlways, .init(scope: .unscoped))
            ),
            (
                "approval.resolved", #"{"approval_id":"a1","decision":"approve_always","scope":["all"]}"#,
                .approval(ApprovalID("a1"), .approveAlways, .init(scope: DecisionScope(name: "")))
            ),
            (
                "approval.resolved", #"{"approval_id":"a1","decision":"approve_always","scope":1}"#,
                .approval(ApprovalID("a1"), .approveAlways, .init(scope: DecisionScope(name: "")))
            ),
            (
                "task.timeout", #"{"task_id":"t1","reason":"user_cancelled"}"#,
                .taskStopped(TaskID("t1"), reason: "user_cancelled")
            ),
            ("task.cancelled", #"{"task_id":"t1"}"#, .taskStopped(TaskID("t1"), reason: nil)),
            (
                "device_added",
                #"{"device_id":"d1","pubkey":"\#(String(repeating: "0a", count: 32))","platform":"ios"}"#,
                .deviceAdded(.init(id: "d1", publicKey: String(repeating: "0a", count: 32), platform: "ios"))
            ),
            ("device_revoked", #"{"device_id":"d1"}"#, .deviceRevoked(device: "d1")),
            (
                "session_key_granted", #"{"session_id":"ses_1","device_id":"d1","wrapped_session_key":"AAEC"}"#,
                .sessionKeyGranted(device: "d1", wrappedKey: "AAEC")
            ),
        ])
    func payloads(type: String, payload: String, expected: RelayUpdate.Payload) {
        #expect(read(type, payload)?.payload == expected)
    }

    @Test("the flat form says the same as the nested one")
    func flat() {
        let talk = LinkConversation.live()
        talk.receive(
            #"{"agent_id":"agt_1","update_id":7,"type":"session.ended","ts":1770000000000,"payload":{"session":{"id":"s"}}}"#
        )
        let update = talk.updates.first
        #expect(update?.id == UpdateID("7"))
        #expect(update?.type == "session.ended")
        #expect(update?.createdAtWallMilliseconds == 1_770_000_000_000)
        #expect(update?.session == SessionID("s"))
    }
}

@Suite("Damaged frames on the link to the relay")
struct DamagedFrameTests {
    private static let frames = [
        #"{"type":"ready","installation_id":"inst_1"}"#, #"{"type":"ping"}"#,
        #"{"type":"file.read.req","req_id":"r1","path":"/a"}"#,
        #"{"type":"update","update":{"update_id":"7","type":"session.message","created_at":"2026-02-02T02:40:00Z","payload":{"session":{"id":"ses_1","model":null},"message":{"id":"msg_1","text":"hi","attachments":[{"url":"u"}]}}}}"#,
        #"{"type":"approval.resolved","update_id":8,"ts":1770000000000,"payload":{"approval_id":"a","decision":"approve"}}"#,
        #"{"type":"update","update":{"update_id":"9","type":"device_added","payload":{"device_id":"d","pubkey":"00"}}}"#,
    ]

    @Test("ten thousand of them crash nothing, and the link lives on")
    func damaged() {
        let talk = LinkConversation.live()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<10_000 {
            guard var bytes = Self.frames.randomElement(using: &random).map({ Array($0.utf8) }) else { return }
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let index = bytes.indices.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.removeLast(bytes.count - index)
                }
            }
            talk.receive(String(decoding: bytes, as: UTF8.self))
            for update in talk.updates { talk.link.acknowledge(update, at: talk.now) }
        }
        talk.receive(#"{"type":"ping"}"#)
        #expect(talk.sent.last == #"{"type":"pong"}"#)
    }

    @Test("words of the relay's are cut by their bytes: one character may have any number of marks")
    func longWords() throws {
        let mark = String(repeating: "\u{301}", count: 100_000)
        let key = String(repeating: "0a", count: 32)
        let frame =
            #"{"update_id":"1","type":"device_added","payload":{"device_id":"d","pubkey":"\#(key)","label":"é\#(mark)","platform":"p\#(mark)"}}"#
        let update = try #require(RelayUpdate.read(Array(frame.utf8), at: .zero))
        guard case .deviceAdded(let device) = update.payload else {
            Issue.record("another update")
            return
        }
        #expect((1...400).contains(try #require(device.label).utf8.count))
        #expect((1...400).contains(try #require(device.platform).utf8.count))
        let other = try #require(
            RelayUpdate.read(Array(#"{"update_id":"1","type":"x\#(mark)","payload":{}}"#.utf8), at: .zero))
        #expect((1...64).contains(other.type.utf8.count))
        let talk = LinkConversation.live()
        talk.receive(#"{"type":"y\#(mark)"}"#, #"{"type":"z\#(mark)","req_id":"r"}"#)
        #expect(talk.link.unknown.counts.keys.allSatisfy { $0.utf8.count < 100 })
        #expect(talk.sent.allSatisfy { $0.utf8.count < 1_000 })
    }
}
