import AgentKit
import Pi
import Testing
import Vocabulary

@Suite("Models of pi, and the end of its chats")
struct PiModelsTests {
    private static let big = ModelChoice.named("acme/big/2")

    private static func model(_ id: Int, _ outcome: String) -> String {
        #"{"id":"sb-\#(id)","type":"response","command":"set_model",\#(outcome)}"#
    }

    private static func isSet(_ id: Int, _ name: String = "big/2") -> String {
        model(id, #""success":true,"data":{"provider":"acme","id":"\#(name)"}"#)
    }

    private static let set = #"1 > {"type":"set_model","id":"sb-3","provider":"acme","modelId":"big/2"}"#

    // MARK: Before the prompt

    @Test("the model is set before the prompt is written, and not again for the next one that names it")
    func order() {
        var pi = PiConversation.ready()
        #expect(pi.sends("r1", "one", choice: Self.big) == [Self.set])
        #expect(
            pi.says(Self.isSet(3)) == [
                #"r1 has named("acme/big/2"), before -"#,
                #"1 > {"type":"prompt","id":"sb-4","message":"one","streamingBehavior":"followUp"}"#,
            ])
        _ = pi.says(PiSays.accepted(4))
        _ = pi.says(PiSays.started)
        _ = pi.says(PiSays.ended)
        _ = pi.waits(250)
        let lines = pi.sends("r2", "two", choice: Self.big)
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
    }

