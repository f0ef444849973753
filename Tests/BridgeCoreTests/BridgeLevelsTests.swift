import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The levels that a person chooses")
struct BridgeLevelsTests {
    private static let session = SessionID("ses_1")

    private static func bridge(choosesModels: Bool = true) -> Bridge {
        var settings = BridgeSettings()
        settings.choosesModels = choosesModels
        return Bridge(settings: settings, isJournaled: true)
    }

    /// Plays a message with this level to its end, with the agent's answer about the level.
    private static func play(
        _ number: Int, _ level: String?, _ answer: LevelAnswer? = nil, in bridge: inout Bridge
    ) -> (heard: [String], choice: LevelChoice?, line: String?) {
        let interaction = InteractionID("int_\(number)")
        let message = UserMessage(
            id: MessageID("m\(number)"), session: session, interaction: interaction, text: "\(number)",
            thoughtLevel: level)
        let opening = TurnOpening(
            id: TurnID(interaction.text), session: session, interaction: interaction,
            agentSession: AgentSession("chat"), run: RunID("r\(number)"), message: message,
            receivedAt: .at(Double(number)), windowEnds: .at(1_800))
        bridge.turnBegins(opening, at: opening.receivedAt)
        var (heard, choice) = heard(&bridge)
        if let answer, let choice { bridge.levelAnswered(choice, answer, of: opening.run, at: opening.receivedAt) }
        let line = bridge.turn(opening.id)?.bubble.notice
        bridge.agentSays(
            RunSignal(run: opening.run, session: nil, event: .finished(RunEnd(text: "Done."))), at: opening.receivedAt)
        heard += Self.heard(&bridge).kept
        return (heard, choice, line)
    }

    private static func heard(_ bridge: inout Bridge) -> (kept: [String], choice: LevelChoice?) {
        var (kept, choice): ([String], LevelChoice?) = ([], nil)
        for order in bridge.takeOrders() {
            switch order {
            case .keepModel(_, let chosen):
                kept.append("keep \(chosen?.level.map { "\($0.level) from \($0.original ?? "-")" } ?? "-")")
            case .commandToKeep(_, .send(_, _, _, let message)): choice = message.level
            default: break
            }
        }
        return (kept, choice)
    }

    @Test("a level is kept before its message leaves, and a message without one, or with the default, leads back")
    func andBack() {
        for back in [nil, "default", "words that no relay has"] {
            var bridge = Self.bridge()
            #expect(Self.play(1, back, in: &bridge).choice == .unchanged)
            let set = Self.play(2, "max", .set(before: "low", instead: nil), in: &bridge)
            #expect(set.choice == .level(.max) && set.line == nil)
            #expect(set.heard == ["keep max from -", "keep max from low"])
            let next = Self.play(3, "extended", .set(before: "xhigh", instead: nil), in: &bridge)
            #expect(next.choice == .level(.extended) && next.heard == ["keep extended from low"])
            let led = Self.play(4, back, .set(before: nil, instead: nil), in: &bridge)
            #expect(led.choice == .own("low") && led.heard == ["keep -"])
            #expect(Self.play(5, back, in: &bridge).choice == .unchanged)
        }
    }

    @Test("what an earlier choice has set is not the agent's own, also where that is not known")
    func notItsOwn() {
        var bridge = Self.bridge()
        _ = Self.play(1, "max", .set(before: nil, instead: nil), in: &bridge)
        _ = Self.play(2, "max", .set(before: "xhigh", instead: nil), in: &bridge)
        #expect(Self.play(3, nil, in: &bridge).choice == .own(nil))
    }

    @Test("a level that a model lacks is said once in the chat, with what counts instead")
    func lower() {
        var bridge = Self.bridge()
        let answer = LevelAnswer.set(before: nil, instead: "medium")
        let lines = (1...3).map { Self.play($0, "extended", answer, in: &bridge).line }
        #expect(lines[0]?.contains("“extended”") == true && lines[0]?.contains("“medium”") == true)
        #expect(lines.dropFirst().allSatisfy { $0 == nil })
    }

    @Test("a level that was refused was never set: nothing leads back from it")
    func refused() {
        var bridge = Self.bridge()
        let first = Self.play(1, "max", .refused(message: "no such level"), in: &bridge)
        #expect(first.line?.contains("no such level") == true)
        #expect(first.heard == ["keep max from -", "keep -"])
        #expect(Self.play(2, "max", .refused(message: "no such level"), in: &bridge).line == nil)
        #expect(Self.play(3, nil, in: &bridge).choice == .unchanged)
    }

    @Test("another process leads back as well, and keeps the level beside the model")
    func restored() {
        var bridge = Self.bridge()
        bridge.restore(ChosenModel("a/one", level: ChosenLevel(.max, original: "low")), of: Self.session)
        #expect(Self.play(1, nil, in: &bridge).choice == .own("low"))
    }

    @Test("an agent that sets nothing gets no level")
    func fixed() {
        var bridge = Self.bridge(choosesModels: false)
        let played = Self.play(1, "max", in: &bridge)
        #expect(played.choice == .unchanged && played.line == nil && played.heard.isEmpty)
    }
}
