import Glibc
import RelayRules
import Simulator
import Testing
import WireTesting

/// The phone's event stream (relay.md#sse-events, relay.md#resume, relay.md#gaps-and-what-the-emulator-should-do).
@Suite struct PhoneStreamTests {
    @Test func aTurnIsSeenAsItHappens() throws {
        let stage = try Stage()
        let phone = try stage.phone()
        let (_, bubble) = try stage.openTurn()
        _ = try stage.bridge("sendMessageDelta", stage.delta(bubble, "Hello", key: "k-d-1"))
        _ = try stage.bridge("sendMessageEnd", stage.end(bubble, "Hello"))
        #expect(try phone.text(through: "event: message_added\n").contains("id: 3\n"))
        #expect(try phone.text(through: "event: message_added\n").contains("id: 4\n"))
        #expect(try phone.text(through: "event: message_delta\n").contains("id: 5\n"))
        #expect(try phone.text(through: "event: message_finalized\n").contains("id: 6\n"))
        #expect(try phone.text(through: "\n\n").hasPrefix("data: {"))
    }

    @Test(arguments: ["header", "query"])
    func aPhoneThatComesBackGetsWhatItMissedAndThenWhatIsNew(form: String) throws {
        let stage = try Stage()
        for number in 3...5 { stage.say("message \(number)") }
        let phone =
            form == "header" ? try stage.phone(after: "3") : try stage.phone(query: "?last_event_id=3")
        stage.say("message 6")
        let seen = try phone.text(through: "message 6")
        #expect(!seen.contains("message 3"))
        #expect(seen.split(separator: "id: ").count == 4, "the head of the chunk, and events 4, 5 and 6 once each")
    }

    @Test func aColdStartIsLiveAtOnce() throws {
        let stage = try Stage()
        stage.say("before")
        let phone = try stage.phone()
        stage.say("after")
        #expect(try !phone.text(through: "after").contains("before"))
    }

    @Test(arguments: ["0", "999999", "nonsense"])
    func anUnknownIdReplaysTheWholeRing(last: String) throws {
        let stage = try Stage()
        for number in 3...302 { stage.say("message \(number).") }
        let phone = try stage.phone(after: last)
        let seen = try phone.text(through: "message 302.")
        #expect(seen.contains("message 47."))
        #expect(!seen.contains("message 46."), "the ring holds 256")
    }

    @Test func withoutTheUsersTokenThereIsNoStream() throws {
        let stage = try Stage()
        #expect(try stage.wire().exchange("GET", "/v1/me/stream").status == 401)
        #expect(try stage.wire().exchange("GET", "/v1/me/stream", headers: [stage.bridgeHeader]).status == 401)
    }

    @Test(arguments: ["access_token", "token"])
    func aTokenInTheURLIsRefused(name: String) throws {
        let stage = try Stage()
        let reply = try stage.wire().exchange("GET", "/v1/me/stream?\(name)=\(stage.simulator.userToken)")
        #expect(reply.status == 400)
        #expect(reply.text.contains("invalid_token_location"))
    }

    @Test func anIdlePhoneHearsSomethingEveryFifteenSeconds() throws {
        let stage = try Stage()
        let phone = try stage.phone()
        stage.clock.advance(milliseconds: 14_000)
        stage.say("first")
        stage.clock.advance(milliseconds: 1_000)
        #expect(try phone.text(through: ": still here\n\n").contains("first"))
        stage.clock.advance(milliseconds: 15_000)
        #expect(try phone.text(through: ": still here\n\n").contains(":"))
    }

    @Test func phonesThatLeaveAreForgotten() throws {
        let stage = try Stage()
        try { _ = try stage.phone() }()
        #expect(stage.simulator.readerCount <= 1)
        // The server notices the lost phone when it writes. How soon its thread runs is up to the machine.
        let end = ContinuousClock.now + .seconds(30)
        while stage.simulator.readerCount > 0, ContinuousClock.now < end {
            stage.clock.advance(milliseconds: 15_000)
            sched_yield()
        }
        #expect(stage.simulator.readerCount == 0)
    }

    @Test func manyPhonesSeeTheSame() throws {
        let stage = try Stage()
        let phones = try (0..<300).map { _ in try stage.phone() }
        for number in 0..<20 { stage.say("message \(number).") }
        for phone in phones {
            #expect(try phone.text(through: "message 19.").split(separator: "id: ").count == 21)
        }
    }

    @Test func stoppingEndsThePhonesThatHangAndStartingAgainKeepsTheState() throws {
        let stage = try Stage()
        let phones = try (0..<20).map { _ in try stage.phone() }
        stage.say("before the stop")
        stage.simulator.stop()
        for phone in phones { #expect(phone.end().failure != .timedOut) }
        try stage.simulator.start()
        let phone = try stage.phone(after: "0")
        #expect(try phone.text(through: "before the stop").contains("id: 1\n"))
    }
}
