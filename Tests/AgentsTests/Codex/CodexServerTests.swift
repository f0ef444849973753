import AgentKit
import Testing
import Vocabulary

@Suite("Codex's server: which one, and in which version")
struct CodexServerTests {
    @Test("of several that earlier bridges have started, the newest that lives is the one that is ended")
    func newest() {
        let processes = [(100_213, 9), (99_871, 5), (7, 12)].map { ProcessName(id: $0.0, startTicks: $0.1) }
        var codex = CodexConversation(facts: [Fact("server", Array("0.150.0 F".utf8))], processes: processes)
        #expect(codex.beginning == ["look 100213 99871 7", "run codex --version"])
        _ = codex.finished(.alive([processes[0]]))
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.greets().last == Self.list(3))
        #expect(codex.says(#"{"id":3,"result":{"data":[],"nextCursor":null}}"#).contains("end 100213"))
    }

    // MARK: Ended only while idle

    private static func list(_ id: Int) -> String { #"send {"id":\#(id),"method":"thread/loaded/list","params":{}}"# }
    private static func status(_ id: Int, _ status: String) -> String {
        #"{"id":\#(id),"result":{"thread":{"id":"X","status":{"type":"\#(status)"}}}}"#
    }

    /// The program differs from the one that was started, and the server has two threads of no chat.
    private static func outdated() -> CodexConversation {
        let processes = [ProcessName(id: 7, startTicks: 1)]
        var codex = CodexConversation(facts: [Fact("server", Array("0.150.0 F".utf8))], processes: processes)
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.greets()
        return codex
    }

    @Test("one whose thread of a sub-agent or of another client still works is left alone until it is idle")
    func works() {
        var codex = Self.outdated()
        let lines = codex.says(#"{"id":3,"result":{"data":["X","Y"],"nextCursor":null}}"#)
        #expect(
            lines
                == ["X", "Y"].enumerated().map {
                    #"send {"id":\#($0.offset + 4),"method":"thread/read","params":{"threadId":"\#($0.element)"}}"#
                })
        #expect((codex.says(Self.status(4, "active")) + codex.says(Self.status(5, "idle"))).isEmpty)
        #expect(codex.waits(9_900).isEmpty)
        #expect(codex.waits(200) == [Self.list(6)])
        _ = codex.says(#"{"id":6,"result":{"data":["X"],"nextCursor":null}}"#)
        #expect(codex.says(Self.status(7, "idle")).contains("end 7"))
    }

    @Test("one that works for an hour is ended all the same")
    func bound() {
        var codex = Self.outdated()
        var said: [String] = []
        var id = 3
        for _ in 0..<400 where !said.contains("end 7") {
            said += codex.says(#"{"id":\#(id),"result":{"data":["X"],"nextCursor":null}}"#)
            said += codex.says(Self.status(id + 1, "active")) + codex.waits(10_100)
            id += 2
        }
        #expect(said.contains("end 7") && codex.now > .zero + .seconds(3_600) && codex.now < .zero + .seconds(3_700))
    }

    @Test("a message that comes while it is asked is handed over to it")
    func message() {
        var codex = Self.outdated()
        _ = codex.sends("r1", "one")
        #expect(!codex.says(#"{"id":3,"result":{"data":[],"nextCursor":null}}"#).contains("end 7"))
    }

    @Test("a look for a person ends an idle server, and dials one that works", arguments: ["idle", "active"])
    func looked(status: String) {
        let facts = [Fact("server", Array("0.163.0 F".utf8))]
        var codex = CodexConversation(facts: facts, processes: [ProcessName(id: 7, startTicks: 1)])
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.greets(account: #"{"account":null,"requiresOpenaiAuth":true}"#)
        #expect(codex.sends("r1", "one") == [Self.list(3)])
        _ = codex.says(#"{"id":3,"result":{"data":["X"],"nextCursor":null}}"#)
        let said = codex.says(Self.status(4, status))
        #expect(said.contains("end 7") == (status == "idle"), "\(said)")
        #expect(said.contains("close 1"), "\(said)")
    }

    @Test("a version without the list is ended as before")
    func unlisted() {
        var codex = Self.outdated()
        #expect(codex.says(#"{"id":3,"error":{"code":-32600,"message":"unknown variant"}}"#).contains("end 7"))
    }

    @Test("one that was joined and is too old is said to be")
    func tooOld() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.opens()
        _ = codex.says(#"{"id":1,"result":{"userAgent":"sophon_bridge/0.120.0 (Debian)"}}"#)
        let said = codex.says(#"{"id":2,"result":{"account":null,"requiresOpenaiAuth":false}}"#)
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("0.120.0") })
    }

    @Test("one that runs is joined although the program is gone")
    func programIsGone() {
        var codex = CodexConversation(facts: [Fact("server", Array("0.163.0 F".utf8))])
        #expect(codex.finished(.failed(WorkFailure(.absent, "no such program"))) == ["open 1 /state/codex.sock"])
        #expect(codex.greets() == ["up 0.163.0", "link back"])
    }

    @Test("one that refuses handshakes is not ended, and one that answers none for five minutes is")
    func slow() {
        var codex = CodexConversation(processes: [ProcessName(id: 7, startTicks: 1)])
        for _ in 0..<4 {
            _ = codex.ran("codex-cli 0.163.0")
            _ = codex.opens()
            let said = codex.says(#"{"id":1,"error":{"code":-32001,"message":"Server overloaded; retry later."}}"#)
            #expect(!(said + codex.waits(1_100)).contains { $0.hasPrefix("end") })
        }
        var said: [String] = []
        for _ in 0..<30 where !said.contains("end 7") {
            _ = codex.ran("codex-cli 0.163.0")
            _ = codex.opens()
            said += codex.waits(16_100)
        }
        #expect(said.contains("end 7") && codex.now > .zero + .seconds(300))
    }

    @Test("one that lives and does not answer the upgrade is dialled again, and nothing is started in its place")
    func slowUpgrade() {
        var codex = CodexConversation.going()
        _ = codex.breaks()
        #expect(codex.ran("codex-cli 0.163.0") == ["open 1 /state/codex.sock"])
        var said = codex.breaks()
        said += codex.waits(40_000)
        #expect(said.contains("run codex --version"))
        #expect(!said.contains { $0.hasPrefix("keep server") || $0.hasPrefix("start") || $0.hasPrefix("end") })
    }

    @Test("one that is started, takes connections and greets none is said not to start")
    func neverGreets() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        _ = codex.isDone()
        _ = codex.finished(.read([], size: 0))
        _ = codex.spawns(7)
        var said: [String] = []
        for _ in 0..<4 where !said.contains(where: { $0.hasPrefix("remedy") }) {
            said += codex.waits(300)
            _ = codex.opens()
            _ = codex.says(#"{"id":1,"result":{"userAgent":"sophon_bridge/0.163.0"}}"#)
            said += codex.waits(15_100)
        }
        #expect(said.contains { $0.hasPrefix("remedy") && $0.contains("does not answer") && $0.contains("codex.log") })
        #expect(said.contains("close 2") && codex.now < .zero + .seconds(40))
        // The next message makes the machine look again.
        #expect(codex.sends("r1", "one") == ["run codex --version"])
    }

    @Test("one that ends again and again is started again ever later")
    func endsAgain() {
        var codex = CodexConversation.up()
        var pauses: [Duration] = []
        for _ in 0..<6 {
            _ = codex.waits(1_000)
            let lost = codex.now
            var said = codex.breaks()
            for _ in 0..<100 where !said.contains("run codex --version") { said += codex.waits(500) }
            pauses.append(codex.now - lost)
            _ = codex.ran("codex-cli 0.163.0")
            _ = codex.greets()
        }
        #expect(pauses[0] == .zero && pauses[5] >= .seconds(8) && pauses[5] < .seconds(10), "\(pauses)")
    }

    @Test("one that could not be written down is started by the next message, once there is room")
    func notWrittenDown() {
        var codex = CodexConversation()
        _ = codex.ran("codex-cli 0.163.0")
        _ = codex.fails()
        #expect(codex.finished(.failed(WorkFailure(.other, "full"))).contains { $0.hasPrefix("remedy") })
        #expect(codex.sends("r1", "one") == ["run codex --version"])
        _ = codex.ran("codex-cli 0.163.0")
        #expect(codex.fails() == ["keep server 0.163.0 F"])
        _ = codex.isDone()
        #expect(codex.finished(.read([], size: 0)).contains { $0.hasPrefix("start 2") })
    }

    @Test("a message whose end the list brought is not begun again by frames that waited for it")
    func notTwice() {
        var codex = CodexConversation.going()
        _ = codex.rejoins()
        _ = codex.says(#"{"id":3,"result":{"thread":{"id":"T","status":{"type":"active"}}}}"#)
        _ = codex.says(
            #"{"method":"item/started","params":{"threadId":"T","turnId":"U","item":{"type":"agentMessage","id":"a"}}}"#
        )
        _ = codex.says(
            #"{"method":"item/agentMessage/delta","params":{"threadId":"T","turnId":"U","itemId":"a","delta":"Well."}}"#
        )
        let said = codex.says(
            #"{"id":4,"result":{"data":[{"id":"U","status":"inProgress","items":[{"type":"agentMessage","id":"a","text":"Well."}]}]}}"#
        )
        #expect(said.filter { $0.contains("Well.") }.count == 1)
    }
}
