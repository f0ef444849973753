import RelayRules
import Testing

/// Every misfortune of relay.md#gaps-and-what-the-emulator-should-do, by name, by count, and at random.
@Suite struct FaultTests {
    // MARK: The table

    @Test func everyKindHasOneNameAndSaysWhatItDoes() {
        #expect(Set(FaultKind.names).count == FaultKind.all.count)
        for kind in FaultKind.all { #expect(!kind.sentence.isEmpty && !kind.sentence.hasSuffix(".")) }
    }

    @Test(arguments: FaultKind.names)
    func aKindIsPlannedListedAndForgotten(name: String) {
        var desk = SocketDesk()
        #expect(desk.control("POST", "faults", #"{"kind":"\#(name)","count":3}"#).status == 200)
        let planned = desk.relay.plannedFaults()
        // The kind that 410 stands for depends on its code.
        #expect(planned.map(\.kind) == [name == "410" ? "interaction_expired" : name])
        #expect(planned.map(\.left) == [3])
        let listed = desk.control("GET", "faults").text
        #expect(listed.contains(#"{"faults":[{"kind":"\#(planned[0].kind)","left":3}]"#))
        #expect(desk.control("DELETE", "faults").status == 200)
        #expect(desk.relay.plannedFaults().isEmpty)
    }

    @Test func aKindThatThereIsNotIsRefusedWithTheKindsThereAre() {
        var desk = SocketDesk()
        for body in [#"{"kind":"418"}"#, #"{"kind":"mix","kinds":["418"]}"#] {
            let refused = desk.control("POST", "faults", body)
            #expect(refused.status == 400)
            #expect(refused.text.contains(#"kind is \"418\", expected mix or one of 429, 500, "#))
        }
        #expect(desk.control("POST", "faults", #"{"kind":"mix","rate":2}"#).text.contains("from 0 to 1"))
        #expect(desk.control("POST", "faults", #"{"kind":"mix","kinds":7}"#).status == 400)
        #expect(desk.control("POST", "faults", #"{"kind":"flat","method":"sendMessage"}"#).status == 400)
    }

    // MARK: Calls

    @Test(
        arguments: FaultKind.all.filter { $0.sentence.dropFirst(3).hasPrefix(": ") }.map(\.name))
    func aRefusalHasItsStatusCodeAndHeadersAndTakesNoEffect(name: String) throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let kind = try #require(FaultKind.named(name))
        desk.relay.plan(kind, method: "sendMessage")
        let body = SocketDesk.placeholder(sent.session, sent.interaction)
        let answer = desk.relay.respond(to: SocketDesk.bridgeCall("sendMessage", body), at: desk.at)
        #expect(kind.sentence.hasPrefix("\(answer.response.status): "))
        #expect(answer.fault == name)
        let text = String(decoding: answer.response.body, as: UTF8.self)
        #expect(text.hasPrefix(#"{"ok":false,"error":{"code":"\#(name)""#))
        #expect(answer.response.headers.contains { $0.name == "X-RateLimit-Remaining" })
        #expect(answer.response.headers.contains { $0.name == "Retry-After" } == (answer.response.status == 503))
        #expect(text.contains("retry_after_ms") == (answer.response.status == 503))
        #expect(desk.asBridge("sendMessage", body).status == 200, "the next call is well again")
        #expect(desk.relay.breaches.isEmpty)
    }

    @Test(arguments: [("close", ["close 1000"]), ("drop", ["cut"]), ("silence", []), ("freeze", ["stop reading"])])
    func aCallMayBeTheMomentAtWhichSocketsFail(name: String, orders: [String]) throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        _ = desk.open()
        _ = desk.heard()
        desk.relay.plan(try #require(FaultKind.named(name)))
        #expect(desk.asBridge("sendMessage", SocketDesk.placeholder(sent.session, sent.interaction)).status == 200)
        #expect(desk.heard() == orders)
        _ = desk.relay.userSends(text: "y", session: sent.session, at: desk.at)
        #expect(desk.heard() == [], "nothing more is said on it")
    }

    @Test func phonesThatWereAwayForLongFindNothingToReplay() throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        desk.relay.plan(try #require(FaultKind.named("phone_away")))
        #expect(desk.asBridge("sendMessage", SocketDesk.placeholder(sent.session, sent.interaction)).status == 200)
        #expect(desk.relay.takeEdgeOrders() == [.cutPhones])
        #expect(desk.relay.phoneEvents(after: 1).isEmpty)
        #expect(desk.relay.sessions.first?.messages.count == 2, "what is durable is kept")
    }

