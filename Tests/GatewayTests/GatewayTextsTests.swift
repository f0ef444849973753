import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// Texts that a gateway's own joining breaks: repeated characters, overlaps at every joint, fences, trimmed ends.
@Suite("Generated texts of a gateway's agent")
struct GatewayTextsTests {
    private static let pieces = [
        "0", "0", "00", "ha", "ha", "aha", " ", "\n", "\n\n", "```", "```py\n", "x = 1\n", "é", "ü", "👍", "👍🏽", "Yes",
        "Yes, ", "it is",
        ".", "1", "10", "the end", "  ", "\t", "— ", "你好", "NO", "No ",
    ]

    private static func isSpace(_ character: Character) -> Bool { character.isWhitespace }

    private static func trimmed(_ text: String) -> String {
        let front = text.drop(while: isSpace)
        return String(String(front.reversed().drop(while: isSpace)).reversed())
    }

    /// A script of the agent, and the text that it says.
    private static func made(_ seed: UInt64) -> (script: GatewayScript, text: String) {
        var random = SeededGenerator(seed: seed)
        var script = GatewayScript()
        func add(_ step: GatewayScript.Step, _ milliseconds: Int64) {
            script.steps.append(.init(after: .milliseconds(milliseconds), step: step))
        }
        func message() -> String {
            var said = ""
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                let piece = random.pick(pieces)
                said += piece
                add(.says(piece), random.pick([0, 2, 40, 160]))
            }
            return said
        }
        if random.happens(0.25) {
            _ = message()
            add(.attemptFails("overloaded"), 50)
            add(.triesAgain, 1_500)
        }
        var messages: [String] = []
        for number in 0..<Int.random(in: 1...5, using: &random) {
            if number > 0 {
                add(.callsTool(id: "c\(number)", command: "df -h"), 20)
                add(.toolReturns(id: "c\(number)", output: "61%"), 60)
            }
            // Sometimes the same text again, or the earlier text with more behind it.
            if number > 0, random.happens(0.2), let last = messages.last {
                add(.says(last), 30)
                messages.append(last)
            } else {
                messages.append(message())
            }
        }
        add(.says("Z"), 30)
        messages[messages.count - 1] += "Z"
        add(.finishes, 60)
        return (script, messages.map(trimmed).filter { !$0.isEmpty }.joined(separator: "\n\n"))
    }

    private static func ends(_ era: GatewayEra, _ seed: UInt64) -> (found: [String], expected: String) {
        let (script, text) = made(seed)
        let world = LiveWorld(era, scripts: ["Question?": script])
        world.writes("Question?", after: .seconds(1))
        world.play(seconds: 90)
        defer { world.end() }
        return (world.ends(), text)
    }

    @Test("the final text is the agent's own, but for the blank lines", arguments: GatewayEra.allCases)
    func exact(_ era: GatewayEra) {
        for seed in UInt64(1)...40 {
            let (found, expected) = Self.ends(era, seed)
            #expect(found == [expected], "seed \(seed)")
        }
    }

    @Test("a text that is made of chat is caught", arguments: GatewayEra.allCases)
    func planted(_ era: GatewayEra) {
        let caught = (UInt64(1)...40).first { seed in
            PlantedFault.$planted.withValue(.textFromChat) {
                let (found, expected) = Self.ends(era, seed)
                return found != [expected]
            }
        }
        #expect(caught != nil)
    }
}
