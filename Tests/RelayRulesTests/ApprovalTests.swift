import RelayRules
import Testing

/// Which approvals the relay knows, and for how long.
@Suite struct ApprovalTests {
    private struct Desk {
        var desk = SocketDesk { options in
            options = options.withoutLimits
            options.approvalLimit = 3
        }
        let names: String

        init() {
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

        mutating func decide(_ id: String) -> Int {
            desk.asUser("POST", "approvals/\(id)", #"{"decision":"approve"}"#).status
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
}
