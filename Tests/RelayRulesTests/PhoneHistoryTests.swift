import RelayRules
import Testing

/// History, sessions and deletion, after the turn that made them (relay.md#rest, relay.md#sse-events).
@Suite struct PhoneHistoryTests {
    private func opened() throws -> (desk: SocketDesk, names: String, session: String, message: String) {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let names = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
        let open = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#).text
        return (desk, names, sent.session, try #require(SocketDesk.value(of: "message_id", in: open)))
    }

    @Test func theHistoryHasTheTasksWithAllThatIsKnownOfThem() throws {
        var (desk, names, session, _) = try opened()
        let task = #"\#(names),"task_id":"t1""#
        _ = desk.asBridge("createTask", #"{\#(task),"kind":"exec","status_label":"df","args":{"command":"df -h"}}"#)
        _ = desk.asBridge("updateTask", #"{\#(task),"progress_percent":50,"partial_result":"half"}"#)
        let running = desk.asUser("GET", "sessions/\(session)/messages").text
        #expect(
            running.contains(
                #""status_label":"df","args":{"command":"df -h"},"progress_percent":50,"partial_result":"half"}"#))
        _ = desk.asBridge("finishTask", #"{\#(task),"status":"failed","error":"no disk"}"#)
        _ = desk.asBridge("createTask", #"{\#(names),"task_id":"t2","kind":"read","args_ct":"AA=="}"#)
        let text = desk.asUser("GET", "sessions/\(session)/messages").text
        #expect(text.contains(#""error":"no disk","status":"failed"}"#))
        #expect(text.contains(#""kind":"read","interaction_id":"#))
        #expect(text.contains(#""args_ct":"AA=="}"#))
    }

    @Test func attachmentsAndRepliesOfBothSidesAreShownAndKept() throws {
        var (desk, names, session, message) = try opened()
        let attachments = #"[{"key":"u/1","mime":"image/png","size":9,"name":null}]"#
        let own =
            #"{"session_id":"\#(session)","text":"see","attachments":\#(attachments),"reply_to":"\#(message)","idempotency_key":"a"}"#
        #expect(desk.asBridge("sendMessage", own).status == 200)
        let event = try #require(desk.relay.phoneEvents(after: nil).last)
        #expect(
            String(decoding: event.data, as: UTF8.self).contains(
                #""attachments":\#(attachments),"reply_to":"\#(message)""#))
        _ = desk.asUser(
            "POST", "sessions/\(session)/send",
            #"{"text":"and this","reply_to":"\#(message)","attachments":\#(attachments)}"#)
        let history = desk.asUser("GET", "sessions/\(session)/messages").text
        #expect(history.contains(#""attachments":\#(attachments),"reply_to":"\#(message)""#))
        #expect(history.contains(#""attachments":[{"key":"u/1","url":"http://relay.test/v1/files/u/1","#))
        for wrong in [#"{"key":"u/1"}"#, #"[{"key":"u/1"}]"#, #"[{"key":"u","mime":"m","size":26214401}]"#] {
            let body = #"{\#(names),"text":"x","attachments":\#(wrong),"idempotency_key":"w"}"#
            #expect(desk.asBridge("sendMessage", body).status == 400)
        }
    }

    @Test func aSessionIsListedWithItsTitleAndItsLastMoment() throws {
        var desk = SocketDesk()
        let made = desk.asUser("POST", "sessions", #"{"title":"Holidays"}"#).text
        let session = try #require(SocketDesk.value(of: "session_id", in: made))
        let born = desk.at.milliseconds
        #expect(desk.asUser("GET", "sessions").text.contains(#""title":"Holidays""#))
        #expect(desk.asUser("GET", "sessions").text.contains(#""updated_at":\#(born)"#))
        desk.pass(seconds: 5)
        _ = desk.asUser("POST", "sessions/\(session)/send", #"{"text":"hi"}"#)
        #expect(desk.asUser("GET", "sessions").text.contains(#""updated_at":\#(born + 5_000)"#))
        #expect(desk.call("GET", "/v1/me", token: RelayOptions().userToken).text.contains(#""archived":false"#))
        #expect(desk.asUser("POST", "sessions", "").status == 200, "an empty body is an empty chat")
    }

    @Test func aDeletedSessionIsKeptForADayAndThenUnknown() throws {
        var (desk, names, session, message) = try opened()
        #expect(desk.asUser("DELETE", "sessions/\(session)").status == 200)
        desk.pass(seconds: 24 * 3_600)
        #expect(desk.asUser("GET", "sessions/\(session)/messages").status == 410)
        desk.pass(seconds: 1)
        #expect(desk.asUser("GET", "sessions/\(session)/messages").status == 404)
        #expect(desk.asBridge("sendMessage", #"{\#(names),"text":"x","idempotency_key":"z"}"#).status == 404)
        let delta = #"{"message_id":"\#(message)","delta":"x","idempotency_key":"d"}"#
        #expect(desk.asBridge("sendMessageDelta", delta).status == 404)
        #expect(desk.relay.sessions.isEmpty)
    }

    @Test func theNamesOfTheInstallationStayAndCanBeTakenBack() {
        var desk = SocketDesk()
        let path = "installations/inst_Simulator0000001"
        _ = desk.asUser("PATCH", path, #"{"custom_display_name":"Work","custom_emoji":"x"}"#)
        func account() -> String { desk.call("GET", "/v1/me", token: RelayOptions().userToken).text }
        #expect(account().contains(#""custom_display_name":"Work","custom_emoji":"x""#))
        _ = desk.asUser("PATCH", path, #"{"custom_emoji":null}"#)
        #expect(account().contains(#""custom_display_name":"Work"}"#))
    }

    @Test func modelsAndRoutinesAreAskedOfTheBridge() throws {
        var desk = SocketDesk()
        func ask(_ method: String, _ path: String, _ body: String = "") -> RemoteView? {
            let headers = [RawHeader("Authorization", "Bearer \(RelayOptions().userToken)")]
            return desk.relay.viewRemote(
                RawRequest(method: method, target: "/v1/me/\(path)", headers: headers, body: Array(body.utf8)),
                at: desk.at)
        }
        guard case .answered(let alone) = ask("GET", "models") else { Issue.record("no answer"); return }
        #expect(alone.status == 503)
        let socket = desk.open()
        _ = desk.relay.takeSocketInstructions()
        guard case .asked(let models) = ask("GET", "models") else { Issue.record("not asked"); return }
        desk.say(
            #"{"type":"models.list.resp","req_id":"\#(models)","models":[{"id":"a","name":"A"}]}"#, on: socket)
        #expect(
            desk.relay.remoteAnswer(models).map { String(decoding: $0.body, as: UTF8.self) }
                == #"{"ok":true,"result":{"models":[{"id":"a","name":"A"}]}}"#)
        guard case .asked(let cron) = ask("POST", "cron/add", #"{"every":"1h"}"#) else {
            Issue.record("not asked"); return
        }
        let frames = desk.relay.takeSocketInstructions().map { instruction -> String in
            guard case .send(let frame) = instruction.order else { return "" }
            return String(decoding: frame, as: UTF8.self)
        }
        #expect(frames.last == #"{"type":"cron.add.req","req_id":"\#(cron)","params":{"every":"1h"}}"#)
        desk.say(#"{"type":"cron.add.resp","req_id":"\#(cron)","error":{"code":"cron_add_failed"}}"#, on: socket)
        #expect(desk.relay.remoteAnswer(cron)?.status == 502)
        guard case .asked = ask("GET", "cron") else { Issue.record("not asked"); return }
        guard case .answered(let wrong) = ask("POST", "cron/run", "[") else { Issue.record("asked"); return }
        #expect(wrong.status == 400)
        #expect(ask("POST", "cron/unheard") == nil)
        #expect(desk.relay.breaches.isEmpty)
    }
}
