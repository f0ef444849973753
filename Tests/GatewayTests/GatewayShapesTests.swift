import FoundationEssentials
import Testing
import Vocabulary
import Worlds

/// The scripted gateway plays the scripts of the recordings. Its frames have the kinds and members of the real
/// gateway of that era, apart from the differences in the tables.
@Suite("Frames of the scripted gateway beside the recordings")
struct GatewayShapesTests {
    private static let names = [
        "plain", "repeats", "tools", "retry", "error", "media", "stop", "stop-with-waiting", "busy-other-client",
        "link-cut", "link-cut-silent", "gateway-killed-in-tool", "approval-allow", "approval-deny",
    ]

    private static func words(_ count: Int) -> [(milliseconds: Int, step: GatewayScript.Step)] {
        (0..<count).map { (50, .says("word\($0) ")) }
    }

    private static func script(_ steps: [(milliseconds: Int, step: GatewayScript.Step)]) -> GatewayScript {
        var script = GatewayScript()
        script.steps = steps.map { .init(after: .milliseconds(Int64($0.milliseconds)), step: $0.step) }
        return script
    }

    private static let second = GatewayScript((100, .says("This is the second answer.")), (60, .finishes))

    private static func script(_ name: String, _ era: GatewayEra) -> GatewayScript {
        switch name {
        case "plain", "busy-other-client":
            return GatewayScript((100, .says("Hello.")), (10, .says(" The disk is fine.")), (60, .finishes))
        case "repeats":
            return GatewayScript(
                (100, .says("Let me see.")), (10, .callsTool(id: "a", command: "ls")),
                (300, .toolReturns(id: "a", output: "file.txt")), (40, .says("The total is 1000.")), (60, .finishes))
        case "tools":
            return GatewayScript(
                (100, .says("Let me look.")), (10, .callsTool(id: "a", command: "ls")),
                (300, .toolReturns(id: "a", output: "file.txt")), (40, .says("There is one file.")),
                (10, .callsTool(id: "b", command: "cat nothing")), (300, .toolFails(id: "b", output: "no such file")),
                (40, .says("It says hello.")), (60, .finishes))
        case "retry" where era != .e3:
            return GatewayScript(
                (100, .says("First words ")), (50, .attemptFails("overloaded")), (1_500, .triesAgain),
                (100, .says("Second attempt is whole.")), (60, .finishes))
        case "retry", "error": return GatewayScript((100, .says("I begin,")), (50, .fails("the limit is reached")))
        case "media": return GatewayScript((100, .says("Here is it.\nMEDIA: ./pic.png\n")), (60, .finishes))
        case "link-cut-silent": return GatewayScript((100, .says("At")), (9_000, .says(" last.")), (60, .finishes))
        case "gateway-killed-in-tool":
            return GatewayScript(
                (100, .says("Working.")), (10, .callsTool(id: "a", command: "sleep 60")),
                (1_000, .restarts(downMilliseconds: 3_000)), (100, .toolReturns(id: "a", output: "")),
                (60, .finishes))
        case "approval-allow", "approval-deny":
            var script = GatewayScript(
                (100, .says("I will make it.")), (10, .callsTool(id: "a", command: "make")),
                (60, .asksApproval(id: "ap-1", command: "make")), (100, .toolReturns(id: "a", output: "")),
                (50, .says("Done: it ran.")), (60, .finishes))
            script.saysWhenDetached = "Asked."
            return script
        default: return script(words(60) + [(60, .finishes)])
        }
    }

