import AgentKit
import ConversationEngine
import Testing
import Vocabulary

@testable import Claude

/// The way to a session that may already have a process.
@Suite("Claude Code's sessions and their processes")
struct ClaudeReachTests {
    private typealias Conversation = EngineConversation<ClaudeDialect>

    private static let session = "5d9d8b3e-b354-5b4c-881a-5ad9a4cca08c"
    private static let process = ProcessName(id: 41, startTicks: 9_917)

    private static func holder(_ session: String = session, status: String = "busy", pid: Int = 41) -> WorkResult {
        let text = #"{"pid":\#(pid),"sessionId":"\#(session)","procStart":"9917","status":"\#(status)"}"#
        return .read(Array(text.utf8), size: Int64(text.utf8.count))
    }

    /// A chat whose message waits for the look at living processes. `isOurs` makes the process an earlier bridge's
    /// child.
    private static func listed(isOurs: Bool = true, kept: String = session) -> Conversation {
        var claude = Conversation(
            settings: ClaudeSettings(ClaudeValues(), environment: ["HOME": "/h"]),
            facts: [Fact("session:\(Conversation.chat)", Array(kept.utf8))], processes: isOurs ? [process] : [])
        #expect(claude.sends("r1", "one") == ["find /h/.claude/sessions/*.json"])
        return claude
    }

    private static func starts(_ lines: [String], _ flag: String) -> Bool {
        lines.count == 1 && lines[0].hasPrefix("start 1 ") && lines[0].contains(flag)
    }

    @Test("no process has it: it is resumed where its transcript is there")
    func resumed() {
        var claude = Self.listed(isOurs: false)
        #expect(claude.looks(.found([])) == ["find /h/.claude/projects/*/\(Self.session).jsonl"])
        #expect(Self.starts(claude.looks(.found(["/t"])), "--resume=\(Self.session)"))
    }

    @Test("a session whose first turn never began is begun under its name, and no conversation is called lost")
    func unwritten() {
        var claude = Self.listed(isOurs: false, kept: "new:\(Self.session)")
        _ = claude.looks(.found([]))
        #expect(Self.starts(claude.looks(.found([])), "--session-id=\(Self.session)"))
    }

    @Test("one that the person removed begins anew under another name")
    func removed() {
        var claude = Self.listed(isOurs: false)
        _ = claude.looks(.found([]))
        let lines = claude.looks(.found([]))
        #expect(Self.starts(lines, "--session-id=") && !lines[0].contains(Self.session), "\(lines)")
    }

    @Test("a process that has it is waited for, and the message says so", arguments: [true, false])
    func waits(isOurs: Bool) {
        var claude = Self.listed(isOurs: isOurs)
        #expect(claude.looks(.found(["/a", "/b"])) == ["read /b"])
        #expect(claude.reads(Self.holder("other", pid: 7)) == ["read /a"])
        #expect(claude.reads(Self.holder()) == ["look at 41"])
        let lines = claude.looks(.alive([Self.process]))
        #expect(lines.count == 1 && lines[0].contains("the message waits for its end"), "\(lines)")
        #expect(claude.waits(1_000) == ["find /h/.claude/sessions/*.json"])
    }

    @Test("an orphan of ours that works on nothing but the background is ended; a person's terminal never is")
    func idle() {
        var orphan = Self.listed()
        _ = orphan.looks(.found(["/a"]))
        _ = orphan.reads(Self.holder(status: "idle"))
        #expect(orphan.looks(.alive([Self.process])) == ["end process 41"])
        #expect(orphan.looks(.done) == [])
        #expect(orphan.waits(1_000) == ["find /h/.claude/sessions/*.json"])
        var terminal = Self.listed(isOurs: false)
        _ = terminal.looks(.found(["/a"]))
        _ = terminal.reads(Self.holder(status: "idle"))
        #expect(terminal.looks(.alive([Self.process])).allSatisfy { !$0.hasPrefix("end process") })
    }

    @Test("orphans of an early version, which no file names, are waited for")
    func unnamed() {
        var claude = Self.listed()
        #expect(claude.looks(.found([])) == ["look at 41"])
        #expect(claude.looks(.alive([Self.process])).first?.contains("still finishes") == true)
        _ = claude.waits(1_000)
        _ = claude.looks(.found([]))
        #expect(claude.looks(.alive([])) == ["find /h/.claude/projects/*/\(Self.session).jsonl"])
    }

    @Test("a Stop ends an orphan of an early version where no other chat can have it", arguments: [1, 2])
    func unnamedStopped(count: Int) {
        let processes = (0..<count).map { ProcessName(id: Int32(41 + $0), startTicks: 9_917) }
        var claude = Conversation(
            settings: ClaudeSettings(ClaudeValues(), environment: ["HOME": "/h"]),
            facts: [Fact("session:\(Conversation.chat)", Array(Self.session.utf8))], turns: [Self.turn("r1")],
            processes: processes)
        _ = claude.looksUp("r1")
        _ = claude.aborts("r1")
        _ = claude.looks(.found([]))
        let lines = claude.looks(.alive(processes))
        #expect(lines.contains("end process 41") == (count == 1), "\(lines)")
    }

    @Test("the transcript of the session that follows a lost one proves nothing about a run of the lost one")
    func lostOverRestart() {
        var claude = Conversation(
            settings: ClaudeSettings(ClaudeValues(), environment: ["HOME": "/h"]),
            facts: [Fact("session:\(Conversation.chat)", Array(Self.session.utf8))], turns: [Self.turn("r1")])
        _ = claude.looksUp("r1")
        _ = claude.looks(.found([]))
        let lines = claude.looks(.found([]))
        #expect(Self.starts(lines, "--session-id=") && !lines[0].contains(Self.session), "\(lines)")
        let asked = claude.spawns()
        guard let request = asked.first?.split(separator: "\"").first(where: { $0.hasPrefix("sb-") }) else {
            return #expect(Bool(false), "\(asked)")
        }
        let answer =
            #"{"type":"control_response","response":{"subtype":"success","request_id":"\#(request)","response":{}}}"#
        _ = claude.says(answer)
        _ = claude.keeps()
        let found = claude.looks(.found([]))
        #expect(found.contains { $0.hasPrefix("looked up r1 failed") }, "\(found)")
    }

    private static func turn(_ run: String) -> EarlierTurn {
        EarlierTurn(
            session: Conversation.chat, runs: [EarlierTurn.Run(RunID(run), text: "one")], isAccepted: true,
            isStopping: false, receivedAt: .zero, decisions: [], detached: [])
    }

    @Test("a thousand files of dead processes are no hindrance")
    func many() {
        var claude = Self.listed(isOurs: false)
        var lines = claude.looks(.found((0..<1_000).map { "/\($0)" }))
        for _ in 0..<1_000 where lines.first?.hasPrefix("read /") == true {
            lines = claude.reads(Self.holder("other", pid: 7))
        }
        #expect(lines == ["find /h/.claude/projects/*/\(Self.session).jsonl"])
    }

    @Test("a look at the disk that fails is made again, and nothing is resumed before it")
    func failing() {
        var claude = Self.listed()
        #expect(claude.looks(.failed(WorkFailure(.full, "too much"))) == [])
        #expect(claude.waits(1_000) == ["find /h/.claude/sessions/*.json"])
    }
}