    @Test("what the process had before is told, so that a message without a choice can lead back")
    func before() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one", choice: Self.big)
        _ = pi.spawns()
        let state = #""sessionFile":"/s/1","model":{"provider":"acme","id":"small"}"#
        _ = pi.says(PiSays.state(1, state))
        #expect(pi.keeps() == [Self.set.replacing("sb-3", with: "sb-2")])
        #expect(pi.says(Self.isSet(2)).first == #"r1 has named("acme/big/2"), before acme/small"#)
    }

    @Test("a process that has the model already is not asked")
    func hasIt() {
        var pi = PiConversation()
        _ = pi.sends("r1", "one", choice: Self.big)
        _ = pi.spawns()
        _ = pi.says(PiSays.state(1, #""sessionFile":"/s/1","model":{"provider":"acme","id":"big/2"}"#))
        #expect(pi.keeps().last?.contains(#""type":"prompt""#) == true)
    }

    @Test("a refusal holds up no prompt", arguments: [true, false])
    func refused(withID: Bool) {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one", choice: Self.big)
        let answer =
            withID
            ? Self.model(3, #""success":false,"error":"no such model""#)
            : #"{"type":"response","command":"parse","success":false,"error":"no such model"}"#
        let lines = pi.says(answer)
        #expect(lines.first == #"r1 lacks named("acme/big/2") "no such model""#)
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
    }

    @Test("an answer that does not come holds it up for half a minute")
    func unanswered() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one", choice: Self.big)
        let lines = pi.waits(30_000)
        #expect(lines.first == #"r1 lacks named("acme/big/2") "pi did not answer""#)
        #expect(lines.last?.contains(#""type":"prompt""#) == true)
    }

    @Test(
        "what pi cannot be asked is refused by the bridge",
        arguments: [
            (ModelChoice.named("big"), "pi names its models as provider/model"),
            (.named("/big"), "pi names its models as provider/model"),
            (.own(nil), "pi does not say which model was its own"),
        ])
    func impossible(choice: ModelChoice, words: String) {
        var pi = PiConversation.ready()
        let lines = pi.sends("r1", "one", choice: choice)
        #expect(lines.count == 2 && lines[0].hasSuffix("\"\(words)\""), "\(lines)")
    }

    @Test("a process that dies over a model is asked once more in the next, then the prompt goes without")
    func deaths() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one", choice: Self.big)
        #expect(pi.exits().contains("start 2 --session /s/1"))
        _ = pi.spawns(2)
        #expect(pi.says(PiSays.state(4, #""sessionFile":"/s/1""#), 2).last?.contains("set_model") == true)
        let lines = pi.exits(1, words: "", 2)
        #expect(lines.contains(#"r1 lacks named("acme/big/2") "pi ended when it was asked for it""#), "\(lines)")
        _ = pi.spawns(3)
        #expect(pi.says(PiSays.state(6, #""sessionFile":"/s/1""#), 3).last?.contains(#""type":"prompt""#) == true)
    }

    @Test("a prompt that is stopped while its model is set is not written")
    func stopped() {
        var pi = PiConversation.ready()
        _ = pi.sends("r1", "one", choice: Self.big)
        #expect(pi.aborts("r1") == ["stop of r1 answered"])
        #expect(pi.says(Self.isSet(3)) == [#"r1 has named("acme/big/2"), before -"#])
    }

    // MARK: The list

    private static let models =
        #"{"id":"sb-models","type":"response","command":"get_available_models","success":true,"data":{"models":[{"id":"big/2","name":"Big","provider":"acme","contextWindow":9,"reasoning":true,"input":["text"]},{"id":"x"}]}}"#

    private static var list: String {
        var model = AgentModel(id: "acme/big/2", name: "Big", provider: "acme")
        (model.contextWindow, model.reasoning, model.input) = (9, true, ["text"])
        return "\(AgentReply.models([model]))"
    }

    @Test("where none runs, one is started without a session, asked, and ended")
    func list() {
        var pi = PiConversation()
        #expect(pi.asks(.models) == ["start 1 --no-session"])
        #expect(pi.asks(.models) == [])
        #expect(pi.spawns() == [#"1 > {"type":"get_available_models","id":"sb-models"}"#])
        #expect(pi.says(Self.models) == [Self.list, Self.list, "kill 1"])
        #expect(pi.exits() == [])
        #expect(pi.asks(.models) == ["start 2 --no-session"])
    }

    @Test("one that was started for the list ends with the bridge")
    func endsWithBridge() {
        var pi = PiConversation()
        _ = pi.asks(.models)
        _ = pi.spawns()
        #expect(pi.shutsDown() == ["kill 1"])
    }

    @Test("one that runs is asked")
    func running() {
        var pi = PiConversation.ready()
        #expect(pi.asks(.models) == [#"1 > {"type":"get_available_models","id":"sb-3"}"#])
        #expect(pi.says(Self.models.replacing("sb-models", with: "sb-3")) == [Self.list])
    }

    @Test("no list is an answer too: it ends, cannot start, has no place, says nothing")
    func noList() {
        var pi = PiConversation()
        _ = pi.asks(.models)
        #expect(pi.exits(1, words: "no key").first?.contains("no key") == true)
        _ = pi.asks(.models)
        #expect(pi.failsToStart("pi: no such program", 2).first?.contains("no such program") == true)
        _ = pi.asks(.models)
        _ = pi.spawns(3)
        let late = pi.waits(20_000)
        #expect(late.count == 2 && late[0].contains("did not answer") && late[1] == "kill 3")
    }

    @Test("pi has no routines, and says so")
    func schedules() {
        var pi = PiConversation()
        let lines = pi.asks(.schedule(verb: "list", parameters: JSONText(unchecked: "{}")))
        #expect(lines.count == 1 && lines[0].contains("pi has no routines of its own"))
    }

    // MARK: The end of a chat

    @Test(
        "with its chat an idle process ends, and of a deleted one its session file is forgotten",
        arguments: [true, false])
    func release(isDeleted: Bool) {
        var pi = PiConversation.ready()
        #expect(pi.releases(isDeleted: isDeleted) == ["end 1"])
        #expect(pi.exits(0) == (isDeleted ? ["keep session:pi-ses_1=", "keep folder:pi-ses_1="] : []))
        #expect(pi.sends("r1", "again") == ["start 2 \(isDeleted ? "" : "--session /s/1")"])
    }

    @Test("a run that is being stopped ends first")
    func releaseWhileStopping() {
        var pi = PiConversation.going()
        _ = pi.aborts("r1")
        #expect(pi.releases(isDeleted: true) == [])
        _ = pi.says(PiSays.said("half", stop: "aborted"))
        _ = pi.says(PiSays.ended)
        #expect(pi.waits(250).last == "end 1")
    }

    @Test("a message of an archived chat that comes meanwhile keeps the process")
    func comesBack() {
        var pi = PiConversation.going()
        _ = pi.releases(isDeleted: false)
        _ = pi.sends("r2", "two")
        _ = pi.says(PiSays.said("Done."))
        _ = pi.says(PiSays.ended)
        #expect(pi.waits(250).last?.contains("two") == true)
    }
}
