import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Keys that come to the bridge")
struct BridgeSealingTests {
    private static let chat = SessionID("ses_1")
    private static let key = KeyName("k1")

    private static func opening(_ number: Int, _ sealing: TurnSealing = .sealed(nil)) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        return TurnOpening(
            id: TurnID(interaction.text), session: chat, interaction: interaction, agentSession: AgentSession("chat"),
            run: RunID("r\(number)"),
            message: UserMessage(id: MessageID("m\(number)"), session: chat, interaction: interaction, text: ""),
            receivedAt: .at(Double(number)), windowEnds: .at(1_800), sealing: sealing, sealedText: "ct\(number)")
    }

    private static func bridge(_ openings: TurnOpening...) -> Bridge {
        var bridge = Bridge(isJournaled: true)
        for opening in openings { bridge.turnBegins(opening, at: opening.receivedAt) }
        return bridge
    }

    private static func sent(_ bridge: inout Bridge) -> [String] {
        bridge.takeOrders().compactMap { order in
            guard case .commandToKeep(_, .send(_, _, _, let message)) = order else { return nil }
            return message.text
        }
    }

    /// `keyTaken` and `keyLeft`, in order.
    private static func uses(_ bridge: inout Bridge) -> [String] {
        bridge.takeOrders().compactMap { order in
            switch order {
            case .keyTaken(let turn, _, let key): "\(turn) takes \(key)"
            case .keyLeft(let turn, _, let key): "\(turn) leaves \(key)"
            default: nil
            }
        }
    }

    @Test("messages that cannot be read yet are handed over in the order they came, when their key has come")
    func inOrder() {
        var bridge = Self.bridge(Self.opening(1), Self.opening(2), Self.opening(3, .sealed(Self.key)))
        #expect(Self.sent(&bridge) == [])
        #expect(bridge.sessionsAwaitingKey == [Self.chat])
        #expect(
            bridge.messagesAwaitingKey(in: Self.chat).map(\.sealedText) == ["ct1", "ct2"])
        bridge.keyCame(
            Self.key, in: Self.chat, opened: [TurnID("int_2"): .text("second")], at: .at(4))
        #expect(Self.sent(&bridge) == [], "the first cannot be read yet")
        #expect(bridge.messagesAwaitingKey(in: Self.chat).map(\.turn) == [TurnID("int_1")])
        bridge.keyCame(Self.key, in: Self.chat, opened: [TurnID("int_1"): .text("first")], at: .at(5))
        #expect(Self.sent(&bridge) == ["first"])
        #expect(bridge.sessionsAwaitingKey == [])
    }

    @Test("a message whose key never comes lets the next one go")
    func expired() {
        var bridge = Self.bridge(Self.opening(1), Self.opening(2))
        bridge.keyCame(Self.key, in: Self.chat, opened: [TurnID("int_2"): .text("second")], at: .at(4))
        #expect(Self.sent(&bridge) == [])
        bridge.timePassed(at: .at(121))
        #expect(Self.sent(&bridge) == ["second"])
    }

    @Test("a Stop of a message that awaits its key lets the next one go")
    func stopped() {
        var bridge = Self.bridge(Self.opening(1), Self.opening(2))
        bridge.keyCame(Self.key, in: Self.chat, opened: [TurnID("int_2"): .text("second")], at: .at(4))
        bridge.stopped(session: Self.chat, interaction: InteractionID("int_1"), at: .at(5))
        #expect(Self.sent(&bridge) == ["second"])
    }

    @Test("each use of a key is told when it begins and when it ends, also of turns that were restored")
    func uses() throws {
        var bridge = Self.bridge(Self.opening(1, .sealed(Self.key)), Self.opening(2))
        #expect(Self.uses(&bridge) == ["int_1 takes k1"])
        bridge.keyCame(KeyName("k2"), in: Self.chat, opened: [TurnID("int_2"): .text("second")], at: .at(4))
        #expect(Self.uses(&bridge) == ["int_2 takes k2"])

        let records = [1, 2].compactMap { bridge.record(of: TurnID("int_\($0)")) }
        try #require(records.count == 2)
        var restored = Bridge(isJournaled: true)
        for record in records { restored.restore(record, deltas: [], at: .at(5)) }
        #expect(Self.uses(&restored) == ["int_1 takes k1", "int_2 takes k2"])
        restored.ended(session: Self.chat, isDeleted: true, at: .at(6))
        #expect(Self.uses(&restored).sorted() == ["int_1 leaves k1", "int_2 leaves k2"])
    }

    @Test("a turn that awaited its key awaits it in the next process for what is left of the time")
    func restored() throws {
        var bridge = Self.bridge(Self.opening(1))
        _ = bridge.takeOrders()
        let kept = bridge.record(of: TurnID("int_1"))
        let record = try #require(kept)
        var next = Bridge(agentPresent: false, isJournaled: true)
        next.restore(record.stored, deltas: [], at: .at(60))
        #expect(next.sessionsAwaitingKey == [Self.chat])
        #expect(next.messagesAwaitingKey(in: Self.chat).map(\.sealedText) == ["ct1"])
        next.agentBack(at: .at(61))
        #expect(Self.sent(&next) == [])
        #expect(next.nextWake == .at(61) || next.nextWake.map { $0 <= .at(121) } == true)
        next.timePassed(at: .at(120.5))
        #expect(next.turn(TurnID("int_1"))?.outcome == nil)
        next.timePassed(at: .at(121))
        #expect(next.turn(TurnID("int_1"))?.outcome == .neverSent)
    }
}
