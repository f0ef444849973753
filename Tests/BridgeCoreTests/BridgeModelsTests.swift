import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The models that a person chooses")
struct BridgeModelsTests {
    private static let session = SessionID("ses_1")

    private static func bridge(choosesModels: Bool = true) -> Bridge {
        var settings = BridgeSettings()
        settings.choosesModels = choosesModels
        return Bridge(settings: settings, isJournaled: true)
    }

    private static func opening(_ number: Int, _ model: String?) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        let message = UserMessage(
            id: MessageID("m\(number)"), session: session, interaction: interaction, text: "message \(number)",
            model: model)
        return TurnOpening(
            id: TurnID(interaction.text), session: session, interaction: interaction,
            agentSession: AgentSession("chat"), run: RunID("r\(number)"), message: message,
            receivedAt: .at(Double(number)), windowEnds: .at(1_800))
    }

    /// Orders about kept models and prompts, in their order.
    private static func heard(_ bridge: inout Bridge) -> [String] {
        bridge.takeOrders().compactMap { order in
            switch order {
            case .keepModel(_, let chosen):
                "keep \(chosen?.name ?? "-") from \(chosen?.original ?? "-") said \(chosen?.said ?? "-")"
            case .commandToKeep(_, .send(_, _, _, let message)): "\(message.text) with \(message.choice)"
            case .command(.release(_, let isDeleted)): "release \(isDeleted)"
            default: nil
            }
        }
    }

    /// Plays a message to its end, with the agent's answer about the model. Returns the orders heard, and the line in
    /// the bubble.
    private static func play(
        _ number: Int, _ model: String?, _ answer: ModelAnswer? = nil, in bridge: inout Bridge
    ) -> (heard: [String], line: String?) {
        let opening = opening(number, model)
        bridge.turnBegins(opening, at: opening.receivedAt)
        var heard = heard(&bridge)
        if let answer, let choice = choice(heard) {
            bridge.modelAnswered(choice, answer, of: opening.run, at: opening.receivedAt)
        }
        let line = bridge.turn(opening.id)?.bubble.notice
        bridge.agentSays(
            RunSignal(run: opening.run, session: nil, event: .finished(RunEnd(text: "Done."))), at: opening.receivedAt)
        heard += Self.heard(&bridge)
        return (heard, line)
    }

    @Test("that the agent has lost a chat's conversation is said in the bubble of the message that begins another one")
    func conversationLost() {
        var bridge = Self.bridge()
        bridge.turnBegins(Self.opening(1, nil), at: .at(1))
        bridge.conversationLost(of: RunID("r2"), at: .at(2))
        #expect(bridge.turn(TurnID("int_1"))?.bubble.notice == nil)
        bridge.conversationLost(of: RunID("r1"), at: .at(2))
        #expect(bridge.turn(TurnID("int_1"))?.bubble.notice == Sentences.conversationLost)
    }

    private static func choice(_ heard: [String]) -> ModelChoice? {
        guard let words = heard.last?.split(separator: " with ").last else { return nil }
        if let name = words.firstMatch(of: /named\("(.+)"\)/) { return .named(String(name.output.1)) }
        if let own = words.firstMatch(of: /own\((?:nil|Optional\("(.+)"\))\)/) {
            return .own(own.output.1.map { String($0) })
        }
        return .unchanged
    }

    @Test("a choice is kept before the message that made it leaves, once, and the next message without one leads back")
    func andBack() {
        var bridge = Self.bridge()
        #expect(Self.play(1, nil, in: &bridge).heard == ["message 1 with unchanged"])
        #expect(
            Self.play(2, "a/one", .set(before: "b/two"), in: &bridge).heard == [
                "keep a/one from - said -", #"message 2 with named("a/one")"#, "keep a/one from b/two said -",
            ])
        #expect(Self.play(3, "a/one", .set(before: "a/one"), in: &bridge).heard == [#"message 3 with named("a/one")"#])
        #expect(
            Self.play(4, nil, .set(before: nil), in: &bridge).heard
                == [#"message 4 with own(Optional("b/two"))"#, "keep - from - said -"])
        #expect(Self.play(5, nil, in: &bridge).heard == ["message 5 with unchanged"])
    }

    @Test("a message is handed over with its own choice, whatever a later one names")
    func inOrder() {
        var bridge = Self.bridge()
        bridge.turnBegins(Self.opening(1, "a/one"), at: .at(1))
        bridge.turnBegins(Self.opening(2, "a/two"), at: .at(2))
        bridge.modelSaid("a/three", in: Self.session, at: .at(3))
        #expect(Self.heard(&bridge).filter { $0.hasPrefix("message") } == [#"message 1 with named("a/one")"#])
        bridge.agentSays(
            RunSignal(run: RunID("r1"), session: nil, event: .finished(RunEnd(text: "Done."))), at: .at(4))
        #expect(Self.heard(&bridge).contains(#"message 2 with named("a/two")"#))
        #expect(bridge.saidModel(of: Self.session) == "a/three")
    }

    @Test(
        "a model that is refused three times is in quarantine until another is named: one line at the first, one at the last"
    )
    func quarantine() {
        var bridge = Self.bridge()
        let no = ModelAnswer.refused(message: "no such model")
        let lines = (1...5).map { Self.play($0, "a/bad", no, in: &bridge) }
        #expect(lines[0].line?.contains("a/bad could not be set") == true)
        #expect(lines[0].line?.contains("no such model") == true)
        #expect(lines[1].line == nil)
        #expect(lines[2].line?.contains("3 times") == true)
        #expect(lines[3].line == nil && lines[3].heard == ["message 4 with unchanged"])
        #expect(lines[4].heard == ["message 5 with unchanged"])
        #expect(
            Self.play(6, "a/good", .set(before: nil), in: &bridge).heard.contains(#"message 6 with named("a/good")"#))
        #expect(Self.play(7, "a/bad", no, in: &bridge).line?.contains("could not be set") == true)
    }

    @Test("an agent that does not answer has refused nothing: each message tries the model, and the first says so")
    func unsettled() {
        var bridge = Self.bridge()
        let silent = ModelAnswer.unsettled(message: "no answer in time")
        let lines = (1...5).map { Self.play($0, "a/one", silent, in: &bridge) }
        #expect(lines[0].line?.contains("no answer in time") == true)
        #expect(lines.dropFirst().allSatisfy { $0.line == nil })
        #expect(lines[4].heard.contains(#"message 5 with named("a/one")"#))
    }

    @Test("from a model that was refused nothing leads back: the agent's own was never another one")
    func refusedIsTakenBack() {
        var bridge = Self.bridge()
        let refused = Self.play(1, "a/bad", .refused(message: "no such model"), in: &bridge)
        #expect(refused.heard.last == "keep - from - said -")
        let next = Self.play(2, nil, in: &bridge)
        #expect(next.heard == ["message 2 with unchanged"] && next.line == nil)
    }

    @Test("a model that was the session's own already is no choice to lead back from")
    func ownIsNoChoice() {
        var bridge = Self.bridge()
        _ = Self.play(1, "a/own", .set(before: "a/own"), in: &bridge)
        #expect(Self.play(2, nil, in: &bridge).heard == ["message 2 with unchanged"])
    }

    @Test("two refusals and a success begin the count again")
    func notInARow() {
        var bridge = Self.bridge()
        let no = ModelAnswer.refused(message: "busy")
        for (number, answer) in [no, no, .set(before: nil), no, no].enumerated() {
            let line = Self.play(number + 1, "a/one", answer, in: &bridge).line
            #expect(line?.contains("3 times") != true)
        }
    }

    @Test(
        "a name that none could have is told of once, and never passed on",
        arguments: [String(repeating: "x", count: 10_000), "two words", "", "(no text)"])
    func shape(model: String) {
        var bridge = Self.bridge()
        let first = Self.play(1, model, in: &bridge)
        #expect(first.heard == ["message 1 with unchanged"])
        #expect(first.line?.hasPrefix("The chosen model was not set") == true)
        #expect((first.line?.utf8.count ?? 0) < 300)
        #expect(Self.play(2, model, in: &bridge).line == nil)
    }

    @Test("an agent whose model cannot be chosen says so once for each model")
    func fixed() {
        var bridge = Self.bridge(choosesModels: false)
        #expect(Self.play(1, "a/one", in: &bridge).line?.contains("cannot be chosen") == true)
        #expect(Self.play(2, "a/one", in: &bridge).line == nil)
        #expect(Self.play(3, "a/two", in: &bridge).line?.contains("a/two") == true)
        #expect(Self.play(4, nil, in: &bridge).line == nil)
    }

    @Test("another process knows the choice, and what the agent had before it")
    func restored() {
        var bridge = Self.bridge()
        bridge.restore(ChosenModel("a/one", original: "b/two"), of: Self.session)
        #expect(Self.play(1, nil, in: &bridge).heard == [#"message 1 with own(Optional("b/two"))"#])
    }

    @Test("a choice refused behind a restart leaves what was set before it, also where its message goes out again")
    func refusedBehindRestart() {
        for isRepeated in [true, false] {
            var bridge = Self.bridge()
            bridge.restore(ChosenModel("a/none", fallback: "a/one"), of: Self.session)
            let opening = Self.opening(1, isRepeated ? "a/none" : nil)
            bridge.turnBegins(opening, at: opening.receivedAt)
            bridge.modelAnswered(.named("a/none"), .refused(message: "no"), of: opening.run, at: opening.receivedAt)
            let end = RunSignal(run: opening.run, session: nil, event: .finished(RunEnd(text: "Done.")))
            bridge.agentSays(end, at: opening.receivedAt)
            #expect(Self.heard(&bridge).contains("keep a/one from - said -"))
            #expect(Self.play(2, nil, in: &bridge).heard == ["message 2 with own(nil)"])
        }
    }

    @Test("a choice whose answer never came may be set: a message without a model leads back from it")
    func refusedBehindUnsettled() {
        var bridge = Self.bridge()
        _ = Self.play(1, "a/one", .unsettled(message: "late"), in: &bridge)
        _ = Self.play(2, "a/none", .refused(message: "no"), in: &bridge)
        #expect(Self.play(3, nil, in: &bridge).heard == ["message 3 with own(nil)"])
    }

    @Test("a choice that could not be written is written before the next message leaves")
    func notKept() {
        var bridge = Self.bridge()
        _ = Self.play(1, "a/one", in: &bridge)
        bridge.modelWasNotKept(of: Self.session)
        bridge.modelWasNotKept(of: Self.session)
        #expect(
            Self.play(2, "a/one", in: &bridge).heard
                == ["keep a/one from - said -", #"message 2 with named("a/one")"#])
        #expect(Self.play(3, "a/one", in: &bridge).heard == [#"message 3 with named("a/one")"#])
    }

    @Test("of a deleted chat nothing is kept; an archived one keeps its choice", arguments: [true, false])
    func ended(isDeleted: Bool) {
        var bridge = Self.bridge()
        _ = Self.play(1, "a/one", .set(before: nil), in: &bridge)
        bridge.ended(
            session: Self.session, isDeleted: isDeleted, releasing: AgentSession("chat"), at: .at(9))
        let kept = isDeleted ? ["keep - from - said -"] : []
        #expect(Self.heard(&bridge) == kept + ["release \(isDeleted)"])
    }
}
