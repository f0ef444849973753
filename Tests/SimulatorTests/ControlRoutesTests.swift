import RelayRules
import Simulator
import Testing
import WireTesting

/// The routes by which a tester drives the simulator.
@Suite struct ControlRoutesTests {
    private static let faults = "/v1/simulator/faults"

    /// Plans a fault, and returns the next placeholder call's reply or the end of its connection.
    private func afterFault(_ order: String, on stage: Stage) throws -> Result<Wire.Reply, Wire.Failure> {
        #expect(try stage.user("POST", Self.faults, order).status == 200)
        let sent = stage.say("hello")
        do throws(Wire.Failure) {
            return .success(try call(stage.placeholder(sent, key: "k-open"), on: stage))
        } catch {
            return .failure(error)
        }
    }

    private func call(_ body: String, on stage: Stage) throws(Wire.Failure) -> Wire.Reply {
        do { return try stage.bridge("sendMessage", body) } catch let failure as Wire.Failure { throw failure } catch {
            throw .malformed("\(error)")
        }
    }

    private var agentMessages: (Stage) -> Int {
        { stage in stage.simulator.sessions.flatMap(\.messages).filter { $0.role == .agent }.count }
    }

    @Test(arguments: [
        ("429", 429, "rate_limited"), ("500", 500, "internal_error"), ("502", 502, "upstream_error"),
        ("503", 503, "temporarily_unavailable"), ("401", 401, "invalid_token"), ("410", 410, "interaction_expired"),
        ("retry_after_soon", 429, "rate_limited"), ("html", 200, "<html>"), ("redirect", 302, ""),
    ])
    func aFaultInsteadOfTheCallTakesNoEffect(kind: String, status: Int, mark: String) throws {
        let stage = try Stage()
        let reply = try afterFault(#"{"kind":"\#(kind)"}"#, on: stage).get()
        #expect(reply.status == status)
        #expect(mark.isEmpty || reply.text.contains(mark))
        #expect(agentMessages(stage) == 0)
        #expect(stage.simulator.breaches.isEmpty, "what was asked for is nobody's breach")
    }

    @Test func aResetTakesNoEffect() throws {
        let stage = try Stage()
        #expect(try afterFault(#"{"kind":"reset"}"#, on: stage) == .failure(.reset))
        #expect(agentMessages(stage) == 0)
    }

    @Test func aLostReplyHasTakenEffectAndTheSameKeyGetsItsAnswer() throws {
        let stage = try Stage()
        let sent = stage.say("hello")
        #expect(try stage.user("POST", Self.faults, #"{"kind":"reply_lost"}"#).status == 200)
        #expect(throws: Wire.Failure.reset) { try call(stage.placeholder(sent, key: "k-open"), on: stage) }
        #expect(agentMessages(stage) == 1)
        let again = try stage.bridge("sendMessage", stage.placeholder(sent, key: "k-open"))
        #expect(again.text.contains(#""idempotent":true"#))
        #expect(agentMessages(stage) == 1)
    }

    @Test func aTruncatedReplyIsHalfAndHasTakenEffect() throws {
        let stage = try Stage()
        let reply = try afterFault(#"{"kind":"truncated"}"#, on: stage).get()
        #expect(reply.status == 200)
        #expect(!reply.text.hasSuffix("}"))
        #expect(agentMessages(stage) == 1)
    }

    @Test func aHugeReplyIsTenMegabytes() throws {
        let stage = try Stage()
        #expect(try afterFault(#"{"kind":"huge"}"#, on: stage).get().body.count > 10_000_000)
    }

    @Test func aSlowReplyComesWhenItsTimeHasCome() throws {
        let stage = try Stage()
        #expect(try stage.user("POST", Self.faults, #"{"kind":"slow","milliseconds":3000}"#).status == 200)
        let sent = stage.say("hello")
        let wire = try stage.wire()
        try wire.request(
            "POST", "/v1/bridge/sendMessage", headers: [stage.bridgeHeader],
            body: Array(stage.placeholder(sent, key: "k-open").utf8))
        #expect(stage.clock.delayed.wait())
        #expect(try stage.wire().exchange("GET", "/healthz").status == 200, "nobody else waits")
        stage.clock.advance(milliseconds: 3_000)
        #expect(try wire.reply().status == 200)
    }

    @Test func aRateLimitTellsHowLong() throws {
        let stage = try Stage()
        let reply = try afterFault(#"{"kind":"429","retry_after_ms":2500}"#, on: stage).get()
        #expect(reply.headers["retry-after"] == "3")
        #expect(reply.text.contains(#""retry_after_ms":2500"#))
    }

    @Test func aFaultCountsAndChoosesItsMethod() throws {
        let stage = try Stage()
        let (_, bubble) = try stage.openTurn()
        let order = #"{"kind":"500","count":2,"method":"sendMessageDelta"}"#
        #expect(try stage.user("POST", Self.faults, order).status == 200)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "a", key: "k-d-1")).status == 500)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "a", key: "k-d-1")).status == 500)
        #expect(try stage.bridge("sendMessageDelta", stage.delta(bubble, "a", key: "k-d-1")).status == 200)
    }

    @Test func faultsCanBeForgotten() throws {
        let stage = try Stage()
        #expect(try stage.user("POST", Self.faults, #"{"kind":"500","count":9}"#).status == 200)
        #expect(try stage.user("DELETE", Self.faults).status == 200)
        _ = try stage.openTurn()
    }

    @Test(arguments: [
        "", "nonsense", "[]", "{}", #"{"kind":"418"}"#, #"{"kind":"429","count":0}"#,
        #"{"kind":"slow","milliseconds":-1}"#,
        #"{"kind":"429","retry_after_ms":-5}"#, #"{"kind":"500","count":"many"}"#,
    ])
    func aWrongOrderIsRefusedWithWhatIsExpected(order: String) throws {
        let stage = try Stage()
        let reply = try stage.user("POST", Self.faults, order)
        #expect(reply.status == 400)
        #expect(reply.text.contains("invalid_request"))
        #expect(reply.text.contains("expected") || reply.text.contains("reply_lost"))
    }

    @Test func theUsersTokenIsNeeded() throws {
        let stage = try Stage()
        #expect(try stage.wire().exchange("GET", "/v1/simulator/state").status == 401)
        #expect(try stage.wire().exchange("GET", "/v1/simulator/state", headers: [stage.bridgeHeader]).status == 401)
    }

    @Test func anUnknownRouteNamesThoseThereAre() throws {
        let stage = try Stage()
        let reply = try stage.user("GET", "/v1/simulator/nothing")
        #expect(reply.status == 404)
        #expect(reply.text.contains("POST /v1/simulator/faults"))
    }

    @Test func aForeignBridgeCanBeTestedWithoutAPhone() throws {
        let stage = try Stage()
        let first = try stage.user("POST", "/v1/simulator/sessions", #"{"text":"hello"}"#)
        #expect(first.status == 200)
        let session = try value(of: "session_id", in: first.text)
        let second = try stage.user(
            "POST", "/v1/simulator/sessions", #"{"text":"again","session_id":"\#(session)"}"#)
        #expect(try value(of: "session_id", in: second.text) == session)
        #expect(try value(of: "interaction_id", in: second.text) != value(of: "interaction_id", in: first.text))
        #expect(try stage.user("POST", "/v1/simulator/sessions", #"{"text":""}"#).status == 400)
        #expect(stage.simulator.sessions.count == 2, "the stage's own, and this one")
    }

    @Test func nobodyWritesIntoAChatThatIsUnknownOrDeleted() throws {
        let stage = try Stage()
        let path = "/v1/simulator/sessions"
        let unknown = try stage.user("POST", path, #"{"text":"hello","session_id":"ses_none"}"#)
        #expect(unknown.status == 404)
        #expect(unknown.text.contains(#""code":"session_not_found""#))
        #expect(try stage.user("DELETE", "/v1/me/sessions/\(stage.session)").status == 200)
        let deleted = try stage.user("POST", path, #"{"text":"hello","session_id":"\#(stage.session)"}"#)
        #expect(deleted.status == 410)
        #expect(deleted.text.contains(#""code":"session_deleted""#))
        #expect(stage.simulator.sessions.map(\.messages.count) == [1], "good morning")
    }

    @Test func breachesAndStateCanBeRead() throws {
        let stage = try Stage()
        let (sent, bubble) = try stage.openTurn()
        _ = try stage.bridge("sendMessageEnd", stage.end(bubble, "Hello"))
        _ = try stage.bridge("sendMessageDelta", stage.delta(bubble, "late", key: "k-d-9"))
        let breaches = try stage.user("GET", "/v1/simulator/breaches").text
        #expect(breaches.contains(#""code":"messageFinalized""#))
        #expect(breaches.contains(#""method":"sendMessageDelta""#))
        let state = try stage.user("GET", "/v1/simulator/state").text
        #expect(state.contains(sent.session))
        #expect(state.contains(#""msg":28"#), "two tokens of thirty are taken")
        #expect(state.contains(#""sendMessageEnd":1"#))
    }
}
