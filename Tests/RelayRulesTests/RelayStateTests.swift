import RelayRules
import Testing
import Vocabulary
import Worlds

/// The state of a relay as a document: a relay made from it answers as the one that wrote it.
@Suite struct RelayStateTests {
    /// Random calls, most of them sensible, that bring about nearly everything a relay keeps.
    private struct Traffic {
        var random: SeededGenerator
        var sessions: [String] = []
        var turns: [(session: String, interaction: String)] = []
        var messages: [String] = []
        var devices: [String] = []
        var number = 0

        init(seed: UInt64) { random = SeededGenerator(seed: seed) }

        mutating func next() -> RawRequest {
            number += 1
            switch Int.random(in: 0..<16, using: &random) {
            case 0: return user("POST", "sessions", #"{"title":"chat \#(number)","model":"m"}"#)
            case 1, 2:
                return user("POST", "sessions/\(session)/send", #"{"text":"hello \#(number)","reply_to":"msg_1"}"#)
            case 3, 4: return bridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o\#(few)"}"#)
            case 5, 6, 7:
                return bridge(
                    "sendMessageDelta",
                    #"{"message_id":"\#(message)","delta":"a\#(number) ","idempotency_key":"d\#(few)"}"#)
            case 8:
                return bridge(
                    "sendMessageEnd",
                    #"{"message_id":"\#(message)","text":"all","usage":{"input_tokens":1},"idempotency_key":"e\#(number)"}"#
                )
            case 9:
                return bridge(
                    "createTask", #"{\#(names),"task_id":"t\#(few)","kind":"exec","args":{"a":[1,{"b":null}]}}"#)
            case 10:
                return bridge(
                    "updateTask", #"{\#(names),"task_id":"t\#(few)","progress_percent":7,"partial_result_ct":"AA=="}"#)
            case 11: return bridge("finishTask", #"{\#(names),"task_id":"t\#(few)","status":"completed","result":[1]}"#)
            case 12:
                return bridge(
                    "requestApproval",
                    #"{\#(names),"approval_id":"a\#(few)","action":"shell.exec","title":"T","message":"m","idempotency_key":"p\#(number)"}"#
                )
            case 13: return user("POST", "approvals/a\(few)", #"{"decision":"approve"}"#)
            case 14: return rare()
            default: return user("GET", "sessions/\(session)/messages")
            }
        }

        private mutating func rare() -> RawRequest {
            switch Int.random(in: 0..<13, using: &random) {
            case 10: return user("POST", "devices", #"{"pubkey":"\#(key)","label":"p","platform":"ios"}"#)
            case 11:
                let body = #"{"recipients":[{"device_id":"\#(device)","wrapped_session_key":"x"}]}"#
                return user("POST", "sessions/\(session)/recipients", body)
            case 12:
                return user(number % 3 == 0 ? "DELETE" : "GET", "devices/\(device)\(number % 3 == 0 ? "" : "/keys")")
            case 0: return user("DELETE", "sessions/\(session)")
            case 1: return user("POST", "sessions/\(session)/archive")
            case 2: return user("PATCH", "installations/inst_Simulator0000001", #"{"custom_emoji":"😀\u0000"}"#)
            case 3: return bridge("devices", #"{"pubkey":"\#(String(repeating: "ab", count: 32))","label":"x"}"#)
            case 4:
                return bridge(
                    "notifyToolFile",
                    #"{"session_id":"\#(session)","tool":"edit","path_ct":"AA==","display_name_ct":"AA==","path_blind_idx":"0123456789012345678901"}"#
                )
            case 5: return raw("POST", "/v1/pairing/start", #"{"connector_type":"python"}"#, token: nil)
            case 6: return bridge("setMemory", #"{"entries":[{"key":"k\#(few)","value":{"deep":[[["x"]]]}}]}"#)
            case 7: return bridge("getMemory", "{}")
            case 8: return user("POST", "sessions/\(session)/stop", "{}")
            default: return bridge("unheardOf", "{")
            }
        }

        private var few: Int { mutating get { Int.random(in: 0..<12, using: &random) } }
        private var key: String { mutating get { String(repeating: "\(few % 10)c", count: 32) } }
        private var device: String { mutating get { devices.randomElement(using: &random) ?? "dev_none" } }
        private var session: String { mutating get { sessions.randomElement(using: &random) ?? "ses_none" } }
        private var message: String { mutating get { messages.suffix(6).randomElement(using: &random) ?? "msg_none" } }
        private var names: String {
            mutating get {
                let turn = turns.suffix(4).randomElement(using: &random) ?? ("ses_none", "int_none")
                return #""session_id":"\#(turn.session)","interaction_id":"\#(turn.interaction)""#
            }
        }

        private func user(_ method: String, _ path: String, _ body: String = "") -> RawRequest {
            raw(method, "/v1/me/\(path)", body, token: RelayOptions().userToken)
        }

        private func bridge(_ method: String, _ body: String) -> RawRequest {
            raw("POST", "/v1/bridge/\(method)", body, token: RelayOptions().bridgeToken)
        }

        private func raw(_ method: String, _ target: String, _ body: String, token: String?) -> RawRequest {
            RawRequest(
                method: method, target: target,
                headers: token.map { [RawHeader("Authorization", "Bearer \($0)")] } ?? [], body: Array(body.utf8))
        }

        mutating func learn(_ answer: RawResponse, to request: RawRequest) {
            let text = String(decoding: answer.body, as: UTF8.self)
            let session = SocketDesk.value(of: "session_id", in: text)
            if request.target == "/v1/me/sessions", let session { sessions.append(session) }
            let message = SocketDesk.value(of: "message_id", in: text)
            if request.target.hasSuffix("/send"), let interaction = SocketDesk.value(of: "interaction_id", in: text) {
                turns.append((String(request.target.split(separator: "/")[3]), interaction))
            } else if request.target.hasSuffix("/sendMessage"), let message {
                messages.append(message)
            }
            if request.target.hasSuffix("/devices"), let device = SocketDesk.value(of: "device_id", in: text) {
                devices.append(device)
            }
        }
    }

    @Test(arguments: 1...6) func aRelayMadeFromAStateAnswersAsTheOneThatWroteIt(seed: UInt64) throws {
        var traffic = Traffic(seed: seed)
        var relay = Relay()
        var at = SocketDesk.start
        func step(_ milliseconds: Int64) { at = at.advanced(byMilliseconds: milliseconds) }
        for _ in 0..<150 {
            step(Int64.random(in: 0..<400, using: &traffic.random))
            let request = traffic.next()
            traffic.learn(relay.respond(to: request, at: at).response, to: request)
            if Int.random(in: 0..<20, using: &traffic.random) == 0, let update = relay.pendingUpdates().first {
                relay.acknowledge(upTo: update.id)
            }
        }
        #expect(traffic.messages.count > 3, "the traffic reaches what is to be kept")
        let state = relay.state
        var other = try Relay(state: state)
        #expect(other.state == state)
        for number in 0..<150 {
            step(Int64.random(in: 0..<60_000, using: &traffic.random))
            let request = traffic.next()
            let answers = (relay.respond(to: request, at: at), other.respond(to: request, at: at))
            #expect(answers.0 == answers.1, "call \(number): \(request.method) \(request.target)")
            traffic.learn(answers.0.response, to: request)
        }
        #expect(relay.phoneEvents(after: nil) == other.phoneEvents(after: nil))
        #expect(relay.pendingUpdates() == other.pendingUpdates())
        #expect(relay.breaches == other.breaches)
        #expect(relay.tally == other.tally)
        #expect(relay.state == other.state)
    }

    @Test func everyFieldIsKeptOrLetGoOnPurpose() {
        let kept: Set = [
            "identifiers", "buckets", "keys", "chats.order", "chats.sessions", "chats.deleted", "chats.messagePlaces",
            "chats.interactions", "chats.taskPlaces", "chats.files", "approvals.approvals", "approvals.open",
            "approvals.settled", "approvals.counted", "phones.ring", "phones.next", "updates.updates", "updates.next",
            "updates.nextOfOtherNode", "sockets.last", "installation.isRevoked", "installation.names",
            "installation.bridgeVersion", "installation.hadBridge", "installation.tokens", "installation.devices",
            "installation.memory", "installation.pairings", "installation.toldStanding", "records.breaches",
            "records.warnings", "records.tally",
        ]
        // Fields that the document leaves out. The new relay gets its options and limits from its caller; connections
        // end with their relay, and a tester plans faults again.
        let letGo: Set = [
            "options", "approvals.limit", "phones.limit", "phones.orders", "phones.untaken", "updates.limit",
            "updates.heldGrants",
            "sockets.sockets", "sockets.order", "sockets.instructions", "sockets.requests", "faults.calls",
            "faults.sockets", "faults.mix", "faults.drawnForConnection", "records.breachLimit", "records.log",
            "records.subject",
            // Warnings get new numbers; only watchers use them.
            "records.lastWarning",
        ]
        let parts = ["chats", "approvals", "phones", "updates", "sockets", "faults", "installation", "records"]
        let fields = Set(
            Mirror(reflecting: Relay()).children.flatMap { child -> [String] in
                guard let label = child.label else { return [] }
                guard parts.contains(label) else { return [label] }
                return Mirror(reflecting: child.value).children.map { "\(label).\($0.label ?? "")" }
            })
        #expect(fields == kept.union(letGo), "write a new field beside its part, or say here why it is let go")
    }

    @Test func tokensAndTheBridgesStandingAreKept() throws {
        var desk = SocketDesk()
        let started = desk.call("POST", "/v1/pairing/start", #"{"connector_type_id":"python"}"#).text
        let code = try #require(SocketDesk.value(of: "code", in: started))
        _ = desk.asUser("POST", "pairing/claim", #"{"code":"\#(code)"}"#)
        let polled = desk.call("GET", "/v1/pairing/poll?code=\(code)", "").text
        let token = try #require(SocketDesk.value(of: "bot_token", in: polled))
        let socket = desk.open()
        desk.say(#"{"type":"hello","version":"1.2"}"#, on: socket)
        desk.pass(seconds: 1)
        _ = desk.relay.revoke(token: RelayOptions().bridgeToken)
        var after = SocketDesk()
        after.relay = try Relay(state: desk.relay.state)
        #expect(after.relay.bridgeStanding == BridgeStanding(state: .degraded, sockets: 0, version: "1.2"))
        #expect(after.upgradeStatus(token: token) == 101)
        #expect(after.upgradeStatus(token: RelayOptions().bridgeToken) == 401)
        after.pass(seconds: 1)
        let last = try #require(after.relay.phoneEvents(after: nil).last)
        #expect(
            String(decoding: last.data, as: UTF8.self).contains(#""state":"degraded""#), "the phone knew it connected")
        #expect(after.call("GET", "/v1/me", token: RelayOptions().userToken).text.contains(#""connector":"python""#))
    }

    @Test func afterARestartNoNameIsGivenTwiceAndAPhoneGoesOn() throws {
        var relay = Relay()
        _ = relay.userSends(text: "one", session: nil, at: SocketDesk.start)
        let state = relay.state
        let lost = relay.userSends(text: "lost by the restart", session: nil, at: SocketDesk.start)
        let lostUpdate = try #require(relay.pendingUpdates().last?.id)
        let seen = relay.lastPhoneEventID
        var after = try Relay(state: state)
        after.skipNamesInDoubt()
        let next = after.userSends(text: "two", session: nil, at: SocketDesk.start)
        #expect(next.message != lost.message && next.interaction != lost.interaction && next.session != lost.session)
        #expect(after.pendingUpdates().last?.id != lostUpdate)
        #expect(after.phoneEvents(after: seen).map(\.type) == ["session_created", "message_added"])
        #expect(after.phoneEvents(after: 2).count == 2, "a phone that had seen all of the state goes on behind it")
        #expect(try Relay(state: after.state).state == after.state)
    }

    @Test func theDeepestBodyThatIsTakenCanBeReadAgain() throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let names = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
        _ = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#)
        let deep = String(repeating: "[", count: 62) + "1" + String(repeating: "]", count: 62)
        #expect(desk.asBridge("createTask", #"{\#(names),"task_id":"t","kind":"k","args":\#(deep)}"#).status == 200)
        #expect(try Relay(state: desk.relay.state).state == desk.relay.state)
    }

    @Test(arguments: [
        ("", "is broken at byte 0"), ("{", "is broken at byte 1"), ("[]", "is not a state"), ("{}", "is not a state"),
        (#"{"name":"package","version":1}"#, "is not a state"),
        (#"{"format":"sophon-relay-simulator-state","version":2}"#, "has version 2"),
        (#"{"format":"sophon-relay-simulator-state"}"#, "has version none"),
        (#"{"format":"sophon-relay-simulator-state","version":1}"#, "is broken: identifiers is no whole number"),
    ])
    func whatIsNoStateIsRefusedWithOneSentence(text: String, sentence: String) {
        let fault = #expect(throws: RelayStateFault.self) { try Relay(state: Array(text.utf8)) }
        #expect(fault?.description.hasPrefix(sentence) == true, "\(fault?.description ?? "")")
    }

    @Test func everyPlaceWhereAStateCanBeBrokenIsNamedAndNothingTraps() throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        _ = desk.asBridge("sendMessage", #"{"session_id":"\#(sent.session)","text":"x","idempotency_key":"o"}"#)
        let state = desk.relay.state
        // A truncated document, and one with a member of another kind in place of a number or a flag.
        for length in stride(from: 0, to: state.count, by: 31) {
            #expect(throws: RelayStateFault.self) { try Relay(state: Array(state.prefix(length))) }
        }
        let text = String(decoding: state, as: UTF8.self)
        for match in text.matches(of: /"(at|since|is_final|deltas|is_good|next_event|was_sent)":[^,}]+/) {
            let broken = text.replacingCharacters(in: match.range, with: "\"\(match.output.1)\":[]")
            let fault = #expect(throws: RelayStateFault.self) { try Relay(state: Array(broken.utf8)) }
            #expect(fault?.description.contains(String(match.output.1)) == true)
        }
    }

    /// Every number of a state, replaced by an odd one: the relay refuses it by name, or works with it.
    @Test(
        arguments: [
            "-1", "0", "-1000000", "9007199250000000", "9007199254740993", "9223372036854775807",
            "-9223372036854775808", "18446744073709551615", "1e308", "-1e300", "0.5",
        ])
    func aNumberThatIsOddIsNamedOrBorne(odd: String) throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let names = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
        _ = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#)
        _ = desk.asBridge("createTask", #"{\#(names),"task_id":"t","kind":"k"}"#)
        _ = desk.asBridge("updateTask", #"{\#(names),"task_id":"t","progress_percent":7}"#)
        _ = desk.asBridge("setMemory", #"{"entries":[{"key":"k","value":1}]}"#)
        _ = desk.call("POST", "/v1/pairing/start", #"{"connector_type":"python"}"#)
        _ = desk.call("DELETE", "/v1/me/sessions/\(sent.session)", token: RelayOptions().userToken)
        let text = String(decoding: desk.relay.state, as: UTF8.self)
        let numbers = text.matches(of: /"(\w+)":(-?[0-9][0-9.e+-]*)/)
        #expect(numbers.count > 40, "the state has about all of its numbers")
        for number in numbers {
            let changed = text.replacingCharacters(in: number.range, with: "\"\(number.output.1)\":\(odd)")
            var other = SocketDesk()
            do throws(RelayStateFault) { other.relay = try Relay(state: Array(changed.utf8)) } catch {
                let isNamed = error.description.contains(String(number.output.1))
                let isOneOfMany = ["has version", "broken: tally.", "broken: ring "].contains {
                    error.description.contains($0)
                }
                #expect(isNamed || isOneOfMany, "\(number.output.0): \(error)")
                continue
            }
            other.relay.skipNamesInDoubt()
            use(&other)
            #expect(throws: Never.self, "\(number.output.0) \(odd)") { try Relay(state: other.relay.state) }
        }
    }

    /// Uses the numbers of the state: the relay must not trap on any of them.
    private func use(_ desk: inout SocketDesk) {
        let socket = desk.open()
        desk.say(#"{"type":"hello","version":"1"}"#, on: socket)
        desk.say(#"{"type":"ack","update_id":"node2-1"}"#, on: socket)
        desk.say(#"{"type":"ack","update_id":"7"}"#, on: socket)
        let sent = desk.relay.userSends(text: "more", session: nil, at: desk.at)
        for method in [
            "sendMessage", "sendMessageDelta", "createTask", "requestApproval", "getMemory", "createSession",
        ] {
            _ = desk.asBridge(method, #"{"session_id":"\#(sent.session)","text":"x","idempotency_key":"\#(method)"}"#)
        }
        for path in ["/v1/me", "/v1/me/sessions", "/v1/me/snapshot"] {
            _ = desk.call("GET", path, "", token: RelayOptions().userToken)
        }
        desk.pass(seconds: 30 * 3_600)
        _ = desk.relay.sizes
        _ = desk.relay.phoneEvents(after: desk.relay.lastPhoneEventID)
        _ = desk.relay.bucketReports(at: desk.at)
        _ = desk.relay.pendingUpdates().map(\.frame)
    }

    @Test func oneChatStandsOnce() throws {
        var desk = SocketDesk()
        _ = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let text = String(decoding: desk.relay.state, as: UTF8.self)
        let list = try #require(text.firstMatch(of: /"sessions":\[(.*?)\],"deleted_sessions"/))
        let doubled = text.replacingCharacters(
            in: list.range, with: "\"sessions\":[\(list.output.1),\(list.output.1)],\"deleted_sessions\"")
        let fault = #expect(throws: RelayStateFault.self) { try Relay(state: Array(doubled.utf8)) }
        #expect(fault?.description.contains("sessions[1].id stands twice") == true, "\(fault?.description ?? "")")
    }
}

extension String {
    fileprivate func replacingCharacters(in range: Range<String.Index>, with other: String) -> String {
        String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
    }
}
