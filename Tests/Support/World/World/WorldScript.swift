import Vocabulary

/// How an agent handles one message of a plan, and what the phone must show in the end. Each word occurs once in a
/// world, so losses, doubles and wrong order become visible.
package struct WorldScript: Sendable {
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        case text, tools, approval, detached, retry, fails, emptyEnd, immediate, long
        /// Silent for longer than the bridge waits before a look-up.
        case silent

        /// Kinds of a seed's first generator.
        static let drawn: [Kind] = [
            .text, .tools, .approval, .detached, .retry, .fails, .emptyEnd, .immediate, .long,
        ]
    }

    package let kind: Kind
    /// Prefix of its words, tools and approval.
    package let name: String
    package private(set) var script = GatewayScript()
    /// Text between two calls of tools. After a retry only the last attempt counts.
    private var segments = [""]
    private var words = 0

    init(_ kind: Kind, name: String, using random: inout SeededGenerator) {
        self.kind = kind
        self.name = name
        script.saysWhenDetached = "\(name)wait."
        script.answersAfter = .milliseconds(Int64.random(in: 1...40, using: &random))
        script.speaksFirst = random.happens(0.2)
        switch kind {
        case .text: say(1...12, using: &random)
        case .immediate:
            script.speaksFirst = true
            say(1...1, gap: 0...3, using: &random)
        case .tools:
            say(1...5, using: &random)
            for number in 0..<Int.random(in: 1...2, using: &random) {
                tool("\(name)t\(number)", using: &random)
                say(1...4, using: &random)
            }
        case .approval, .detached:
            script.detaches = kind == .detached
            say(1...3, using: &random)
            add(.callsTool(id: "\(name)t0", command: "reboot"), 60)
            add(.asksApproval(id: approval, command: "reboot"), 10)
            add(.toolReturns(id: "\(name)t0", output: "done"), 300)
            segments.append("")
            say(1...4, using: &random)
        case .retry:
            say(1...3, using: &random)
            add(.attemptFails("overloaded"), 200)
            add(.triesAgain, 2_500)
            segments = [""]
            say(1...5, using: &random)
        case .fails:
            say(1...4, using: &random)
            add(.fails(Self.failure), 150)
            return
        case .emptyEnd:
            say(1...6, using: &random)
            add(.finishesEmpty, 60)
            return
        case .long:
            say(10...30, gap: 500...3_000, using: &random)
            tool("\(name)t0", using: &random)
            say(1...4, using: &random)
        case .silent:
            say(1...2, using: &random)
            say(1...1, gap: 36_000...70_000, using: &random)
        }
        add(.finishes, 60)
    }

    package var approval: String { "\(name)ap" }
    /// Reason of the failure.
    static let failure = "the model is overloaded"

    private mutating func add(_ step: GatewayScript.Step, _ milliseconds: Int64) {
        script.steps.append(.init(after: .milliseconds(milliseconds), step: step))
    }

    private mutating func say(
        _ count: ClosedRange<Int>, gap: ClosedRange<Int64> = 5...400, using random: inout SeededGenerator
    ) {
        for _ in 0..<Int.random(in: count, using: &random) {
            let end = random.pick([" ", " ", " ", "\n", ", "])
            let word = "\(name)w\(words)" + end
            words += 1
            segments[segments.count - 1] += word
            add(.says(word), Int64.random(in: gap, using: &random))
        }
    }

    private mutating func tool(_ id: String, using random: inout SeededGenerator) {
        add(.callsTool(id: id, command: "df -h"), Int64.random(in: 20...300, using: &random))
        add(.toolReturns(id: id, output: "61%"), Int64.random(in: 20...900, using: &random))
        segments.append("")
    }

    /// Bytes, with room for the rest of the call.
    static let longestOutput = 41_000

    /// Adds tools with long output at the beginning.
    mutating func addPlenty(using random: inout SeededGenerator) {
        var steps: [GatewayScript.Timed] = []
        for number in 0..<Int.random(in: 1...8, using: &random) {
            let id = "\(name)p\(number)"
            let output = String(repeating: "0123456789", count: Int.random(in: 100...4_000, using: &random))
            steps.append(.init(after: .milliseconds(40), step: .callsTool(id: id, command: "cat")))
            steps.append(.init(after: .milliseconds(60), step: .toolReturns(id: id, output: output)))
        }
        script.steps = steps + script.steps
    }

    // MARK: The expected outcome

    /// The agent's messages, one paragraph each. A detached approval ends a run, and another run continues.
    package func text(_ era: GatewayEra, _ agent: WorldAgentKind = .openClaw) -> String {
        // A message ends before each tool, and no dialog ends a run (pi.md#a-run).
        guard agent == .openClaw else { return segments.filter { !$0.isEmpty }.joined(separator: "\n\n") }
        let said = segments.map(Self.trimmed).filter { !$0.isEmpty }
        let isDetached = kind == .detached || kind == .approval && era.detachesApprovals
        guard isDetached else { return said.joined(separator: "\n\n") }
        return [said[0], script.saysWhenDetached, said.last ?? ""].joined(separator: "\n\n")
    }

    /// Words in order, each once, including those at a detached approval.
    package func words(_ era: GatewayEra, _ agent: WorldAgentKind = .openClaw) -> [String] {
        Self.words(of: name, in: text(era, agent))
    }

    /// The words of a message that occur in a text.
    static func words(of name: String, in text: String) -> [String] {
        text.split { !$0.isLetter && !$0.isNumber }.filter { $0.hasPrefix(name + "w") }.map(String.init)
    }

    private static func trimmed(_ text: String) -> String { ScriptedGateway.trimmed(text) }
}
