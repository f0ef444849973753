import BridgeCore
import FoundationEssentials
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Plays recordings of real gateways of three eras to the bridge: each bubble ends with the agent's text.
@Suite("Recordings of real gateways")
struct RecordedGatewayTests {
    /// How one message must end.
    struct End: Sendable {
        var outcome: TurnOutcome?
        /// The agent's messages, each a paragraph.
        var said: [String] = []
        /// Part of the line behind the messages.
        var cause: String?
        /// Outcomes of the tools, in order.
        var tasks: [String] = []
    }

    struct Trace: Sendable, CustomTestStringConvertible {
        var name: String
        var ends: [End]
        var testDescription: String { name }
    }

    private static let limited = "(⚠️ API rate limit reached. Please try again later.)"
    private static let overloaded = "(The AI service is temporarily overloaded. Please try again in a moment.)"
    private static let lost = "(its gateway was restarted)"
    private static let noFollowUp = "The agent did not say what came after the approval."
    private static let unsafe = "couldn't safely resume"

    static let traces: [Trace] = ["e1", "e2", "e3"].flatMap { era in
        scripts(era).map { Trace(name: "\(era)-\($0)", ends: $1) }
    }

    private static func scripts(_ era: String) -> [(String, [End])] {
        let isE1 = era == "e1"
        let asked: End
        switch era {
        case "e1":
            asked = End(
                outcome: .answered, said: ["I will make it.", "Asked."], cause: noFollowUp, tasks: ["completed"])
        // The text behind the question stands in its row alone.
        case "e2":
            asked = End(
                outcome: .answered, said: ["I will make it.", "Asked.", "Done: it ran."], tasks: ["completed"])
        default: asked = End(outcome: .answered, said: ["I will make it.", "Asked."], tasks: ["completed"])
        }
        var denied = asked
        if era == "e2" { denied.said[2] = "It was not run." }
        denied.tasks = [era == "e3" ? "failed" : "cancelled"]
        // No heartbeat was recorded. The recording falls silent, and greets as young as before: a younger gateway.
        let allowed = isE1 ? End(outcome: .lost, said: asked.said, cause: lost, tasks: asked.tasks) : asked
        let second = End(outcome: .answered, said: ["This is the second answer."])
        return [
            ("plain", [End(outcome: .answered, said: ["Hello. The disk is 61 % full, and that is fine."])]),
            (
                "repeats",
                [End(outcome: .answered, said: ["Let me see.", "The total is 1000 and hahaha."], tasks: ["completed"])]
            ),
            (
                "tools",
                [
                    End(
                        outcome: .answered, said: ["Let me look.", "There is one file.", "It says hello."],
                        tasks: ["completed", "failed"])
                ]
            ),
            (
                "retry",
                [
                    era == "e3"
                        ? End(outcome: .failed, said: ["First words"], cause: overloaded)
                        : End(outcome: .answered, said: ["First words Second attempt is whole."])
                ]
            ),
            ("error", [End(outcome: .failed, said: ["I begin,"], cause: limited)]),
            ("media", [End(outcome: .answered, said: ["Here is it.", "File: ./pic.png"])]),
            ("stop", [End(outcome: .aborted, said: [words(upTo: isE1 ? 43 : era == "e2" ? 35 : 20)])]),
            (
                "stop-with-waiting",
                [
                    End(outcome: .aborted, said: [words(upTo: isE1 ? 44 : era == "e2" ? 35 : 29)]),
                    // E3 did not run the message, and the recorded bridge did not send it again.
                    era == "e3" ? End() : second,
                ]
            ),
            ("busy-other-client", [End(outcome: .answered, said: [words(upTo: 19)]), second]),
            ("link-cut", [End(outcome: .answered, said: [words(upTo: 109)])]),
            ("link-cut-silent", [End(outcome: .answered, said: ["At last."])]),
            (
                "gateway-killed-in-tool",
                [End(outcome: .lost, said: ["Working."], cause: era == "e3" ? unsafe : lost, tasks: ["failed"])]
            ),
            ("approval-allow", [allowed]), ("approval-deny", [denied]),
        ]
    }

    /// Text of the scripted model when it is to be slow.
    private static func words(upTo last: Int) -> String {
        let words = [
            "the", "quick", "brown", "fox", "jumps", "over", "the", "lazy", "dog", "while", "agents", "stream",
            "tokens", "—",
            "ünïcödé", "✓", "你好",
        ]
        return (0...last).map { "\(words[$0 % words.count])\($0)" }.joined(separator: " ")
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/gateways")

    static func play(_ name: String) throws -> (world: LiveWorld, gateway: RecordedGateway) {
        let recording = String(decoding: try Data(contentsOf: folder.appending(path: "\(name).jsonl")), as: UTF8.self)
        let world = LiveWorld(name.hasPrefix("e1") ? .e1 : name.hasPrefix("e2") ? .e2 : .e3, scripts: [:])
        let gateway = RecordedGateway(recording, world.time)
        world.sides[0].plays(gateway)
        let stop = gateway.deeds.first { $0.what == .stops }?.at
        for deed in gateway.deeds {
            switch deed.what {
            // A message behind a stop was written before it, and waited.
            case .writes(let text):
                world.writes(text, after: min(deed.at, (stop ?? deed.at) - .milliseconds(stop == nil ? 0 : 150)))
            case .stops: world.stops(0, after: deed.at)
            case .decides(let decision): world.decision = decision == "deny" ? "deny" : "approve"
            }
        }
        world.play(seconds: 400, atLeast: (gateway.deeds.map(\.at).max() ?? .zero) + .seconds(5))
        return (world, gateway)
    }

    @Test("each bubble ends with what the agent said", arguments: traces)
    func ends(_ trace: Trace) throws {
        let (world, _) = try Self.play(trace.name)
        defer { world.end() }
        #expect(world.relay.breaches.isEmpty)
        for (index, end) in trace.ends.enumerated() {
            guard let outcome = end.outcome else { continue }
            #expect(world.outcome(index) == outcome)
            let text = try #require(world.ends(index).first)
            let said = end.said.joined(separator: "\n\n")
            if let cause = end.cause {
                #expect(text.hasPrefix(said + "\n\n") && text.contains(cause), "\(text)")
                #expect(text.count < said.count + 300, "\(text)")
            } else {
                #expect(text == said)
            }
            let interaction = world.sent[index].interaction
            #expect(world.tasks.filter { $0.interaction == interaction }.map { $0.status ?? "open" } == end.tasks)
        }
    }

    @Test("a message that provably did not run is sent once more")
    func sentAnew() throws {
        let (world, gateway) = try Self.play("e3-stop-with-waiting")
        defer { world.end() }
        #expect(gateway.sentAnew == ["second one": 1])
    }
}
