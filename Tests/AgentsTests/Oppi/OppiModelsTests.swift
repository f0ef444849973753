import AgentKit
import Oppi
import Testing
import Vocabulary

@Suite("Models of Oppi, and the end of its chats")
struct OppiModelsTests {
    private static let big = ModelChoice.named("acme/big/2")

    /// The chat follows the session, and the prompt names a model.
    private static func asked(_ choice: ModelChoice = big, result: String = "rpc_result") -> (
        OppiConversation, [String]
    ) {
        var oppi = OppiConversation.live(result: result)
        _ = oppi.sends("r1", "Hi", choice: choice)
        _ = oppi.answers("POST /workspaces/w1/sessions", 201, #"{"session":{"id":"s1"}}"#)
        _ = oppi.keeps()
        let lines = oppi.follows(2)
        return (oppi, lines)
    }

    @Test("the model is set before the prompt is written", arguments: OppiMachineTests.dialects)
    func order(_ result: String) {
        var (oppi, lines) = Self.asked(result: result)
        #expect(lines.last == "2 > set_model s1 acme big/2")
        #expect(!lines.contains { $0.contains("> prompt") })
        let answer = oppi.replies("set_model")
        #expect(answer.first == #"r1 has named("acme/big/2"), before -"#)
        #expect(answer.last?.hasPrefix("2 > prompt s1") == true)
    }

    @Test("a session that has it already is not asked, and says what it had before")
    func known() {
        var (oppi, _) = Self.asked(.unchanged)
        _ = oppi.accepts()
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Hi""#)
        _ = oppi.says("state", #""session":{"id":"s1","status":"busy","model":"acme/small"}"#)
        _ = oppi.answers(text: "Hello.")
        _ = oppi.ends()
        _ = oppi.sends("r2", "Two", choice: Self.big)
        #expect(oppi.keeps().last == "2 > set_model s1 acme big/2")
        #expect(oppi.replies("set_model").first == #"r2 has named("acme/big/2"), before acme/small"#)
        _ = oppi.accepts("r2")
        _ = oppi.says("agent_start")
        _ = oppi.says("message_end", #""role":"user","content":"Two""#)
        _ = oppi.answers(text: "Good.")
        _ = oppi.ends()
        _ = oppi.state("ready")
        _ = oppi.sends("r3", "Three", choice: Self.big)
        #expect(oppi.keeps().last?.hasPrefix("2 > prompt s1") == true)
    }

    @Test("a refusal, and no answer, hold up no prompt", arguments: [true, false])
    func refused(isAnswered: Bool) {
        var (oppi, _) = Self.asked()
        let lines = isAnswered ? oppi.replies("set_model", error: "no such model") : oppi.waits(8_000)
        let said = isAnswered ? ("lacks", "no such model") : ("may lack", "Oppi did not answer")
        #expect(lines.first == #"r1 \#(said.0) named("acme/big/2") "\#(said.1)""#, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("2 > prompt s1") })
    }

    @Test("a name without its provider is refused by the bridge")
    func shape() {
        let (_, lines) = Self.asked(.named("big"))
        #expect(lines.contains { $0.contains("Oppi names its models as provider/model") })
        #expect(lines.last?.hasPrefix("2 > prompt s1") == true)
    }

    @Test("over a loss it is set again before the prompt; after three losses the prompt goes without")
    func losses() {
        var (oppi, _) = Self.asked()
        for channel in 3...5 {
            _ = oppi.happens(.closed(code: 1006, reason: ""), channel - 1)
            _ = oppi.waits(5_000)
            let lines = oppi.follows(channel)
            let wanted = channel < 5 ? "\(channel) > set_model" : "\(channel) > prompt"
            #expect(lines.last?.hasPrefix(wanted) == true, "\(lines)")
        }
    }

    @Test("the list names each model with its provider")
    func list() {
        var oppi = OppiConversation.live()
        #expect(oppi.asks(.models) == ["GET /models"])
        let lines = oppi.answers(
            "GET /models", 200,
            #"{"models":[{"id":"big","name":"Big","provider":"acme","contextWindow":9},{"id":"acme/small","name":"Small","provider":"acme"},{"name":"?"}]}"#
        )
        var big = AgentModel(id: "acme/big", name: "Big", provider: "acme")
        big.contextWindow = 9
        #expect(lines == ["\(AgentReply.models([big, AgentModel(id: "acme/small", name: "Small", provider: "acme")]))"])
        let schedules = oppi.asks(.schedule(verb: "list", parameters: JSONText(unchecked: "{}")))
        #expect(schedules.count == 1 && schedules[0].contains("Oppi has no routines of its own"))
    }

    @Test("with its chat the stream ends, and of a deleted one its place is forgotten", arguments: [true, false])
    func release(isDeleted: Bool) {
        var oppi = OppiConversation.running()
        _ = oppi.answers(text: "Hello.")
        _ = oppi.ends()
        let lines = oppi.releases(isDeleted: isDeleted)
        #expect(lines == ["close 2"] + (isDeleted ? ["keep session:oppi:ses_1="] : []), "\(lines)")
        let next = oppi.sends("r2", "Again")
        #expect(next.first?.hasPrefix(isDeleted ? "POST /workspaces/w1/sessions" : "keep session:") == true, "\(next)")
    }

    @Test("a run that is being stopped ends first")
    func releaseWhileStopping() {
        var oppi = OppiConversation.running()
        _ = oppi.aborts("r1")
        #expect(!oppi.releases(isDeleted: true).contains("close 2"))
        let lines = oppi.says("stop_confirmed", #""source":"user""#)
        #expect(lines.contains("close 2") && lines.last == "keep session:oppi:ses_1=", "\(lines)")
    }
}