    private static func played(_ name: String, _ era: GatewayEra) -> [GatewayShape] {
        let world = LiveWorld(
            era,
            scripts: [
                "q0": script(name, era), "second one": second, "from the desk": script(words(60) + [(60, .finishes)]),
            ])
        let heard = Heard()
        world.onRecord = { _, isIncoming, frame in if isIncoming { heard.frames.append(frame) } }
        world.decision = name == "approval-deny" ? "deny" : "approve"
        world.writes("q0", after: .seconds(1))
        switch name {
        case "stop": world.stops(0, after: .milliseconds(2_300))
        case "stop-with-waiting":
            world.writes("second one", after: .milliseconds(2_000))
            world.stops(0, after: .milliseconds(2_300))
        case "busy-other-client":
            world.time.after(.seconds(4)) {
                let session = world.sides[0].agentSession(ofChat: 0)?.text ?? ""
                world.gateway.otherClientSends("from the desk", in: session, as: "desk-1", at: world.time.now)
            }
            world.writes("second one", after: .milliseconds(5_500))
        case "link-cut", "link-cut-silent":
            world.time.after(.milliseconds(2_500)) { world.sides[0].cutGateway(away: .seconds(1)) }
        default: break
        }
        world.play(seconds: 200, atLeast: .seconds(12))
        defer { world.end() }
        return heard.frames.compactMap { GatewayShape(of: $0) }
    }

    private final class Heard: @unchecked Sendable { var frames: [[UInt8]] = [] }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/gateways")

    @Test("the kinds and members are those of the recordings", arguments: [GatewayEra.e1, .e2, .e3])
    func shapes(_ era: GatewayEra) throws {
        var found: [String: Set<String>] = [:]
        for name in Self.names {
            let file = Self.folder.appending(path: "\(era.rawValue)-\(name).jsonl")
            let recorded = GatewayShape.recorded(String(decoding: try Data(contentsOf: file), as: UTF8.self))
            for difference in GatewayShape.differences(recorded, Self.played(name, era)) {
                found[difference, default: []].insert(name)
            }
        }
        let known = Set((Self.known[era] ?? []).map(\.difference))
        for (difference, scripts) in found where !known.contains(difference) {
            Issue.record("\(difference) (\(scripts.sorted().joined(separator: ", ")))")
        }
        for difference in known where found[difference] == nil { Issue.record("no longer: \(difference)") }
    }

    private static let attempt =
        "The recorded attempt is repeated by the agent's library; the script's falls back to another."
    private static let usage = "Rows of failed and stopped runs have a usage of zero."
    private static let stopped = "Followers of a session are told nothing of a run that was stopped."
    private static let cut = "The recorded run outlives the cut of its link."
    private static let refused = "The bridge of the recording asked too early, and the gateway refused the second run."

    /// `-` marks a difference that only the recording has, `+` one of the double.
    private static let known: [GatewayEra: [(difference: String, reason: String)]] = [
        .e1: [
            ("+ agent lifecycle error", attempt),
            ("+ chat error", attempt),
            ("- agent lifecycle end: sessionKey", attempt),
            ("- chat final", attempt),
        ],
        .e2: [
            ("+ agent lifecycle error", attempt),
            ("+ session.message assistant error", attempt),
            ("+ session.message user: status", "The first row of a session has no status yet."),
            ("- session.message assistant error: message.usage", usage),
            ("- session.message assistant stop: message.usage", usage),
            ("- sessions.changed end", stopped),
            ("- sessions.changed send", "The note of a follow-up is told as a message sent."),
        ],
        .e3: [
            ("+ agent lifecycle end", refused),
            ("+ agent lifecycle finishing", refused),
            ("+ chat final: agentId", refused),
            ("+ chat final: stopReason", refused),
            ("+ session.message assistant stop: message.responseId", refused),
            ("- agent lifecycle error", refused),
            ("+ sessions.changed cron-bindings-loaded", "Recordings of a gateway that was up before have none."),
            ("- agent lifecycle end", cut),
            ("- agent lifecycle finishing", cut),
            ("- chat final", cut),
            ("- session.message assistant stop", cut),
            ("- agent lifecycle fallback_step", "The list of models to fall back to is not scripted."),
            ("- session.message assistant error: message.usage", usage),
            ("- session.message assistant stop: message.usage", usage),
            ("- sessions.changed end", stopped),
            ("- sessions.changed error", stopped),
            ("+ chat aborted", "The recorded gateway was killed; the script's is told to restart."),
        ],
    ]
}
