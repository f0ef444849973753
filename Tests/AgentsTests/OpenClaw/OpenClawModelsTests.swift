import AgentKit
import OpenClaw
import Testing
import Vocabulary
import Worlds

@Suite("Models and schedules on an OpenClaw link")
struct OpenClawModelsTests {
    private typealias Talk = OpenClawConversation

    private static func live() -> OpenClawConversation {
        let talk = Talk()
        talk.goLive()
        talk.clear()
        return talk
    }

    private static func refusal(_ code: String, _ message: String) -> String {
        #"{"code":"\#(code)","message":"\#(message)"}"#
    }

    // MARK: Models

    @Test("the model is set before the message leaves, and not again for the next one that names it")
    func set() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        #expect(talk.methods == ["sessions.patch"])
        #expect(talk.sent.last?.params == #"{"key":"agent:main:phone-1","model":"acme/big"}"#)
        talk.clear()
        talk.answer("sessions.patch", #"{"ok":true,"key":"agent:main:phone-1","entry":{}}"#)
        #expect(talk.methods == ["sessions.messages.subscribe", "chat.send"])
        #expect(talk.observations == [.modelAnswered(RunID("r1"), .named("acme/big"), .set(before: nil))])
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.chat("final", "Done.")
        talk.clear()
        talk.send("r2", choice: .named("acme/big"))
        #expect(talk.methods == ["chat.send"])
    }

    @Test("the agent's own model is a null, and a message without a choice changes nothing")
    func own() {
        let talk = Self.live()
        talk.send("r1", choice: .own(nil))
        #expect(talk.sent.last?.params == #"{"key":"agent:main:phone-1","model":null}"#)
        talk.answer("sessions.patch", #"{"ok":true}"#)
        talk.clear()
        talk.send("r2", choice: .own(nil))
        talk.send("r3", choice: .unchanged)
        #expect(talk.methods == ["chat.send", "chat.send"])
    }

    @Test("a refused model holds up no message, and the reason is passed on")
    func refused() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/none"))
        talk.answer("sessions.patch", nil, error: Self.refusal("INVALID_REQUEST", "model not allowed"))
        let refused = ModelAnswer.refused(message: "model not allowed")
        #expect(talk.observations == [.modelAnswered(RunID("r1"), .named("acme/none"), refused)])
        #expect(talk.methods.last == "chat.send")
        talk.clear()
        talk.send("r2", choice: .named("acme/none"))
        #expect(talk.methods == ["sessions.patch"], "it was not set, so it is asked for again")
    }

    @Test("a missing scope says what a person can do", arguments: [GatewayEra.e1, .e3])
    func scope(era: GatewayEra) {
        let talk = Talk(era: era)
        talk.goLive()
        talk.clear()
        talk.send("r1", choice: .named("acme/big"))
        talk.answer("sessions.patch", nil, error: Self.refusal("INVALID_REQUEST", "missing scope: operator.admin"))
        guard case .modelAnswered(_, _, .refused(let reason))? = talk.observations.first else {
            Issue.record("no answer")
            return
        }
        #expect(reason.contains("operator.admin") && reason.contains("openclaw devices approve"))
        #expect(talk.methods.last == "chat.send")
    }

