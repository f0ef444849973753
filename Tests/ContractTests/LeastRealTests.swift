import AgentKit
import FoundationEssentials
import LeastAgent
import Testing
import Vocabulary
import WireTesting

@Suite("The least agent with real programs")
final class LeastRealTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "least-\(UUID())").path()

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func outside(_ facts: [Fact] = []) throws -> RealOutside {
        let command = #"["\#(RealOutside.python)", "\#(RealOutside.root)/Tests/Peers/least.py", "\#(folder)"]"#
        return try RealOutside(LeastPlugin(), configuration: #", "command": \#(command)"#, facts: facts)
    }

    @Test("a run each in two chats, whose places are kept and whose transcripts are found by the next process")
    func runs() throws {
        let first = try outside()
        first.send("Hello over real pipes", run: "r1", session: "one")
        #expect(try first.end() == "Hello over real pipes")
        first.send("And another", run: "r2", session: "two")
        #expect(try first.end() == "And another")
        #expect(first.journal.settings.keys.filter { $0.contains("process") }.count == 2)
        #expect(try first.closes())
        // The programs have exited, so no record of a process remains.
        let kept = first.journal.facts
        #expect(kept.map(\.name).sorted() == ["agent least session:one", "agent least session:two"])
        let second = try outside(kept)
        second.link.command(.lookUp(session: AgentSession("one"), run: RunID("r1")))
        let found = try second.next { if case .lookedUp(_, let found) = $0 { found } else { nil } }
        #expect(found == .ended(RunEnd(text: "Hello over real pipes")))
        #expect(try second.closes())
    }

    @Test("a program that dies takes its run with it, and the next message gets another one")
    func dies() throws {
        let outside = try outside()
        outside.send("die", run: "r1")
        #expect(try outside.end().hasPrefix("failed: "))
        outside.send("Again", run: "r2")
        #expect(try outside.end() == "Again")
        #expect(try outside.closes())
    }

    @Test("a program that is not there is said of the message")
    func absent() throws {
        let outside = try RealOutside(LeastPlugin(), configuration: #", "command": ["no-such-program"]"#)
        outside.send("Hello", run: "r1")
        let answer = try outside.next { if case .sendAnswered(_, let answer) = $0 { answer } else { nil } }
        guard case .notSent(let sentence) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(sentence.hasPrefix("Least could not be started: "))
        #expect(try outside.closes())
    }
}
