import RelayRules
import Testing

/// Events for watchers of the relay, and the state of the bridge on the phone (relay.md#health).
@Suite struct WatchTests {
    private func watched() -> SocketDesk { SocketDesk { $0.callLogLimit = 3 } }

    private func data(_ event: WatchEvent) -> String { String(decoding: event.data, as: UTF8.self) }

    @Test func aCallIsToldWithItsPlaceAlsoWhereItNamesOnlyTheMessage() throws {
        var desk = watched()
        let sent = desk.relay.userSends(text: "hi", session: nil, at: desk.at)
        let names = #""session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)""#
        let open = desk.asBridge("sendMessage", #"{\#(names),"text":" ","idempotency_key":"o"}"#).text
        let message = try #require(SocketDesk.value(of: "message_id", in: open))
        let body = #"{"message_id":"\#(message)","delta":"Hello","idempotency_key":"d"}"#
        _ = desk.asBridge("sendMessageDelta", body)
        let call = try #require(desk.relay.calls(after: 1).first)
        #expect(desk.relay.calls(after: 1).count == 1)
        #expect(call.method == "sendMessageDelta")
        #expect(call.status == 200)
        #expect(call.session == sent.session)
        #expect(call.interaction == sent.interaction)
        #expect(call.byteCount == body.utf8.count)
        #expect(call.code == nil)
        #expect(data(.call(call)).contains(#""request_id":"req_"#))
    }

    @Test func aRefusedCallIsToldWithItsCodeAndAFaultByItsKind() {
        var desk = watched()
        _ = desk.asBridge("sendMessage", "{")
        desk.relay.plan(Fault(.status(503, retryAfterMilliseconds: 5)))
        desk.relay.plan(Fault(.reset))
        _ = desk.asBridge("sendMessage", "{}")
        _ = desk.asBridge("sendMessage", "{}")
        let calls = Array(desk.relay.calls(after: 0))
        #expect(calls.map(\.status) == [400, 503, 0])
        #expect(calls.map(\.code) == ["invalid_request", "temporarily_unavailable", nil])
        #expect(calls.map(\.fault) == [nil, "503", "reset"])
    }

    @Test func ofManyCallsTheLastOnesAreKept() {
        var desk = watched()
        for number in 0..<20 { _ = desk.asBridge("method\(number)", "{}") }
        #expect(desk.relay.calls(after: 0).map(\.method) == ["method17", "method18", "method19"])
        #expect(desk.relay.calls(after: 19).map(\.method) == ["method19"])
        #expect(desk.relay.calls(after: 20).isEmpty)
    }

    @Test(arguments: ["session_id", "interaction_id", "message_id"], ["x", "\u{301}", "😀"])
    func ofANameThatIsFarTooLongTheBeginningIsKept(member: String, filling: String) throws {
        var desk = watched()
        let long = "a" + String(repeating: filling, count: 100_000)
        #expect(desk.asBridge("sendMessage", #"{"\#(member)":"\#(long)"}"#).status == 400)
        let call = try #require(desk.relay.calls(after: 0).first)
        let kept = [call.session, call.interaction].compactMap { $0 }
        #expect(kept.allSatisfy { (250...256).contains($0.utf8.count) && long.utf8.starts(with: $0.utf8) })
        #expect(kept.count == (member == "message_id" ? 0 : 1))
        _ = desk.asBridge(String(repeating: filling, count: 1_000), "{}")
        #expect(desk.relay.calls(after: 1).allSatisfy { $0.method.utf8.count <= 64 })
    }

    @Test func nothingIsKeptUnlessItIsAskedFor() {
        var desk = SocketDesk()
        _ = desk.asBridge("sendMessage", "{")
        #expect(desk.relay.calls(after: 0).isEmpty)
    }

    @Test func theBucketsAreToldWithLevelAndTokensTaken() {
        var desk = watched()
        _ = desk.asBridge("sendMessage", "{}")
        desk.pass(seconds: 0)
        let reports = desk.relay.bucketReports(at: desk.at)
        #expect(reports.map(\.name) == ["approval", "default", "delta", "memory", "msg", "task"])
        let text = data(.buckets(reports, at: desk.at))
        #expect(text.contains(#"{"name":"msg","capacity":30,"refill_per_second":10,"level":29,"taken":1}"#))
    }

    @Test func theStandingGoesFromNeverOverConnectedToDegradedAndRevoked() {
        var desk = watched()
        #expect(desk.relay.bridgeStanding.state == .never)
        let socket = desk.open()
        desk.say(#"{"type":"hello","version":"0.13.7"}"#, on: socket)
        desk.pass(seconds: 1)
        #expect(desk.relay.bridgeStanding == BridgeStanding(state: .connected, sockets: 1, version: "0.13.7"))
        desk.relay.socketEnded(socket)
        desk.pass(seconds: 1)
        #expect(desk.relay.bridgeStanding == BridgeStanding(state: .degraded, sockets: 0, version: "0.13.7"))
        #expect(desk.call("GET", "/v1/me", token: RelayOptions().userToken).text.contains(#""state":"degraded""#))
        desk.relay.revokeInstallation(reason: "user_uninstalled", at: desk.at)
        desk.pass(seconds: 1)
        let told = desk.relay.phoneEvents(after: nil).filter { $0.type == "installation_updated" }
        let states = told.map { SocketDesk.value(of: "state", in: String(decoding: $0.data, as: UTF8.self)) }
        #expect(states == ["connected", "degraded", "revoked"])
        #expect(told.allSatisfy { String(decoding: $0.data, as: UTF8.self).contains("inst_Simulator0000001") })
    }

    @Test func aChangeOfSocketsIsNoChangeOfTheStanding() {
        var desk = watched()
        let old = desk.open()
        desk.pass(seconds: 1)
        _ = desk.open()
        desk.relay.socketEnded(old)
        desk.pass(seconds: 1)
        #expect(desk.relay.phoneEvents(after: nil).map(\.type) == ["installation_updated"])
    }

    @Test func withoutAGoodTokenTheBridgeIsRevoked() {
        var desk = watched()
        _ = desk.relay.revoke(token: RelayOptions().bridgeToken)
        #expect(desk.relay.bridgeStanding.state == .revoked)
    }

    @Test func plannedFaultsAreListedUntilTheyHaveStruck() {
        var desk = watched()
        desk.relay.plan(Fault(.replyLost, method: "sendMessage", count: 2))
        desk.relay.plan(SocketFault(.silent))
        _ = desk.asBridge("sendMessage", "{}")
        let text = data(.faults(desk.relay.faultReport))
        #expect(
            text == #"{"faults":[{"kind":"reply_lost","method":"sendMessage","left":1},{"kind":"silent","left":1}]}"#)
    }

    @Test func aMixIsToldWithWhatIsPlannedUntilItIsForgotten() throws {
        var desk = watched()
        desk.relay.mixFaults(FaultMix(seed: 7, rate: 0.05, kinds: FaultKind.all.filter { $0.name == "500" }))
        #expect(data(.faults(desk.relay.faultReport)) == #"{"faults":[],"mix":{"seed":7,"rate":0.05,"kinds":["500"]}}"#)
        desk.relay.forgetFaults()
        #expect(desk.relay.faultReport.isEmpty)
    }
}
