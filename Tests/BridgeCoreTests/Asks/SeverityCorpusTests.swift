import Glibc
import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The rules of severity over many asks")
struct SeverityCorpusTests {
    private static let agents = ["openclaw", "oppi", "pi", "codex"]

    @Test("no rule meets more than one everyday ask in ten", arguments: agents)
    func everyday(agent: String) throws {
        let lines = try SeverityLine.read("everyday-\(agent).jsonl")
        #expect(Set(lines.map(\.command)).count >= 200)
        var counts: [SeverityRules.Rule: Int] = [:]
        for line in lines {
            let subject = agent == "pi" ? line.subjectOfDialog : line.subject
            for rule in SeverityRules.met(subject) { counts[rule, default: 0] += 1 }
        }
        for (rule, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            puts("\(agent): \(rule) meets \(count) of \(lines.count)")
            #expect(count * 10 <= lines.count, "\(rule) meets \(count) of \(lines.count) asks of \(agent)")
        }
    }

    @Test("each command of Codex's leaves the sandbox, unless it asks for a host alone")
    func faithful() throws {
        for line in try SeverityLine.read("everyday-codex.jsonl") where line.runs != false {
            #expect(line.leavesSandbox == true || line.reachesNetwork == true, "\(line.command)")
        }
    }

    @Test("every rule meets something that is asked on ordinary days or by a trick")
    func used() throws {
        let lines = try Self.agents.flatMap { try SeverityLine.read("everyday-\($0).jsonl") }
        let all = lines + (try SeverityLine.tricks().map(\.line))
        let met = all.reduce(into: Set()) { $0.formUnion(SeverityRules.met($1.subject)) }
        #expect(met == Set(SeverityRules.Rule.allCases))
    }

    @Test("of all tricks, at most five are taken too lightly, and at most five too seriously")
    func tricks() throws {
        let order = ["none", "high", "critical"]
        let tricks = try SeverityLine.tricks()
        #expect(tricks.count { $0.file == "tricks-own.jsonl" } >= 200)
        var wrong: (lightly: [String], seriously: [String]) = ([], [])
        for (file, line) in tricks {
            let expected = try #require(order.firstIndex(of: line.expected ?? ""), "\(file): \(line.command)")
            let found = try #require(order.firstIndex(of: line.found))
            let text = "\(file): \(order[found]), not \(order[expected]): \(line.command)"
            if found < expected { wrong.lightly.append(text) }
            if found > expected { wrong.seriously.append(text) }
        }
        // Printed even if their number is within the limit.
        for text in wrong.lightly + wrong.seriously { puts(text) }
        #expect(wrong.lightly.count <= 5, "\(wrong.lightly)")
        #expect(wrong.seriously.count <= 5, "\(wrong.seriously)")
    }
}
