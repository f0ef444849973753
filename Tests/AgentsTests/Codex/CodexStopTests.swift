import AgentKit
import Testing
import Vocabulary

@Suite("A Stop at Codex, with sub-agents")
struct CodexStopTests {
    private static let activity =
        #"{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}"#
    private static func interrupted(_ thread: String, _ turn: String) -> String {
        #"{"method":"turn/completed","params":{"threadId":"\#(thread)","turn":{"id":"\#(turn)","status":"interrupted","items":[]}}}"#
    }
    private static func isInterrupt(_ line: String, of thread: String) -> Bool {
        line.contains(#""method":"turn/interrupt","params":{"threadId":"\#(thread)""#)
    }

    /// A sub-agent works in thread `C`, turn `V`, at command `c1`.
    private static func withChild() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":\#(activity)}}"#)
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"C","turnId":"V","item":{"type":"commandExecution","id":"c1","command":"make deploy","status":"inProgress"}}}"#
        )
        return codex
    }

    @Test("ends the command that the sub-agent runs")
    func command() {
        var codex = Self.withChild()
        let said = codex.aborts("r1")
        #expect(said.contains { Self.isInterrupt($0, of: "T") } && said.contains { Self.isInterrupt($0, of: "C") })
        _ = codex.says(Self.interrupted("C", "V"))
        let asked = codex.says(Self.interrupted("T", "U"))
        #expect(asked.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
        // The request to the parent's thread comes first. The sub-agent's turn has ended.
        _ = codex.says(#"{"id":7,"result":{"data":[]}}"#)
        _ = codex.says(#"{"id":8,"result":{"data":[{"id":"V","status":"interrupted","items":[]}]}}"#)
        let ended = codex.says(#"{"id":9,"result":{"data":[{"itemId":"c1","processId":"9"}]}}"#)
        #expect(
            ended.contains {
                $0.contains("backgroundTerminals/terminate") && $0.contains(#""threadId":"C","processId":"9""#)
            })
    }

    @Test("behind a lost link it finds the sub-agent's turn and ends it")
    func missedBeginning() {
        var codex = CodexConversation.going()
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        let found = codex.says(
            #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[\#(Self.activity)]}]}}"#)
        #expect(found.contains { $0.contains("thread/resume") && $0.contains(#""threadId":"C""#) })
        let listed = codex.says(#"{"id":5,"result":{"thread":{"id":"C","status":{"type":"active"}}}}"#)
        #expect(listed.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
        _ = codex.says(#"{"id":6,"result":{"data":[{"id":"V","status":"inProgress","items":[]}]}}"#)
        #expect(codex.aborts("r1").contains { Self.isInterrupt($0, of: "C") })
    }

    @Test("that is ignored leaves no approval open, nor one that is asked later")
    func ignored() {
        func ask(_ number: Int) -> String {
            let params = #"{"threadId":"T","turnId":"U","itemId":"c\#(number)","command":"rm -r x"}"#
            return #"{"id":\#(number),"method":"item/commandExecution/requestApproval","params":\#(params)}"#
        }
        var codex = CodexConversation.going()
        #expect(codex.says(ask(7)).contains { $0.contains("approval requested") })
        _ = codex.aborts("r1")
        let said = codex.waits(20_000)
        #expect(said.contains(#"send {"id":7,"result":{"decision":"cancel"}}"#) && said.contains("stop of r1 answered"))
        #expect(codex.says(ask(8)) == [#"send {"id":8,"result":{"decision":"cancel"}}"#])
    }

    @Test("what the turn of an ignored Stop says and does is no run of another client")
    func ignoredSpeaks() {
        func item(_ method: String, _ item: String) -> String {
            #"{"method":"item/\#(method)","params":{"threadId":"T","turnId":"U","item":\#(item)}}"#
        }
        var codex = CodexConversation.going()
        _ = codex.says(item("completed", #"{"type":"userMessage","id":"q","clientId":"r1"}"#))
        _ = codex.aborts("r1")
        _ = codex.waits(20_000)
        func command(_ status: String) -> String {
            #"{"type":"commandExecution","id":"c","command":"ls","status":"\#(status)"}"#
        }
        var said = codex.says(item("started", #"{"type":"agentMessage","id":"a"}"#))
        said += codex.says(
            #"{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"a","delta":"Still"}}"#
        )
        said += codex.says(item("completed", #"{"type":"agentMessage","id":"a","text":"Still here."}"#))
        said += codex.says(item("started", command("inProgress"))) + codex.says(item("completed", command("completed")))
        #expect(said.isEmpty, "\(said)")
        // The chat's next message waits for the turn's end.
        #expect(codex.sends("r2", "two").isEmpty)
        let ended = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed","items":[]}}}"#)
        #expect(ended.count == 1 && ended[0].contains("turn/start"), "\(ended)")
    }

    @Test("a turn that is found ended behind a Stop leaves neither its commands nor a sub-agent behind")
    func foundEnded() {
        var codex = Self.withChild()
        _ = codex.aborts("r1")
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        let said = codex.says(
            #"{"id":4,"result":{"data":[{"id":"U","status":"interrupted","completedAt":1,"items":[]}]}}"#)
        #expect(said.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
        // The request for the commands of the parent's thread comes first.
        let going = codex.says(#"{"id":6,"result":{"data":[{"id":"V","status":"inProgress","items":[]}]}}"#)
            .filter { !$0.hasPrefix("keep") }
        // The interrupt comes first, because the turn could begin other commands.
        #expect(
            going.count == 2 && Self.isInterrupt(going[0], of: "C") && going[1].contains("backgroundTerminals/list"))
    }

    @Test("waits for the answer to the prompt, whatever the list says meanwhile")
    func unanswered() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}},"model":"m"}}"#)
        _ = codex.isDone()
        var said = codex.aborts("r1")
        for number in 5...9 {
            said += codex.waits(5_000)
            said += codex.says(#"{"id":\#(number),"result":{"data":[],"nextCursor":null}}"#)
        }
        #expect(!said.contains { $0.contains("stop of r1 answered") || $0.contains("finished") })
        _ = codex.says(#"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#)
        #expect(codex.begins("U").contains { Self.isInterrupt($0, of: "T") })
        #expect(codex.says(Self.interrupted("T", "U")).contains("stop of r1 answered"))
    }

    /// After a restart: turn `U` of run `r1` runs command `c1`, its stop is owed, and message `r2` was handed over.
    private static let earlierTurn =
        #"{"data":[{"id":"U","status":"inProgress","items":[{"type":"userMessage","id":"q","clientId":"r1"},{"type":"commandExecution","id":"c1","command":"make","status":"inProgress"}]}],"nextCursor":null}"#

    private static func owed() -> (codex: CodexConversation, said: [String]) {
        let earlier = EarlierTurn(
            session: CodexConversation.chat, runs: [EarlierTurn.Run(RunID("r2"), text: "two", folder: "/work")],
            isAccepted: false, isStopping: false, receivedAt: .zero, decisions: [], detached: [])
        let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8))
        var codex = CodexConversation.up(facts: [place], turns: [earlier])
        _ = codex.aborts("r1")
        let thread = #"{"thread":{"id":"T","status":{"type":"active"}}}"#
        _ = codex.says(#"{"id":3,"result":\#(thread)}"#)
        _ = codex.says(#"{"id":4,"result":\#(thread)}"#)
        let said = codex.says(#"{"id":5,"result":\#(earlierTurn)}"#)
        return (codex, said)
    }

    @Test("of an earlier turn reaches it also where the chat's next message was handed over")
    func besideAnother() {
        var (codex, said) = Self.owed()
        #expect(said.contains { $0.contains(#""id":6"#) && Self.isInterrupt($0, of: "T") })
        #expect(said.contains { $0.contains("backgroundTerminals/list") })
        #expect(!said.contains("stop of r1 answered"))
        #expect(codex.says(#"{"id":6,"result":{}}"#).contains("stop of r1 answered"))
        let ended = codex.says(Self.interrupted("T", "U"))
        #expect(!ended.contains("stop of r1 answered"))
    }

    @Test("of an earlier turn that has no answer stays owed, and is sent again while the turn continues")
    func besideAnotherUnanswered() {
        var codex = Self.owed().codex
        // The machine looks for the other message again, which says nothing new about the stop.
        _ = codex.waits(1_500)
        let looked = codex.says(#"{"id":8,"result":\#(Self.earlierTurn)}"#)
        #expect(!looked.contains { Self.isInterrupt($0, of: "T") } && !looked.contains("stop of r1 answered"))
        #expect(codex.waits(2_000).contains { $0.contains("thread/turns/list") })
        let again = codex.says(#"{"id":9,"result":\#(Self.earlierTurn)}"#)
        #expect(again.contains { Self.isInterrupt($0, of: "T") } && !again.contains("stop of r1 answered"))
        #expect(codex.says(Self.interrupted("T", "U")).contains("stop of r1 answered"))
    }

    @Test("during a pause of reading has its own time behind it, and not the pause's too")
    func paused() {
        var codex = CodexConversation.going()
        codex.pauses()
        _ = codex.waits(600_000)
        _ = codex.aborts("r1")
        _ = codex.waits(1_000)
        codex.resumes()
        #expect(codex.waits(16_000).contains("stop of r1 answered"))
    }

    @Test("and an approval during a pause is watched as one behind it")
    func pausedApproval() {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"T","turnId":"U","itemId":"i","command":"rm x"}}"#
        )
        codex.pauses()
        _ = codex.waits(600_000)
        _ = codex.decides("U:i", .approve)
        codex.resumes()
        #expect(codex.waits(31_000).contains { $0.contains("thread/read") })
        #expect(codex.waits(11_000).contains("close 1"))
    }

    private static let place = Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/site"}"#.utf8))
    private static let foundEnded =
        #"{"id":4,"result":{"data":[{"id":"U","status":"interrupted","completedAt":1,"items":[{"type":"userMessage","clientId":"r1"},\#(activity)]}]}}"#

    /// Every command belongs to the turn, and only this bridge saw which those are.
    private static func endsCommands(_ codex: inout CodexConversation) {
        let asked = codex.says(foundEnded)
        #expect(asked.contains { $0.contains("thread/turns/list") && $0.contains(#""threadId":"C""#) })
        _ = codex.says(#"{"id":5,"result":{"data":[{"id":"V","status":"interrupted","items":[]}]}}"#)
        let ended = codex.says(#"{"id":6,"result":{"data":[{"itemId":"c1","processId":"9"}]}}"#)
        #expect(
            ended.contains {
                $0.contains("backgroundTerminals/terminate") && $0.contains(#""threadId":"C","processId":"9""#)
            })
    }

    @Test("one that an earlier bridge was stopping, and that is found ended, leaves no command of its sub-agent behind")
    func foundEndedByAnother() {
        let turn = EarlierTurn(
            session: CodexConversation.chat, runs: [EarlierTurn.Run(RunID("r1"), text: "one")], isAccepted: true,
            isStopping: true, receivedAt: .zero, decisions: [], detached: [])
        var codex = CodexConversation.up(facts: [Self.place], turns: [turn])
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        Self.endsCommands(&codex)
    }

    @Test("nor does one whose bubble was over when the bridge was started again")
    func owedAlone() {
        var codex = CodexConversation.up(facts: [Self.place])
        #expect(codex.aborts("r1").contains { $0.contains("thread/resume") })
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        Self.endsCommands(&codex)
    }

    @Test("commands of a sub-agent that an earlier turn had begun, and that are of that turn, continue")
    func ofAnEarlierTurn() {
        var codex = CodexConversation.going()
        let interacted = Self.activity.replacing("started", with: "interacted")
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":\#(interacted)}}"#)
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        let item = #"{"type":"commandExecution","id":"c2","command":"make","status":"inProgress"}"#
        _ = codex.says(#"{"method":"item/started","params":{"threadId":"C","turnId":"V","item":\#(item)}}"#)
        _ = codex.aborts("r1")
        _ = codex.says(Self.interrupted("T", "U"))
        let both = #"[{"itemId":"c1","processId":"8"},{"itemId":"c2","processId":"9"}]"#
        let ended = codex.says(#"{"id":8,"result":{"data":\#(both)}}"#)
        #expect(ended.count == 1 && ended[0].contains(#""threadId":"C","processId":"9""#))
    }

    @Test("an interrupt that has no answer is repeated as long as the Stop is waited for")
    func repeatsInterrupt() {
        var codex = CodexConversation.going()
        #expect(codex.aborts("r1").contains { Self.isInterrupt($0, of: "T") })
        let said = codex.waits(14_000)
        #expect(said.count { Self.isInterrupt($0, of: "T") } == 4, "\(said)")
        #expect(codex.says(Self.interrupted("T", "U")).contains("stop of r1 answered"))
        #expect(!codex.waits(20_000).contains { Self.isInterrupt($0, of: "T") })
    }
}
