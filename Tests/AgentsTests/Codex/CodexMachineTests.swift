import AgentKit
import Testing
import Vocabulary

@Suite("Codex's machine")
struct CodexMachineTests {
    private static let start = "start 2 outlives codex app-server --listen unix:///state/codex.sock --disable goals"

    @Test("a server is started where none answers, after what it is started with is written down")
    func starts() {
        var codex = CodexConversation()
        #expect(codex.beginning == ["run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0\n") == ["open 1 /state/codex.sock"])
        #expect(codex.fails() == ["keep server 0.163.0 F"])
        #expect(codex.isDone() == ["read /state/codex.log 0 0"])
        #expect(codex.finished(.read([], size: 0)) == [Self.start])
        _ = codex.spawns(7)
        #expect(codex.waits(300) == ["open 1 /state/codex.sock"])
        #expect(codex.greets() == ["up 0.163.0", "link back"])
    }

    @Test("a server that an earlier bridge started is joined, and no other is started")
    func rejoins() {
        var codex = CodexConversation(facts: [Fact("server", Array("0.163.0 F".utf8))])
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.greets() == ["up 0.163.0", "link back"])
    }

    @Test("a server of another version is started again when no turn goes on, and not before")
    func restarts() {
        let process = ProcessName(id: 7, startTicks: 1)
        var codex = CodexConversation(facts: [Fact("server", Array("0.150.0 F".utf8))], processes: [process])
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.greets().prefix(2) == ["up 0.163.0", "link back"])
        #expect(codex.says(#"{"id":3,"result":{"data":[],"nextCursor":null}}"#) == ["close 1", "link lost", "end 7"])
        #expect(codex.isDone() == ["run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        #expect(codex.fails() == ["keep server 0.163.0 F"])
    }

    @Test("without the program each message is refused with what to do, and has it looked for again")
    func missing() {
        var codex = CodexConversation()
        let absent = WorkResult.failed(WorkFailure(.absent, "no such program"))
        #expect(codex.finished(absent) == ["open 1 /state/codex.sock"])
        let said = codex.fails()
        #expect(said.contains { $0.hasPrefix("remedy") } && said.contains("link back"))
        #expect(codex.sends("r1", "one") == ["run codex --version"])
        _ = codex.finished(absent)
        let refused = codex.fails()
        #expect(refused.contains { $0.hasPrefix("send r1 not made") && $0.contains("install Codex") })
        #expect(codex.sends("r2", "two") == ["run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        #expect(codex.greets().contains { $0.contains("thread/start") })
    }

    @Test("an old version and a login that is missing are refused likewise")
    func refuses() {
        var old = CodexConversation()
        _ = old.ran("codex-cli 0.99.0")
        _ = old.fails()
        _ = old.sends("r1", "one")
        _ = old.ran("codex-cli 0.99.0")
        #expect(old.fails().contains { $0.contains("too old") })
        var out = CodexConversation()
        _ = out.ran("codex-cli 0.163.0")
        let said = out.greets(account: #"{"account":null,"requiresOpenaiAuth":true}"#)
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("codex login") })
    }

    @Test("a broken configuration is said before a login that only its defaults lack")
    func broken() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.opens()
        _ = codex.says(#"{"id":1,"result":{"userAgent":"sophon_bridge/0.163.0"}}"#)
        _ = codex.says(
            #"{"method":"configWarning","params":{"summary":"Invalid configuration; using defaults.","details":"line 1"}}"#
        )
        let said = codex.says(#"{"id":2,"result":{"account":null,"requiresOpenaiAuth":true}}"#)
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("line 1") })
    }

    @Test("a server that ends at once is said with the end of its log, and nothing from before its start")
    func ends() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        #expect(codex.isDone().contains("read /state/codex.log 0 0"))
        #expect(codex.finished(.read([], size: 5_000)) == [Self.start])
        _ = codex.spawns(7)
        #expect(codex.exits() == ["complaints /state/codex.log 5000"])
        let said = codex.finished(.read(Array("noise\nthe disk is full\n".utf8), size: 5_000))
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("the disk is full") })
    }

    @Test("the end of a server whose socket was lost first is not that of the next one")
    func endsLate() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.spawns(7)
        _ = codex.waits(300)
        _ = codex.greets()
        #expect(codex.breaks() + codex.waits(5_000) == ["link lost", "run codex --version"])
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        #expect(codex.fails().contains { $0.hasPrefix("keep server") })
        #expect(codex.exits().isEmpty)
        #expect(codex.isDone() == ["read /state/codex.log 0 0"])
        #expect(codex.finished(.read([], size: 0)) == [Self.start])
    }

    @Test("a stop waits for the turn's beginning")
    func stops() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T"}}}"#)
        #expect(codex.isDone().contains { $0.contains("turn/start") })
        _ = codex.says(#"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#)
        #expect(codex.aborts("r1").isEmpty)
        #expect(
            codex.begins("U").contains {
                $0.contains(#""method":"turn/interrupt","params":{"threadId":"T","turnId":"U"}"#)
            })
        let said = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"interrupted","items":[]}}}"#
        )
        #expect(said.contains("stop of r1 answered"))
    }

    @Test(
        "a turn that begins late is followed, and one that is stopped before that is interrupted when it begins",
        arguments: [false, true])
    func beginsLate(isStopped: Bool) {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T"}}}"#)
        _ = codex.isDone()
        _ = codex.says(#"{"id":4,"result":{"turn":{"id":"U","status":"inProgress"}}}"#)
        if isStopped { _ = codex.aborts("r1") }
        var said: [String] = []
        for _ in 0..<4 { said += codex.waits(1_000) }
        #expect(!said.contains { $0.contains("finished") || $0.contains("failed") }, "\(said)")
        said = codex.begins("U")
        #expect(said.contains { $0.contains("started") }, "\(said)")
        #expect(said.contains { $0.contains("turn/interrupt") } == isStopped, "\(said)")
    }

    @Test("the end that does not come is found in the list of turns, two seconds behind the idle status")
    func lostEnd() {
        var codex = CodexConversation.going()
        _ = codex.says(#"{"method":"thread/status/changed","params":{"threadId":"T","status":{"type":"idle"}}}"#)
        #expect(codex.waits(1_900).isEmpty)
        #expect(codex.waits(200).contains { $0.contains("thread/turns/list") })
        let said = codex.says(
            #"{"id":5,"result":{"data":[{"id":"U","status":"completed","items":[{"type":"agentMessage","id":"a","text":"Well."}]}]}}"#
        )
        #expect(said.contains { $0.contains(#"segment ended "Well.""#) } && said.contains { $0.contains("finished") })
    }

    @Test("a busy thread is not sent to")
    func busy() {
        var codex = CodexConversation.going()
        #expect(codex.sends("r2", "two").isEmpty)
        let said = codex.says(
            #"{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"U","status":"completed","items":[]}}}"#)
        #expect(said.contains { $0.contains("turn/start") && $0.contains("r2") })
    }

    @Test("a sub-agent's approval is the turn's, under the name of its item, whatever the number of its request")
    func child() {
        var codex = CodexConversation.going()
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"subAgentActivity","id":"s","kind":"started","agentThreadId":"C","agentPath":"/apprentice"}}}"#
        )
        func ask(_ number: Int) -> String {
            #"{"id":\#(number),"method":"item/commandExecution/requestApproval","params":{"threadId":"C","turnId":"V","itemId":"i","command":"/bin/bash -lc 'rm x'"}}"#
        }
        let asked = codex.says(ask(0))
        #expect(asked.contains { $0.contains("approval requested V:i") && $0.hasPrefix("r1 ") })
        #expect(codex.decides("V:i", .approveAlways) == [#"send {"id":0,"result":{"decision":"acceptForSession"}}"#])
        // The ask comes again on another connection: the machine answers there, without a second card.
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        _ = codex.says(#"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[]}]}}"#)
        #expect(codex.says(ask(9)) == [#"send {"id":9,"result":{"decision":"acceptForSession"}}"#])
    }

    @Test("a server that never begins a thread ends the message with a sentence")
    func silent() {
        var codex = CodexConversation.up()
        _ = codex.sends("r1", "one")
        #expect(codex.waits(31_000).contains("link lost"))
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.greets().contains { $0.contains("thread/start") })
        #expect(codex.waits(31_000).contains { $0.hasPrefix("send r1 not made") })
    }
}