    @Test("without an answer in time the message goes on")
    func late() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.clear()
        talk.pass(16)
        #expect(talk.methods.contains("chat.send"))
        #expect(
            talk.observations.first
                == .modelAnswered(
                    RunID("r1"), .named("acme/big"), .unsettled(message: "the gateway did not answer in time")))
    }

    @Test("over a loss it is set again before the message, in this order")
    func loss() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        let patches = talk.allSent.filter { $0.method == "sessions.patch" }
        #expect(patches.count == 2)
        #expect(!talk.allSent.contains { $0.method == "chat.send" })
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(talk.allSent.last?.method == "chat.send")
    }

    @Test("a message that leaves again under another key has its model set again over a loss")
    func leavesAgain() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        talk.answer("chat.send", #"{"runId":"r1","status":"started"}"#)
        talk.lifecycle("r1", #""phase":"error","error":"Gateway is draining; new tasks are not accepted""#)
        talk.chat("final", "Gateway is restarting. Please wait a few seconds and try again.")
        #expect(talk.observations.last == .sendAnswered(asked: RunID("r1"), .leavesAgain(as: RunID("r1.again"))))
        talk.close(1006)
        talk.pass(2)
        talk.goLive()
        #expect(talk.allSent.filter { $0.method == "sessions.patch" }.count == 2)
    }

    @Test("of another process's message that may have left, the model comes first again")
    func adopted() {
        let talk = Talk()
        talk.adopt(secondsAgo: 5, .handedOver, model: .named("acme/big"))
        talk.goLive()
        #expect(talk.allSent.contains { $0.method == "sessions.patch" })
        #expect(!talk.allSent.contains { $0.method == "chat.send" })
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(talk.allSent.last?.method == "chat.send")
    }

    @Test("a message that is stopped meanwhile never leaves, and the next one does not trust what was set")
    func stopped() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(!talk.methods.contains("chat.send"))
        talk.clear()
        talk.send("r2", choice: .named("acme/big"))
        #expect(talk.methods == ["sessions.patch"])
    }

    @Test("a message that is stopped while its model is set again after a loss does not leave again")
    func stoppedAfterLoss() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(talk.methods.contains("chat.send"))
        talk.close(1006)
        talk.pass(5)
        talk.clear()
        talk.goLive()
        #expect(talk.methods.contains("sessions.patch") && !talk.methods.contains("chat.send"))
        talk.command(.abort(session: Talk.session, run: RunID("r1")))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        #expect(!talk.methods.contains("chat.send"))
        #expect(talk.methods.last == "chat.history", "what left before may have arrived")
    }

    @Test("a model that somebody else changed is set again, and our own change is none")
    func changedElsewhere() {
        let talk = Self.live()
        talk.send("r1", choice: .named("acme/big"))
        talk.answer("sessions.patch", #"{"ok":true}"#)
        func says(_ model: String) {
            talk.event(
                "sessions.changed",
                #"{"sessionKey":"\#(Talk.key)","reason":"patch","model":"\#(model)","modelProvider":"acme","ts":1}"#)
        }
        says("big")
        talk.clear()
        talk.send("r2", choice: .named("acme/big"))
        #expect(talk.methods == ["chat.send"])
        says("small")
        talk.clear()
        talk.send("r3", choice: .named("acme/big"))
        #expect(talk.methods == ["sessions.patch"])
    }

    // MARK: Lists

    @Test("the list of models keeps what the phone shows, and leaves out what has no usable name")
    func list() {
        let talk = Self.live()
        talk.query(.models)
        #expect(talk.sent.last?.method == "models.list")
        let long = String(repeating: "x", count: 10_000)
        talk.answer(
            "models.list",
            #"{"models":[{"id":"big","name":"Big","provider":"acme","alias":"b","contextWindow":200000,"reasoning":true,"input":["text","image"]},{"id":"\#(long)"},{"name":"?"},7]}"#
        )
        var model = AgentModel(id: "big", name: "Big", provider: "acme")
        (model.alias, model.contextWindow, model.reasoning, model.input) = ("b", 200_000, true, ["text", "image"])
        #expect(talk.replies == [.models([model])])
    }

    @Test("what cannot be had is said: no list, a refusal, no link, a lost link")
    func noList() {
        let away = Talk()
        away.query(.models)
        #expect(away.replies == [.refused(message: "the gateway cannot be reached at the moment")])
        let talk = Self.live()
        talk.query(.models)
        talk.answer("models.list", #"{"models":7}"#)
        talk.query(.models)
        talk.answer("models.list", nil, error: Self.refusal("UNAVAILABLE", "later"))
        talk.query(.models)
        talk.close(1006)
        #expect(
            talk.replies == [
                .refused(message: "the gateway sent no list"), .refused(message: "later"),
                .refused(message: "the connection to the gateway was lost"),
            ])
    }

    // MARK: Schedules

    private static let job =
        #"{"name":"Backup","schedule":{"kind":"cron","expr":"0 7 * * *"},"sessionTarget":"isolated","wakeMode":"now","payload":{"kind":"agentTurn","message":"Back up."}}"#

    @Test(
        "each verb goes to the gateway as it is, and its answer comes back",
        arguments: [
            ("list", #"{"includeDisabled":true}"#), ("status", "{}"), ("add", job), ("remove", #"{"id":"j1"}"#),
            ("update", #"{"jobId":"j1","patch":{"enabled":false}}"#), ("run", #"{"id":"j1","mode":"force"}"#),
            ("runs", #"{"id":"j1","limit":5}"#),
            (
                "add",
                job.replacing(#""wakeMode""#, with: #""delivery":{"mode":" Announce","channel":"last"},"wakeMode""#)
            ),
            ("update", #"{"id":"j1","patch":{"delivery":{"mode":"none"}}}"#),
            ("update", #"{"id":"j1","patch":{"delivery":{"mode":"announce","to":"-1001234:topic:1"}}}"#),
        ])
    func schedule(verb: String, parameters: String) {
        let talk = Self.live()
        talk.query(.schedule(verb: verb, parameters: JSONText(unchecked: parameters)))
        #expect(talk.sent.last?.method == "cron.\(verb)")
        #expect(talk.sent.last?.params == parameters)
        talk.answer("cron.\(verb)", #"{"jobs":[{"id":"j1"}]}"#)
        #expect(talk.replies == [.document(JSONText(unchecked: #"{"jobs":[{"id":"j1"}]}"#))])
    }

    @Test(
        "parameters of the wrong shape never reach the gateway, and the answer names the member",
        arguments: [
            ("list", #"{"limit":"all"}"#, "limit must be a whole number from 1 to 200"),
            ("list", #"{"limit":201}"#, "limit must be a whole number from 1 to 200"),
            ("add", "{}", "name must be a text"),
            (
                "add", job.replacing(#""kind":"cron","#, with: #""kind":"hourly","#),
                "schedule.kind must be at, every, cron"
            ),
            ("add", job.replacing("0 7 * * *", with: ""), "schedule.expr must be a text"),
            ("add", job.replacing("Back up.", with: ""), "payload.message must be a text"),
            (
                "add", job.replacing("isolated", with: "everywhere"),
                "sessionTarget must be main, isolated, current or session:<name>"
            ),
            ("remove", "{}", "id must be a text: which routine is meant?"),
            ("remove", #"{"id":7}"#, "id must be a text: which routine is meant?"),
            ("update", #"{"id":"j1"}"#, "patch must be an object"),
            ("update", #"{"id":"j1","patch":{"enabled":"no"}}"#, "patch.enabled must be true or false"),
            (
                "update", #"{"id":"j1","patch":{"schedule":{"kind":"every","everyMs":0}}}"#,
                "patch.schedule.everyMs must be a whole number from 1"
            ),
            ("run", #"{"id":"j1","mode":"soon"}"#, "mode must be due, force"),
        ])
    func shapes(verb: String, parameters: String, words: String) {
        let talk = Self.live()
        talk.query(.schedule(verb: verb, parameters: JSONText(unchecked: parameters)))
        #expect(talk.sent == [])
        #expect(talk.replies == [.refused(message: words)])
    }

    @Test(
        "what would run without approval, or post elsewhere, never reaches the gateway",
        arguments: [
            (
                "add",
                job.replacing(#"{"kind":"agentTurn","message":"Back up."}"#, with: #"{"kind":"command","argv":["sh"]}"#)
            ),
            ("add", job.replacing(#"{"kind":"cron","expr":"0 7 * * *"}"#, with: #"{"kind":"on-exit","pid":1}"#)),
            ("add", job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"webhook","to":"https://x"},"wakeMode""#)),
            (
                "add",
                job.replacing(#""wakeMode""#, with: #""failureAlert":{"mode":"webhook","to":"https://x"},"wakeMode""#)
            ),
            ("add", job.replacing(#"{"kind":"agentTurn""#, with: #"{"kind":"agentTurn","kind":"command""#)),
            ("add", job.replacing(#""message""#, with: #""onExit":{"argv":["sh"]},"message""#)),
            ("add", job.replacing(#""message""#, with: #""k\u0069nd":"command","message""#)),
            (
                "add",
                job.replacing(#""wakeMode""#, with: #""delivery":{"mode":" Webhook","to":"https://x"},"wakeMode""#)
            ),
            ("add", job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"WEBHOOK\t"},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"webhoo\u212a"},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"post"},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""delivery":{"mode":["webhook"]},"wakeMode""#)),
            (
                "add",
                job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"announce","to":" HTTPS://x"},"wakeMode""#)
            ),
            (
                "add",
                job.replacing(#""wakeMode""#, with: #""delivery":{"mode":"announce","to":{"url":"x"}},"wakeMode""#)
            ),
            ("add", job.replacing(#""wakeMode""#, with: #""deliver":{"a":[{"mode":"Webhook "}]},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""x":{"kind":"\ufeffCommand"},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""data":{"payload":{"kind":"agentTurn"}},"wakeMode""#)),
            ("add", job.replacing(#""wakeMode""#, with: #""job":{"name":"x"},"wakeMode""#)),
            ("update", #"{"id":"j1","patch":{"job":{"payload":{"kind":"agentTurn","message":"x"}}}}"#),
            ("update", #"{"id":"j1","patch":{"delivery":{"mode":"Webhook"}}}"#),
            ("update", #"{"id":"j1","patch":{"payload":{"kind":"command"}}}"#),
            ("update", #"{"id":"j1","patch":{"delivery":{"mode":"webhook"}}}"#),
            ("update", #"{"id":"j1","patch":{},"patch":{"payload":{"kind":"command"}}}"#),
        ])
    func reach(verb: String, parameters: String) {
        let talk = Self.live()
        talk.query(.schedule(verb: verb, parameters: JSONText(unchecked: parameters)))
        #expect(talk.sent == [])
        #expect(talk.replies.count == 1)
    }

    @Test("what the gateway refuses comes back in its words, or in those that name the missing scope")
    func refusals() {
        let talk = Self.live()
        talk.query(.schedule(verb: "remove", parameters: JSONText(unchecked: #"{"id":"j1"}"#)))
        talk.answer("cron.remove", nil, error: Self.refusal("INVALID_REQUEST", "no such job"))
        talk.query(.schedule(verb: "remove", parameters: JSONText(unchecked: #"{"id":"j1"}"#)))
        talk.answer("cron.remove", nil, error: Self.refusal("INVALID_REQUEST", "missing scope: operator.admin"))
        #expect(talk.replies.first == .refusedInItsWords("no such job"))
        guard case .refused(let words)? = talk.replies.last else { return }
        #expect(words.contains("did not grant operator.admin"))
    }

    // MARK: The end of a chat

    @Test("a chat that has ended is followed no more; the session stays")
    func release() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.chat("final", "Done.")
        talk.clear()
        talk.command(.release(session: Talk.session, isDeleted: true))
        #expect(talk.methods == ["sessions.messages.unsubscribe"])
        talk.command(.release(session: Talk.session, isDeleted: true))
        #expect(talk.methods.count == 1)
    }

    @Test("a chat that ends while its run goes on is left when that has ended, unless it is written in again")
    func releasedLater() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.clear()
        talk.command(.release(session: Talk.session, isDeleted: false))
        #expect(talk.methods == [])
        talk.chat("final", "Done.")
        #expect(talk.methods == ["sessions.messages.unsubscribe"])
        let other = Talk()
        other.goLiveWithRun()
        other.command(.release(session: Talk.session, isDeleted: false))
        other.send("r2")
        other.clear()
        other.chat("final", "Done.")
        #expect(other.methods == [])
    }

    // MARK: Usage

    @Test("what a run cost comes from the frame or from its message, with the model that its session's row names")
    func usage() {
        let talk = Talk()
        talk.goLiveWithRun()
        talk.event(
            "sessions.changed",
            #"{"sessionKey":"\#(Talk.key)","reason":"patch","model":"big","modelProvider":"acme","ts":1}"#)
        talk.event(
            "chat",
            #"{"runId":"r1","sessionKey":"\#(Talk.key)","seq":9,"state":"final","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"max_tokens","usage":{"input":12,"output":3,"cost":{"total":0.5}}}}"#
        )
        let ends = talk.observations.compactMap { observation -> RunEnd? in
            guard case .signal(let signal) = observation, case .finished(let end) = signal.event else { return nil }
            return end
        }
        let usage = Usage(inputTokens: 12, outputTokens: 3, estimatedCostUSD: 0.5, model: "big", provider: "acme")
        #expect(ends.map(\.usage) == [usage])
        #expect(ends.map(\.reason) == [.length])
    }
}