    @Test func aRestartCutsEverythingAndKeepsWhatIsDurable() throws {
        var desk = SocketDesk()
        let sent = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        _ = desk.open()
        _ = desk.heard()
        desk.relay.plan(try #require(FaultKind.named("restart")))
        let body = SocketDesk.placeholder(sent.session, sent.interaction)
        let answer = desk.relay.respond(to: SocketDesk.bridgeCall("sendMessage", body), at: desk.at)
        #expect(answer.delivery == .responseLost)
        #expect(desk.heard() == ["cut"])
        #expect(desk.relay.takeEdgeOrders() == [.cutPhones, .restart(milliseconds: 1_000)])
        #expect(desk.asBridge("sendMessage", body).text.contains(#""idempotent":true"#))
    }

    @Test func aFaultBehindTheWriteStaysPlannedWhileTheBucketIsEmpty() throws {
        var desk = SocketDesk()
        while desk.asBridge("requestApproval", "{}").status != 429 {}
        desk.relay.plan(try #require(FaultKind.named("slow")))
        let call = SocketDesk.bridgeCall("requestApproval", "{}")
        let refused = desk.relay.respond(to: call, at: desk.at)
        #expect(refused.response.status == 429)
        #expect(refused.delivery == .normal && refused.fault == nil)
        #expect(desk.relay.tally.refusals["rate_limited"] == 2)
        desk.relay.plan(try #require(FaultKind.named("500")))
        #expect(desk.relay.respond(to: call, at: desk.at).fault == "500", "it needs no token")
        #expect(desk.relay.plannedFaults().map(\.kind) == ["slow"])
        #expect(desk.relay.tally.faults == 1)
        desk.pass(seconds: 1)
        let late = desk.relay.respond(to: call, at: desk.at)
        #expect(late.delivery == .delayed(milliseconds: 1_000) && late.fault == "slow")
    }

    @Test func aMixStrikesNothingBehindAWriteThatTheBucketRefuses() {
        var desk = SocketDesk()
        while desk.asBridge("requestApproval", "{}").status != 429 {}
        desk.relay.mixFaults(FaultMix(seed: 7, rate: 1, kinds: ["restart"].compactMap(FaultKind.named)))
        #expect(desk.asBridge("requestApproval", "{}").status == 429)
        #expect(desk.relay.tally.faults == 0)
    }

    @Test func whereNothingIsWrittenAFaultBehindTheWriteStaysPlanned() throws {
        var desk = SocketDesk()
        desk.relay.plan(try #require(FaultKind.named("reply_lost")), method: "healthz")
        #expect(desk.call("GET", "/healthz").status == 200)
        #expect(desk.relay.plannedFaults().map(\.left) == [1])
    }

    // MARK: Connections and updates

    @Test func twoBridgesOnOneTokenAreBothToldEverything() {
        var desk = SocketDesk()
        let first = desk.open()
        _ = desk.control("POST", "faults", #"{"kind":"second_bridge"}"#)
        let second = desk.open()
        _ = desk.heard()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        let orders = desk.relay.takeSocketInstructions()
        #expect(orders.map(\.socket) == [first, second])
        _ = desk.open()
        #expect(desk.relay.socketReports.filter { !$0.isClosing }.count == 1, "the one after it replaces both")
    }

    @Test func aBacklogWaitsForTheReconnect() {
        var desk = SocketDesk()
        let socket = desk.open()
        _ = desk.heard()
        _ = desk.control("POST", "faults", #"{"kind":"backlog"}"#)
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.heard() == ["cut"])
        desk.relay.socketEnded(socket)
        _ = desk.open()
        #expect(desk.heard() == ["ready", "update 1"])
    }

    @Test func aStopMayComeBeforeThePlaceholder() {
        var desk = SocketDesk()
        _ = desk.control("POST", "faults", #"{"kind":"early_stop"}"#)
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.relay.pendingUpdates().map(\.type) == ["session.message", "session.cancelled"])
    }

    @Test func aGrantComesAfterTheMessageOrNever() {
        var desk = SocketDesk()
        let grant = #"{"type":"session_key_granted","session_id":"ses_1","payload":{"session_id":"ses_1"}}"#
        _ = desk.control("POST", "faults", #"{"kind":"grant_late"}"#)
        _ = desk.control("POST", "updates", grant)
        #expect(desk.relay.pendingUpdates().isEmpty)
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.relay.pendingUpdates().map(\.type) == ["session.message", "session_key_granted"])
        _ = desk.control("POST", "faults", #"{"kind":"grant_never"}"#)
        _ = desk.control("POST", "updates", grant)
        _ = desk.control("POST", "updates", grant)
        #expect(desk.relay.pendingUpdates().count == 3, "one of the two")
    }

    @Test(arguments: ["faults", "socket/faults"])
    func aGrantThatIsHeldBackGoesOutWhenTheFaultsAreForgotten(route: String) {
        var desk = SocketDesk()
        _ = desk.open()
        _ = desk.heard()
        _ = desk.control("POST", "faults", #"{"kind":"grant_late","count":2}"#)
        _ = desk.control("POST", "updates", #"{"type":"session_key_granted","session_id":"ses_1"}"#)
        #expect(desk.heard() == [])
        #expect(desk.control("DELETE", route).status == 200)
        #expect(desk.heard() == ["update 1"])
        #expect(desk.relay.pendingUpdates().map(\.type) == ["session_key_granted"])
    }

    @Test func anAcknowledgementThatIsLostLetsTheUpdatesComeAgain() {
        var desk = SocketDesk()
        let socket = desk.open()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        _ = desk.heard()
        _ = desk.control("POST", "faults", #"{"kind":"ack_lost"}"#)
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: socket)
        desk.pass(seconds: 5)
        #expect(desk.heard() == ["update 1"])
        desk.say(#"{"type":"ack","up_to_update_id":"1"}"#, on: socket)
        desk.pass(seconds: 5)
        #expect(desk.heard() == [])
    }

    // MARK: At random

    /// The fault of each of 400 calls. `withSockets` adds an update and a connection before each call.
    private func struck(seed: UInt64, rate: Double, kinds: [String] = [], withSockets: Bool = false) -> [String] {
        var desk = SocketDesk { $0 = $0.withoutLimits }
        desk.relay.mixFaults(FaultMix(seed: seed, rate: rate, kinds: kinds.compactMap(FaultKind.named)))
        return (0..<400).map { _ in
            if withSockets {
                _ = desk.upgradeStatus()
                _ = desk.open()
                _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
            }
            return desk.relay.respond(to: SocketDesk.bridgeCall("createSession", "{}"), at: desk.at).fault ?? ""
        }
    }

    @Test func theSameSeedGivesTheSameFaultsForTheSameCalls() {
        let once = struck(seed: 7, rate: 0.1)
        #expect(once == struck(seed: 7, rate: 0.1))
        #expect(once == struck(seed: 7, rate: 0.1, withSockets: true), "whatever else happens between them")
        #expect(once != struck(seed: 8, rate: 0.1))
        let count = once.count { !$0.isEmpty }
        #expect((20...70).contains(count), "a tenth of 400, more or less: \(count)")
    }

    @Test func aMixHasOnlyTheKindsThatItNames() {
        #expect(Set(struck(seed: 3, rate: 0.5, kinds: ["500", "slow"])) == ["", "500", "slow"])
        #expect(Set(struck(seed: 3, rate: 0)) == [""])
        #expect(!struck(seed: 3, rate: 1).contains(""))
    }

    @Test func aMixStrikesConnectionsAndUpdatesToo() {
        var desk = SocketDesk()
        let body = #"{"kind":"mix","seed":7,"rate":1,"kinds":["refused","doubled","second_id"]}"#
        #expect(desk.control("POST", "faults", body).status == 200)
        #expect(desk.upgradeStatus() == 503)
        let socket = desk.open()
        _ = desk.heard()
        _ = desk.relay.userSends(text: "x", session: nil, at: desk.at)
        #expect(desk.heard(on: socket) == ["update 1", "update 1", "update node2-1", "update node2-1"])
        let listed = desk.control("GET", "faults").text
        #expect(listed.contains(#""mix":{"seed":7,"rate":1.0,"kinds":["refused","doubled","second_id"]}"#))
        #expect(desk.relay.breaches.isEmpty)
    }
}
