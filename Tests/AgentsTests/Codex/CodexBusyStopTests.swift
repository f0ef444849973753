import AgentKit
import Testing
import Vocabulary

@Suite("A Stop at Codex while its server is too busy to take all of it")
struct CodexBusyStopTests {
    private static func busy(_ number: Int) -> String {
        #"{"id":\#(number),"error":{"code":-32001,"message":"Server overloaded; retry later."}}"#
    }
    private static func item(_ item: String, _ method: String = "item/completed", thread: String = "T") -> String {
        let turn = thread == "T" ? "U" : "V"
        return #"{"method":"\#(method)","params":{"threadId":"\#(thread)","turnId":"\#(turn)","item":\#(item)}}"#
    }
    private static func message(of label: String) -> String {
        #"{"type":"userMessage","id":"u-\#(label)","clientId":"\#(label)"}"#
    }
    private static func activity(_ kind: String) -> String {
        #"{"type":"subAgentActivity","id":"s-\#(kind)","kind":"\#(kind)","agentThreadId":"C","agentPath":"/apprentice"}"#
    }
    private static func ended(_ thread: String, _ turn: String, _ status: String = "interrupted") -> String {
        #"{"method":"turn/completed","params":{"threadId":"\#(thread)","turn":{"id":"\#(turn)","status":"\#(status)","items":[]}}}"#
    }
    private static func isInterrupt(_ line: String, of thread: String) -> Bool {
        line.contains(#""method":"turn/interrupt","params":{"threadId":"\#(thread)""#)
    }
    private static func isList(_ line: String, of thread: String) -> Bool {
        line.contains(#""method":"thread/turns/list","params":{"threadId":"\#(thread)""#)
    }
    private static func isTerminals(_ line: String, of thread: String) -> Bool {
        line.contains(#""method":"thread/backgroundTerminals/list","params":{"threadId":"\#(thread)""#)
    }
    private static func isTerminate(_ line: String) -> Bool {
        line.contains(#"backgroundTerminals/terminate","params":{"threadId":"T","processId":"9"}"#)
    }

    // MARK: The turn

    @Test("an interrupt that is refused for now is made again, and not at once")
    func interrupt() {
        var codex = CodexConversation.going()
        _ = codex.aborts("r1")
        #expect(codex.says(Self.busy(5)).isEmpty)
        #expect(codex.waits(500).isEmpty)
        #expect(codex.waits(700).contains { $0.contains(#""id":6"#) && Self.isInterrupt($0, of: "T") })
        #expect(codex.says(Self.busy(6)).isEmpty)
        #expect(codex.waits(1_100).contains { Self.isInterrupt($0, of: "T") })
        _ = codex.says(#"{"id":7,"result":{}}"#)
        #expect(codex.says(Self.ended("T", "U")).contains("stop of r1 answered"))
        #expect(codex.waits(20_000).isEmpty)
    }

    @Test("one that is refused for another reason is made again while the list has the turn")
    func refused() {
        var codex = CodexConversation.going()
        _ = codex.aborts("r1")
        let looked = codex.says(#"{"id":5,"error":{"code":-32603,"message":"failed to submit interrupt"}}"#)
        #expect(looked.contains { Self.isList($0, of: "T") })
        let items = Self.message(of: "r1")
        _ = codex.says(#"{"id":6,"result":{"data":[{"id":"U","status":"inProgress","items":[\#(items)]}]}}"#)
        #expect(codex.waits(1_100).contains { Self.isInterrupt($0, of: "T") })
    }

    @Test("one whose answer stays out while the thread is listed is made again behind the list")
    func whileListed() {
        var codex = CodexConversation.going()
        _ = codex.aborts("r1")
        #expect(codex.looksUp("r0").contains { Self.isList($0, of: "T") })
        #expect(codex.waits(4_000).isEmpty)
        let items = Self.message(of: "r1")
        _ = codex.says(#"{"id":6,"result":{"data":[{"id":"U","status":"inProgress","items":[\#(items)]}]}}"#)
        #expect(codex.waits(100).contains { Self.isInterrupt($0, of: "T") })
    }

    // MARK: Another process

    private static func restarted(_ left: String, at moment: Int = 0, turns: String = "") -> (
        CodexConversation, [String]
    ) {
        let facts = [
            Fact("thread:codex:ses_1", Array(#"{"thread":"T","folder":"/work"}"#.utf8)),
            Fact("stopped:codex:ses_1", Array(#"{"at":\#(moment),"left":[\#(left)]}"#.utf8)),
        ]
        var codex = CodexConversation.up(facts: facts)
        let status = turns.isEmpty ? "idle" : "active"
        var said = codex.beginning
        said += codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"\#(status)"}},"model":"m"}}"#)
        said += codex.says(#"{"id":4,"result":{"data":[\#(turns)]}}"#) + codex.waits(10)
        return (codex, said)
    }
    private static let ofTurn = #"{"thread":"T","calls":[{"call":"c1"}]}"#

    @Test("requests that were not carried out are made by the next process, and forgotten when they are")
    func restored() {
        var (codex, said) = Self.restarted("\(Self.ofTurn),{\"child\":\"C\"}")
        #expect(
            said.contains { Self.isTerminals($0, of: "T") } && said.contains { Self.isList($0, of: "C") }, "\(said)")
        func isEmpty(_ request: String?) -> [String] {
            codex.says(#"{"id":\#(Self.number(request) ?? 0),"result":{"data":[]}}"#)
        }
        let commands = said.last { Self.isTerminals($0, of: "T") }
        said += isEmpty(said.last { Self.isList($0, of: "C") }) + isEmpty(commands)
        #expect(isEmpty(said.last { Self.isTerminals($0, of: "C") }).contains("keep stopped:codex:ses_1 "), "\(said)")
    }

    @Test("what another client's newer turn may have given a sub-agent is left alone")
    func besideAnother() {
        let items = #"{"type":"userMessage","id":"u","clientId":null},\#(Self.activity("interacted"))"#
        let turn = #"{"id":"W","status":"inProgress","items":[\#(items)]}"#
        let (_, said) = Self.restarted(#"{"child":"C"},{"thread":"C"}"#, turns: turn)
        #expect(!said.contains { Self.isTerminals($0, of: "C") || Self.isList($0, of: "C") }, "\(said)")
        #expect(said.contains("keep stopped:codex:ses_1 "), "\(said)")
    }

    @Test("an old record is forgotten, and one that cannot be read", arguments: [(ofTurn, -3_600_001), ("7", 0)])
    func old(left: String, moment: Int) {
        let (_, said) = Self.restarted(left, at: moment)
        #expect(!said.contains { Self.isTerminals($0, of: "T") }, "\(said)")
        #expect(said.contains("keep stopped:codex:ses_1 "), "\(said)")
    }

    @Test("a sub-agent that the stopped turn only used is not the next process's")
    func used() {
        var codex = CodexConversation.going()
        _ = codex.says(Self.item(Self.activity("interacted"), "item/started"))
        _ = codex.aborts("r1")
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        let turn = #"{"id":"U","status":"interrupted","completedAt":1,"items":[]}"#
        let said = codex.says(#"{"id":4,"result":{"data":[\#(turn)]}}"#)
        #expect(
            said.contains { Self.isList($0, of: "C") } && !said.contains { $0.hasPrefix("keep stopped") }, "\(said)")
    }

    @Test("what is given up is forgotten too")
    func givenUp() {
        var codex = Self.commandIsLeft()
        _ = codex.says(Self.busy(6))
        _ = codex.rejoins()
        var said: [String] = []
        for id in 3...7 {
            let error = #"{"code":-32600,"message":"thread T already has an active writer"}"#
            said += codex.says(#"{"id":\#(id),"error":\#(error)}"#)
            for _ in 0..<20 where Self.number(said.last { $0.contains("thread/resume") }) ?? 3 == id {
                said += codex.waits(2_000)
            }
        }
        #expect(said.contains("keep stopped:codex:ses_1 "), "\(said)")
    }

    @Test("the number of a process is asked for again on another connection")
    func numberOfAnother() {
        var codex = Self.commandIsLeft()
        #expect(codex.says(Self.commands(6)).contains { Self.isTerminate($0) })
        _ = codex.rejoins()
        var said = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        said += codex.says(#"{"id":4,"result":{"data":[]}}"#) + codex.waits(10)
        #expect(said.contains { Self.isTerminals($0, of: "T") } && !said.contains { Self.isTerminate($0) }, "\(said)")
    }

    // MARK: Words in a turn that ignores its Stop

    /// Words of run `r2` are queued in turn `U`, whose Stop was ignored.
    private static func queued() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(item(message(of: "r1")))
        #expect(codex.sends("r2", "two", steers: true).contains { $0.contains("turn/steer") })
        _ = codex.says(#"{"id":5,"result":{"turnId":"U"}}"#)
        _ = codex.aborts("r1")
        #expect(codex.waits(16_000).contains("stop of r1 answered"))
        return codex
    }

    @Test("words that it takes all the same are no prompt behind it, and the rest of it answers them")
    func wordsTaken() {
        var codex = Self.queued()
        let taken = codex.says(Self.item(Self.message(of: "r2")))
        #expect(taken.contains("send r2 accepted as r2") && taken.contains { $0 == "r2 codex:ses_1 started" })
        let said = codex.says(Self.item(#"{"type":"agentMessage","id":"b","text":"Both."}"#))
        #expect(said.contains { $0.hasPrefix("r2 ") && $0.contains("Both.") })
        let end = codex.says(Self.ended("T", "U", "completed")) + codex.waits(5_000)
        #expect(end.contains { $0.hasPrefix("r2 ") && $0.contains("finished") })
        #expect(!end.contains { $0.contains("turn/start") }, "\(end)")
    }

    @Test("and so it is where they were taken while the link was lost")
    func wordsTakenMeanwhile() {
        var codex = Self.queued()
        var said = codex.rejoins()
        said += codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#)
        let items = [
            Self.message(of: "r1"), Self.message(of: "r2"), #"{"type":"agentMessage","id":"b","text":"Both."}"#,
        ]
        let turn = #"{"id":"U","status":"completed","completedAt":1,"items":[\#(items.joined(separator: ","))]}"#
        said += codex.says(#"{"id":4,"result":{"data":[\#(turn)]}}"#)
        #expect(said.contains("send r2 accepted as r2"))
        for words in ["Both.", "finished"] {
            #expect(said.contains { $0.hasPrefix("r2 ") && $0.contains(words) }, "\(said)")
        }
        #expect(!(said + codex.waits(5_000)).contains { $0.contains("turn/start") }, "\(said)")
    }

    @Test("words that it drops are the next prompt")
    func wordsDropped() {
        var codex = Self.queued()
        #expect(codex.says(Self.ended("T", "U")).contains { $0.contains("turn/start") && $0.contains("two") })
    }

    // MARK: Commands of the turn

    /// Command `c1` outlives turn `U`. Request 6 is for the list of commands.
    private static func commandIsLeft() -> CodexConversation {
        var codex = CodexConversation.going()
        let command = #"{"type":"commandExecution","id":"c1","command":"make","status":"inProgress"}"#
        _ = codex.says(item(command, "item/started"))
        _ = codex.aborts("r1")
        _ = codex.says(#"{"id":5,"result":{}}"#)
        let said = codex.says(ended("T", "U"))
        #expect(said.contains { $0.contains(#""id":6"#) && isTerminals($0, of: "T") })
        #expect(said.contains { $0.hasPrefix("keep stopped:codex:ses_1 ") && $0.contains(ofTurn) }, "\(said)")
        return codex
    }
    private static func commands(_ number: Int) -> String {
        #"{"id":\#(number),"result":{"data":[{"itemId":"c1","processId":"9"}]}}"#
    }

    @Test("the commands of a stopped turn are listed and ended again where that is refused for now")
    func commandsRefused() {
        var codex = Self.commandIsLeft()
        #expect(codex.says(Self.busy(6)).isEmpty)
        #expect(codex.waits(1_100).contains { $0.contains(#""id":7"#) && Self.isTerminals($0, of: "T") })
        #expect(codex.says(Self.commands(7)).contains { $0.contains(#""id":8"#) && Self.isTerminate($0) })
        #expect(codex.says(Self.busy(8)).isEmpty)
        #expect(codex.waits(1_100).contains { $0.contains(#""id":9"#) && Self.isTerminate($0) })
        _ = codex.says(#"{"id":9,"result":{}}"#)
        #expect(codex.waits(100_000).isEmpty)
    }

    @Test("where there is no answer they are listed a bounded number of times, ever later, and the thread is left")
    func commandsUnanswered() {
        var codex = Self.commandIsLeft()
        #expect(codex.waits(3_100).contains { Self.isTerminals($0, of: "T") })
        let said = codex.waits(200_000)
        #expect(said.count { Self.isTerminals($0, of: "T") } == 3 && said.count == 4, "\(said)")
        #expect(said.last == "keep stopped:codex:ses_1 ", "\(said)")
        #expect(codex.waits(301_000).contains { $0.contains("thread/unsubscribe") })
    }

    @Test("what says that there is nothing to be ended is not asked again")
    func commandsGone() {
        var codex = Self.commandIsLeft()
        _ = codex.says(#"{"id":6,"error":{"code":-32600,"message":"thread not found: T"}}"#)
        #expect(codex.waits(100_000).isEmpty)
    }

    @Test("a link that is lost before the answer leaves no command behind")
    func commandsOverCut() {
        var codex = Self.commandIsLeft()
        var said = codex.rejoins()
        #expect(said.contains { $0.contains("thread/resume") })
        said = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#) + codex.waits(100)
        #expect(said.contains { $0.contains(#""id":4"#) && Self.isTerminals($0, of: "T") })
        #expect(codex.says(Self.commands(4)).contains { Self.isTerminate($0) })
    }

    @Test("nor does a chat that is deleted meanwhile")
    func commandsOfDeleted() {
        var codex = Self.commandIsLeft()
        _ = codex.says(Self.busy(6))
        #expect(codex.releases(isDeleted: true).isEmpty)
        #expect(codex.waits(1_100).contains { Self.isTerminals($0, of: "T") })
        _ = codex.says(Self.commands(7))
        let said = codex.says(#"{"id":8,"result":{}}"#)
        #expect(said.contains("keep thread:codex:ses_1 ") && said.contains { $0.contains("thread/unsubscribe") })
    }

    // MARK: Sub-agents

    /// A sub-agent works in thread `C`, turn `V`. The Stop's interrupts are requests 5 and 6.
    private static func withChild() -> CodexConversation {
        var codex = CodexConversation.going()
        _ = codex.says(item(activity("started"), "item/started"))
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        #expect(codex.aborts("r1").contains { $0.contains(#""id":6"#) && isInterrupt($0, of: "C") })
        return codex
    }

    @Test("a chat rests although the end of a sub-agent was lost with the link", arguments: [true, false])
    func childOverCut(isThere: Bool) throws {
        var codex = Self.withChild()
        _ = codex.says(#"{"id":5,"result":{}}"#)
        _ = codex.says(Self.busy(6))
        _ = codex.says(Self.ended("T", "U"))
        _ = codex.rejoins()
        var said = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"idle"}}}}"#) + codex.waits(100)
        var id = try #require(Self.number(said.last { Self.isInterrupt($0, of: "C") }))
        said = codex.says(
            isThere
                ? #"{"id":\#(id),"result":{}}"#
                : #"{"id":\#(id),"error":{"code":-32600,"message":"thread not found: C"}}"#)
        id = try #require(Self.number(said.last { Self.isTerminals($0, of: "C") }))
        said = codex.says(#"{"id":\#(id),"result":{"data":[]}}"#) + codex.waits(900_000)
        #expect(said.contains { $0.contains("thread/unsubscribe") }, "\(said)")
    }

    private static func number(_ line: String?) -> Int? {
        line?.firstMatch(of: /"id":([0-9]+)/).flatMap { Int($0.1) }
    }

    @Test("a sub-agent's interrupt is made again, and what the sub-agent began meanwhile is ended")
    func child() {
        var codex = Self.withChild()
        _ = codex.says(#"{"id":5,"result":{}}"#)
        _ = codex.says(Self.busy(6))
        _ = codex.says(Self.ended("T", "U"))
        let again = codex.waits(1_100)
        #expect(again.contains { $0.contains(#""id":9"#) && Self.isInterrupt($0, of: "C") })
        #expect(codex.says(#"{"id":9,"result":{}}"#).contains { Self.isTerminals($0, of: "C") })
    }

    @Test("one that begins behind the Stop is interrupted when its parent's turn has ended, before its commands end")
    func childBehind() {
        var codex = CodexConversation.going()
        _ = codex.aborts("r1")
        _ = codex.says(Self.item(Self.activity("started"), "item/started"))
        _ = codex.says(#"{"method":"turn/started","params":{"threadId":"C","turn":{"id":"V"}}}"#)
        let ended = codex.says(Self.ended("T", "U"))
        let interrupt = ended.firstIndex { Self.isInterrupt($0, of: "C") && $0.contains(#""turnId":"V""#) }
        let commands = ended.firstIndex { Self.isTerminals($0, of: "C") }
        #expect((interrupt ?? .max) < (commands ?? .min), "\(ended)")
    }

    @Test("one that has ended meanwhile is not interrupted again, and what it began is ended")
    func childEnded() {
        var codex = Self.withChild()
        _ = codex.says(Self.busy(6))
        _ = codex.says(Self.ended("C", "V"))
        let said = codex.waits(1_100)
        #expect(!said.contains { Self.isInterrupt($0, of: "C") } && said.contains { Self.isTerminals($0, of: "C") })
    }

    @Test("one whose interrupt has no answer is interrupted again")
    func childUnanswered() {
        var codex = Self.withChild()
        _ = codex.says(#"{"id":5,"result":{}}"#)
        _ = codex.says(Self.ended("T", "U"))
        #expect(codex.waits(3_100).contains { Self.isInterrupt($0, of: "C") })
    }

    /// The sub-agent outlives its parent, and request 8 looks for its turn. The request before is for the parent's
    /// commands.
    private static func lookedFor() -> CodexConversation {
        var codex = withChild()
        _ = codex.says(#"{"id":5,"result":{}}"#)
        _ = codex.says(#"{"id":6,"result":{}}"#)
        _ = codex.says(ended("C", "V"))
        #expect(codex.says(ended("T", "U")).contains { $0.contains(#""id":8"#) && isList($0, of: "C") })
        _ = codex.says(#"{"id":7,"result":{"data":[]}}"#)
        _ = codex.says(busy(8))
        return codex
    }

    @Test("what a sub-agent does behind the end of its parent's turn is looked for again")
    func childListed() {
        var codex = Self.lookedFor()
        #expect(codex.waits(1_100).contains { $0.contains(#""id":9"#) && Self.isList($0, of: "C") })
        let going = codex.says(#"{"id":9,"result":{"data":[{"id":"V2","status":"inProgress","items":[]}]}}"#)
        #expect(going.contains { Self.isInterrupt($0, of: "C") } && going.contains { Self.isTerminals($0, of: "C") })
    }

    @Test("but not where a newer turn has given it work")
    func childOfNewerTurn() {
        var codex = Self.lookedFor()
        _ = codex.sends("r2", "two")
        _ = codex.says(#"{"id":9,"result":{"turn":{"id":"W","status":"inProgress"}}}"#)
        _ = codex.begins("W")
        _ = codex.says(Self.item(Self.activity("interacted"), "item/started").replacing(#""U""#, with: #""W""#))
        #expect(!codex.waits(100_000).contains { Self.isList($0, of: "C") })
    }
}
