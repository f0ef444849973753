import RelayRules
import Testing

/// Routes of the phone, and what the bridge hears of each call (relay.md#updates-relay-to-bridge, relay.md#rest).
@Suite struct PhoneRoutesTests {
    /// A desk with a session that the phone started, its updates acknowledged.
    private func started(_ body: String = "{}") throws -> (desk: SocketDesk, session: String) {
        var desk = SocketDesk()
        let answer = desk.asUser("POST", "sessions", body)
        let session = try #require(SocketDesk.value(of: "session_id", in: answer.text))
        #expect(desk.relay.pendingUpdates().map(\.type) == ["session.started"])
        desk.relay.acknowledge(upTo: "1")
        return (desk, session)
    }

    private func lastUpdate(_ desk: SocketDesk) -> String {
        desk.relay.pendingUpdates().last.map { String(decoding: $0.frame, as: UTF8.self) } ?? ""
    }

    @Test func aMessageNamesItsModelEachTime() throws {
        var (desk, session) = try started(#"{"model":"sonnet"}"#)
        let sent = desk.asUser(
            "POST", "sessions/\(session)/send", #"{"text":"hi","thought_level":"max","reply_to":null}"#)
        #expect(sent.status == 200)
        #expect(lastUpdate(desk).contains(#""session":{"id":"\#(session)","model":"sonnet"}"#))
        #expect(lastUpdate(desk).contains(#""text":"hi","thought_level":"max"}"#))
        #expect(desk.asUser("PATCH", "sessions/\(session)", #"{"model":null}"#).status == 200)
        #expect(lastUpdate(desk).contains(#""payload":{"session":{"id":"\#(session)"},"model":null}"#))
        _ = desk.asUser("PATCH", "sessions/\(session)", #"{"model":null,"title":"Work"}"#)
        #expect(desk.relay.pendingUpdates().count == 2, "nothing has changed for the bridge")
        _ = desk.asUser("POST", "sessions/\(session)/send", #"{"text":"hi"}"#)
        #expect(lastUpdate(desk).contains(#""model":null}"#))
        #expect(desk.asUser("GET", "sessions").text.contains(#""title":"Work""#))
    }

    @Test func attachmentsComeWithALinkInsteadOfASize() throws {
        var (desk, session) = try started()
        let body =
            #"{"attachments":[{"key":"u/1","mime":"image/png","size":9,"name":null},"#
            + #"{"key":"u/2","mime":"text/plain","size":9,"name":"a.txt","url":"http://here/2"}]}"#
        #expect(desk.asUser("POST", "sessions/\(session)/send", body).status == 200)
        let expected =
            #""text":"","attachments":[{"key":"u/1","url":"http://relay.test/v1/files/u/1","mime":"image/png"},"#
            + #"{"key":"u/2","url":"http://here/2","mime":"text/plain","name":"a.txt"}]"#
        #expect(lastUpdate(desk).contains(expected))
    }

    @Test func sealedTextStaysSealed() throws {
        var (desk, session) = try started()
        #expect(desk.asUser("POST", "sessions/\(session)/send", #"{"text_ct":"AAAA"}"#).status == 200)
        #expect(lastUpdate(desk).contains(#""text_ct":"AAAA""#))
        #expect(!lastUpdate(desk).contains(#""text":"#))
    }

    @Test(arguments: [
        "{}", #"{"text":""}"#, #"{"text":"a","text_ct":"b"}"#, #"{"text":"a","thought_level":"some"}"#,
        #"{"text":"a","attachments":{}}"#, #"{"text":"a","attachments":[{"key":"u/1"}]}"#,
        #"{"attachments":[{"key":"u","mime":"m","size":26214401}]}"#, "[]", "{",
    ])
    func aMessageThatDoesNotFitIsRefused(body: String) throws {
        var (desk, session) = try started()
        #expect(desk.asUser("POST", "sessions/\(session)/send", body).status == 400)
        #expect(desk.relay.pendingUpdates().isEmpty)
        #expect(desk.relay.breaches.isEmpty, "the phone breaks no rule of bridges")
    }

    @Test func stopNamesTheInteraction() throws {
        var (desk, session) = try started()
        #expect(desk.asUser("POST", "sessions/\(session)/stop", #"{"interaction_id":"int_1"}"#).status == 200)
        #expect(lastUpdate(desk).contains(#""interaction_id":"int_1","reason":"user_aborted""#))
    }

    @Test func aDeletedSessionIsCancelledEndedAndTakesNothingMore() throws {
        var (desk, session) = try started()
        let sent = desk.asUser("POST", "sessions/\(session)/send", #"{"text":"hi"}"#).text
        let interaction = try #require(SocketDesk.value(of: "interaction_id", in: sent))
        let names = #""session_id":"\#(session)","interaction_id":"\#(interaction)""#
        let open = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#).text
        let message = try #require(SocketDesk.value(of: "message_id", in: open))
        let approval =
            #"{\#(names),"approval_id":"a","action":"shell.exec","title":"t","message":"m","idempotency_key":"a"}"#
        #expect(desk.asBridge("requestApproval", approval).status == 200)
        #expect(desk.asUser("DELETE", "sessions/\(session)").status == 200)
        #expect(
            desk.relay.pendingUpdates().map(\.type)
                == ["session.message", "approval.resolved", "session.cancelled", "session.ended"])
        let end = desk.asBridge("sendMessageEnd", #"{"message_id":"\#(message)","text":"x","idempotency_key":"e"}"#)
        #expect(end.status == 410)
        #expect(end.text.contains("session_deleted"))
        #expect(desk.asBridge("createTask", #"{\#(names),"task_id":"t","kind":"k"}"#).status == 410)
        #expect(desk.asUser("POST", "sessions/\(session)/send", #"{"text":"hi"}"#).status == 410)
        #expect(!desk.asUser("GET", "sessions").text.contains(session))
        #expect(desk.relay.breaches.isEmpty, "the bridge may not know yet")
    }

    @Test func anArchivedSessionHasEndedForTheBridge() throws {
        var (desk, session) = try started()
        for _ in 0..<2 { #expect(desk.asUser("POST", "sessions/\(session)/archive").status == 200) }
        #expect(desk.relay.pendingUpdates().map(\.type) == ["session.ended"])
        #expect(desk.asUser("GET", "sessions").text.contains(#""is_archived":true"#))
        #expect(desk.asUser("POST", "sessions/\(session)/unarchive").status == 200)
        #expect(desk.asUser("GET", "sessions").text.contains(#""is_archived":false"#))
    }

    @Test func aDecisionMayHaveAScope() throws {
        var (desk, session) = try started()
        let body =
            #"{"session_id":"\#(session)","approval_id":"a","action":"shell.exec","title":"t","message":"m","#
            + #""idempotency_key":"a"}"#
        #expect(desk.asBridge("requestApproval", body).status == 200)
        #expect(desk.asUser("POST", "approvals/a", #"{"decision":"maybe"}"#).status == 400)
        let decision = #"{"decision":"approve_always","scope":"domain","scope_value":"example.com"}"#
        #expect(desk.asUser("POST", "approvals/a", decision).status == 200)
        #expect(lastUpdate(desk).contains(#""decision":"approve_always","scope":"domain","scope_value":"example.com""#))
        #expect(desk.asUser("POST", "approvals/a", decision).status == 409)
    }

    @Test func theAccountTellsWhetherABridgeIsThere() {
        var desk = SocketDesk()
        #expect(desk.call("GET", "/v1/me", token: RelayOptions().userToken).text.contains(#""is_connected":false"#))
        let socket = desk.open()
        desk.say(#"{"type":"hello","version":"0.12.0"}"#, on: socket)
        let account = desk.call("GET", "/v1/me", token: RelayOptions().userToken).text
        #expect(account.contains(#""is_connected":true,"bridge_version":"0.12.0""#))
    }

    @Test func aNewNameOfTheInstallationIsPublished() {
        var desk = SocketDesk()
        let path = "installations/inst_Simulator0000001"
        #expect(desk.asUser("PATCH", path, #"{"custom_emoji":"x"}"#).status == 200)
        #expect(desk.relay.phoneEvents(after: nil).map(\.type) == ["installation_updated"])
        #expect(desk.asUser("PATCH", "installations/other").status == 404)
    }

    @Test(arguments: [("PUT", "sessions"), ("GET", "approvals/a"), ("POST", "snapshot"), ("PUT", "sessions/SES")])
    func whatAnAddressDoesNotTakeIsRefused(method: String, path: String) throws {
        var (desk, session) = try started()
        #expect(desk.asUser(method, path.replacing("SES", with: session)).status == 405)
    }
}
