import BridgeCore
import RelayRules
import Testing
import Vocabulary
import Worlds

/// One conversation, whose bridge is killed after this many steps of the world.
struct Kill: CustomTestStringConvertible {
    enum Talk: CaseIterable { case text, tool, approval, twoMessages }

    var era: GatewayEra
    var talk: Talk
    var steps: Int?

    var testDescription: String { "\(era) \(talk) after \(steps.map(String.init) ?? "no") steps" }

    static let positions: [Kill] = GatewayEra.allCases.flatMap { era in
        Talk.allCases.flatMap { talk in
            let whole = Kill(era: era, talk: talk).play()
            // Many steps only advance the relay's clock, so this tries every one up to the end, each once.
            return (1...max(1, whole.time.steps)).map { Kill(era: era, talk: talk, steps: $0) }
        }
    }

    var expected: [String: String] {
        switch talk {
        case .text: ["Question?": "One. Two. Three."]
        // An early gateway sends one message of the run at a time (openclaw.md#chat, E1).
        case .tool: ["Question?": "I look.\n\nIt is full."]
        case .approval:
            era == .e1 || era == .e2 ? ["Question?": "May I? I wait.\n\nDone."] : ["Question?": "May I? Done."]
        case .twoMessages: ["Question?": "One. Two. Three.", "And then?": "Four."]
        }
    }

    /// E1 has no list of approvals: a question lost with the process is never shown and never decided.
    func isRight(_ text: String?, for message: String, in world: LiveWorld) -> Bool {
        let wasAsked = world.relay.tally.calls["requestApproval", default: 0] > 0
        guard era == .e1, talk == .approval, !wasAsked else { return text == expected[message] }
        return text?.hasPrefix("May I? I wait.") == true
    }

    func play(_ prepare: (LiveWorld) -> Void = { _ in }) -> LiveWorld {
        let world = LiveWorld(era, scripts: scripts, seed: UInt64(steps ?? 0))
        prepare(world)
        world.start()
        world.writes("Question?", after: .milliseconds(200))
        if talk == .twoMessages { world.writes("And then?", after: .milliseconds(260)) }
        world.run(killAfter: steps)
        return world
    }

    private var scripts: [String: GatewayScript] {
        let text = GatewayScript(
            (20, .says("One. ")), (200, .says("Two. ")), (200, .says("Three.")), (100, .finishes))
        switch talk {
        case .text: return ["Question?": text]
        case .tool:
            return [
                "Question?": GatewayScript(
                    (20, .says("I look. ")), (100, .callsTool(id: "t1", command: "df")),
                    (300, .toolReturns(id: "t1", output: "61%")), (100, .says("It is full.")), (50, .finishes))
            ]
        case .approval:
            return [
                "Question?": GatewayScript(
                    (20, .says("May I? ")), (60, .asksApproval(id: "a1", command: "reboot")),
                    (100, .says("Done.")), (50, .finishes))
            ]
        case .twoMessages:
            return ["Question?": text, "And then?": GatewayScript((20, .says("Four.")), (30, .finishes))]
        }
    }
}

@Suite("A process that is killed at any step")
struct KillTests {
    @Test("every bubble ends with the exact text, once", arguments: Kill.positions)
    func survives(_ kill: Kill) {
        let world = kill.play()
        #expect(world.relay.breaches.isEmpty, "\(world.relay.breaches.map(\.sentence))")
        #expect(world.gateway.breaches.isEmpty, "\(world.gateway.breaches)")
        #expect(world.sent.count == kill.expected.count)
        for message in world.sent {
            let session = world.relay.sessions.first { $0.id == message.session }
            let bubbles = (session?.messages ?? []).filter { $0.role == .agent }
                .filter { $0.interaction == message.interaction }
            #expect(bubbles.count == 1, "\(message.text) has \(bubbles.count) bubbles")
            #expect(bubbles.first?.isFinal == true)
            let text = bubbles.first?.text
            #expect(kill.isRight(text, for: message.text, in: world), "ended with \(text ?? "nothing")")
            if let bubble = bubbles.first { #expect(bubble.text.hasPrefix(bubble.streamed)) }
            let loose = (session?.messages ?? []).filter { $0.role == .agent && $0.interaction == nil }
            #expect(loose.isEmpty, "\(loose.map(\.text))")
            let tasks = session?.tasks ?? []
            #expect(tasks.allSatisfy { $0.status != nil }, "a task was never finished")
            #expect(world.gateway.begun[message.text] == 1, "\(message.text) was begun \(world.gateway.begun)")
        }
        #expect(world.openTurns == 0)
        let held = world.heldBytes
        // At most one call of the process before stays. Each costs 256 bytes and its body.
        #expect(held.lanes == 0 && held.agent == 0 && held.storedCalls < 800, "\(held)")
    }
}
