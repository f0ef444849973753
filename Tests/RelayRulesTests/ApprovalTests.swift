import RelayRules
import Testing

/// Which approvals the relay knows, and for how long.
@Suite struct ApprovalTests {
    private struct Desk {
        var desk: SocketDesk
        var names: String

        init(_ change: (inout RelayOptions) -> Void = { _ in }) {
            desk = SocketDesk { options in
                options = options.withoutLimits
                options.approvalLimit = 3
                change(&options)
            }
            let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
            names = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
            _ = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#)
        }

        mutating func ask(_ id: String, key: String? = nil) -> Int {
            desk.asBridge(
                "requestApproval",
                #"{\#(names),"approval_id":"\#(id)","action":"x","title":"t","message":"m","idempotency_key":"\#(key ?? id)"}"#
            ).status
        }

        /// `more`: members, each with a comma before it.
        mutating func ask(_ id: String, key: String? = nil, _ more: String) -> Int {
            answer(to: id, key: key, more).status
        }

        mutating func answer(to id: String, key: String? = nil, _ more: String) -> (status: Int, text: String) {
            let message = more.contains(#""message":"#) || more.contains(#""details_ct":"#) ? "" : #","message":"m""#
            let title = more.contains(#""details_ct":"#) ? "" : #","title":"t""#
            return desk.asBridge(
                "requestApproval",
                #"{\#(names),"approval_id":"\#(id)","action":"x"\#(title)\#(message),"idempotency_key":"\#(key ?? id)"\#(more)}"#
            )
        }

        mutating func control(_ path: String, _ body: String) -> Int { desk.control("POST", path, body).status }

        mutating func decide(_ id: String) -> Int {
            desk.asUser("POST", "approvals/\(id)", #"{"decision":"approve"}"#).status
        }

        /// Updates to the bridge about ended approvals.
        var told: [String] {
            desk.relay.pendingUpdates().map { String(decoding: $0.frame, as: UTF8.self) }
                .filter { $0.contains("approval.resolved") }
                .map { frame in
                    ["approval_id", "decision", "reason"].compactMap { SocketDesk.value(of: $0, in: frame) }
                        .joined(separator: " ")
                }
        }

        /// The phone's events about approvals: kind, id and reason.
        var seen: [String] {
            desk.relay.phoneEvents(after: nil).filter { $0.type.hasPrefix("approval") }.map { event in
                let data = String(decoding: event.data, as: UTF8.self)
                return [
                    event.type, SocketDesk.value(of: "approval_id", in: data), SocketDesk.value(of: "reason", in: data),
                ]
                .compactMap { $0 }.joined(separator: " ")
            }
        }

        var open: [String] { desk.relay.pendingApprovals.map(\.id) }
        var kept: Int { String(decoding: desk.relay.state, as: UTF8.self).matches(of: /"asked_at"/).count }
    }

    @Test func ofThoseThatAreDecidedTheNewestAreKeptAndOpenOnesAll() throws {
        var desk = Desk()
        for number in 0..<10 { #expect(desk.ask("a\(number)") == 200) }
        #expect(desk.kept == 10, "open ones are not forgotten")
        for number in [7, 0, 1, 2, 3, 4] { #expect(desk.decide("a\(number)") == 200) }
        #expect(desk.open == ["a5", "a6", "a8", "a9"])
        #expect(desk.kept == 7)
        #expect(desk.ask("a4", key: "again4") == 409, "it is kept")
        #expect(desk.ask("a7", key: "again7") == 200, "it is forgotten")
        #expect(desk.decide("a0") == 404)
        let state = desk.desk.relay.state
        let other = try Relay(state: state, options: RelayOptions().withoutLimits)
        #expect(other.state == state)
        #expect(other.pendingApprovals.map(\.id) == desk.open)
    }

    @Test func timeDeniesThoseThatAreOpenInTheirOrder() {
        var desk = Desk()
        for number in 0..<5 {
            #expect(desk.ask("a\(number)") == 200)
            desk.desk.pass(seconds: 10)
        }
        #expect(desk.decide("a1") == 200)
        desk.desk.pass(seconds: 271)
        #expect(desk.open == ["a3", "a4"])
        desk.desk.pass(seconds: 300)
        #expect(desk.open == [])
        #expect(desk.kept == 3)
    }

    @Test func eachEndsWhenItsOwnTimeIsOverAndPhoneAndBridgeHearWhy() {
        var desk = Desk()
        #expect(desk.ask("short", #","expires_in_ms":60000"#) == 200)
        #expect(desk.ask("usual", "") == 200)
        #expect(desk.ask("long", #","expires_in_ms":1800000"#) == 200)
        desk.desk.pass(seconds: 59)
        #expect(desk.open == ["short", "usual", "long"])
        desk.desk.pass(seconds: 1)
        #expect(desk.open == ["usual", "long"])
        #expect(desk.seen.last == "approval_resolved short expired")
        desk.desk.pass(seconds: 240)
        #expect(desk.open == ["long"])
        desk.desk.pass(seconds: 1_499)
        #expect(desk.open == ["long"])
        desk.desk.pass(seconds: 1)
        #expect(desk.told == ["short deny expired", "usual deny expired", "long deny expired"])
        #expect(desk.seen.last == "approval_resolved long expired")
    }

    @Test(arguments: ["0", "1800001", "-1", "1.5", #""60000""#, "true"])
    func aLifeThatIsNoneIsRefused(life: String) {
        var desk = Desk()
        let answer = desk.answer(to: "a", #","expires_in_ms":\#(life)"#)
        #expect(answer.status == 400 && answer.text.contains(#""path":"expires_in_ms""#))
        #expect(desk.open.isEmpty)
    }

    @Test func thePhoneIsToldHowLongACardLives() {
        var desk = Desk()
        _ = desk.ask("a", #","expires_in_ms":60000"#)
        _ = desk.ask("b", "")
        let snapshot = desk.desk.asUser("GET", "snapshot", "").text
        #expect(snapshot.contains(#""expires_in_ms":60000"#) && snapshot.contains(#""expires_in_ms":300000"#))
    }

    @Test func aStrictRelayRefusesTheLifeAndTakesTheSameCardWithoutIt() {
        var desk = Desk { $0.cards.knowsLifetime = false }
        let answer = desk.answer(to: "a", #","expires_in_ms":60000"#)
        #expect(answer.status == 400)
        #expect(
            answer.text.contains(#""code":"unrecognized_keys""#) && answer.text.contains(#""path":"expires_in_ms""#))
        #expect(desk.desk.relay.breaches.isEmpty, "a bridge can only learn it")
        #expect(desk.ask("a", "") == 200)
        desk.desk.pass(seconds: 300)
        #expect(desk.told == ["a deny expired"])
    }

    @Test func theWordOfAnEndIsTheRelaysToChoose() {
        var desk = Desk { $0.cards.expiryReason = "approval_timeout" }
        _ = desk.ask("a", "")
        desk.desk.relay.cards.expiryReason = "ran_out"
        _ = desk.ask("b", "")
        _ = desk.ask("c", "")
        let at = desk.desk.at
        let ends = (1...2).map { _ in desk.desk.relay.endApproval("c", reason: "timeout", at: at) }
        #expect(ends == [true, false])
        desk.desk.pass(seconds: 300)
        #expect(desk.told == ["c deny timeout", "a deny approval_timeout", "b deny ran_out"])
    }

    @Test func whatIsOverTheHourlyNumberIsDeniedUnseen() throws {
        var desk = Desk { $0.cards.hourlyLimit = 2 }
        // Asks without a turn, which would be too old after an hour.
        desk.names = String(desk.names.split(separator: ",")[0])
        for id in ["a", "b", "c"] { #expect(desk.ask(id, "") == 200) }
        #expect(desk.open == ["a", "b"])
        #expect(desk.told == ["c deny limit"])
        #expect(desk.seen == ["approval_requested a", "approval_requested b"])
        desk.desk.pass(seconds: 3_599)
        var options = RelayOptions().withoutLimits
        options.cards.hourlyLimit = 2
        desk.desk.relay = try Relay(state: desk.desk.relay.state, options: options)
        #expect(desk.ask("d", key: "d1", "") == 200)
        #expect(desk.told.last == "d deny limit")
        desk.desk.pass(seconds: 1)
        #expect(desk.ask("e", "") == 200)
        #expect(desk.open == ["e"])
    }

    @Test func aTapOnACardThatHasEndedIsRefusedAndTellsTheBridgeNothing() {
        var desk = Desk()
        _ = desk.ask("a", #","expires_in_ms":1000"#)
        desk.desk.pass(seconds: 1)
        let answer = desk.desk.asUser("POST", "approvals/a", #"{"decision":"approve"}"#)
        #expect(answer.status == 409)
        #expect(answer.text.contains(#""code":"approval_resolved""#) && answer.text.contains("expired"))
        #expect(desk.decide("unheardOf") == 404)
        #expect(desk.told == ["a deny expired"])
        #expect(desk.ask("a-ask-2", "") == 200)
        #expect(desk.decide("a-ask-2") == 200)
        #expect(desk.decide("a-ask-2") == 409, "a second tap")
        #expect(desk.told == ["a deny expired", "a-ask-2 approve"])
    }

    @Test(arguments: ["command", "message", "details_ct"])
    func aFieldMayHave64KBAndNotAByteMore(name: String) {
        var desk = Desk()
        func field(_ length: Int) -> String {
            #","\#(name)":"\#("AQ" + String(repeating: "A", count: length - 2))""#
        }
        #expect(desk.ask("a", field(65_536)) == 200)
        #expect(desk.desk.relay.breaches.isEmpty)
        let answer = desk.answer(to: "b", field(65_540))
        #expect(answer.status == 400)
        #expect(answer.text.contains(#""path":"\#(name)","code":"too_big""#))
        #expect(desk.desk.relay.breaches.map(\.code) == [.oversized])
    }

    @Test func lifeAndReasonSurviveARestart() throws {
        var desk = Desk()
        _ = desk.ask("a", #","expires_in_ms":900000"#)
        _ = desk.ask("b", #","expires_in_ms":1000"#)
        desk.desk.pass(seconds: 1)
        let state = desk.desk.relay.state
        desk.desk.relay = try Relay(state: state, options: RelayOptions().withoutLimits)
        #expect(desk.desk.relay.state == state)
        desk.desk.pass(seconds: 898)
        #expect(desk.open == ["a"])
        desk.desk.pass(seconds: 1)
        #expect(desk.open.isEmpty)
    }

    @Test func faultsOfCardsStrikeTheNextOnes() {
        var desk = Desk()
        for fault in [
            #"{"kind":"card_life_unknown"}"#, #"{"kind":"card_ends","milliseconds":500,"code":"timed_out"}"#,
            #"{"kind":"card_limit"}"#,
        ] { #expect(desk.control("faults", fault) == 200) }
        #expect(desk.ask("a", "") == 200, "one without a life is not struck by the first")
        #expect(desk.ask("b", #","expires_in_ms":1000"#) == 400)
        #expect(desk.ask("b", "") == 200)
        desk.desk.pass(seconds: 1)
        #expect(desk.told == ["b deny limit", "a deny timed_out"])
        #expect(desk.desk.relay.breaches.isEmpty)
        #expect(desk.desk.relay.tally.faults == 3)
    }

    @Test func aTesterEndsOneOrAll() {
        var desk = Desk()
        for id in ["a", "b", "c"] { _ = desk.ask(id, "") }
        let one = #"{"approval_id":"b","reason":"timeout"}"#
        #expect(desk.control("approvals/expire", one) == 200)
        #expect(desk.control("approvals/expire", one) == 404)
        let all = desk.desk.control("POST", "approvals/expire", "{}").text
        #expect(all.contains(#""ended":2"#))
        #expect(desk.told == ["b deny timeout", "a deny expired", "c deny expired"])
    }
}
