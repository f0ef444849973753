import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Files on their way through the bridge")
struct BridgeFilesTests {
    static func opening(_ number: Int, files: Int = 1) -> TurnOpening {
        let interaction = InteractionID("int_\(number)")
        var message = UserMessage(
            id: MessageID("m\(number)"), session: SessionID("ses_1"), interaction: interaction,
            text: "message \(number)")
        message.attachments = (0..<files).map { Attachment(url: "https://u/\($0)", name: "\($0).png") }
        return TurnOpening(
            id: TurnID(interaction.text), session: message.session, interaction: interaction,
            agentSession: AgentSession("chat"), run: RunID("r\(number)"), message: message,
            receivedAt: .at(Double(number)), windowEnds: .at(1_800))
    }

    private static func bridge(_ openings: TurnOpening..., whenBusy: WhenBusy = .wait) -> Bridge {
        var settings = BridgeSettings()
        settings.whenBusy = whenBusy
        var bridge = Bridge(settings: settings)
        for opening in openings { bridge.turnBegins(opening, at: opening.receivedAt) }
        return bridge
    }

    /// Orders to the agent and to the disk, in words.
    private static func heard(_ bridge: inout Bridge) -> [String] {
        bridge.takeOrders().compactMap { order in
            switch order {
            case .command(.send(_, _, _, let message)): "\(message.text) with \(message.files.count)"
            case .fetch(let turn, let attachments): "fetch \(attachments.count) of \(turn)"
            case .dropFiles(let turn): "drop \(turn)"
            default: nil
            }
        }
    }

    private static func fetched(_ opening: TurnOpening) -> [Attachment] { TurnFilesTests.fetched(opening) }

    @Test("a later message waits for the files of an earlier one", arguments: WhenBusy.allCases)
    func order(whenBusy: WhenBusy) {
        var bridge = Self.bridge(Self.opening(1), Self.opening(2, files: 0), whenBusy: whenBusy)
        #expect(Self.heard(&bridge) == ["fetch 1 of int_1"])
        bridge.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(3))
        let later = whenBusy == .steer ? ["message 2 with 0"] : []
        #expect(Self.heard(&bridge) == ["message 1 with 1"] + later)
    }

    @Test("they are dropped when the agent has taken the message, once", arguments: [true, false])
    func taken(isTaken: Bool) {
        var bridge = Self.bridge(Self.opening(1))
        bridge.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(3))
        _ = Self.heard(&bridge)
        let run = RunID("r1")
        bridge.agentSays(RunSignal(run: run, session: nil, event: .started), at: .at(4))
        #expect(Self.heard(&bridge) == [])
        bridge.sendAnswered(isTaken ? .accepted(run: run) : .refused(message: "no"), run: run, at: .at(5))
        #expect(Self.heard(&bridge) == ["drop int_1"])
        bridge.agentSays(RunSignal(run: run, session: nil, event: .finished(RunEnd(text: "x"))), at: .at(6))
        #expect(Self.heard(&bridge) == [])
    }

    @Test("a stop drops them and lets the next message go; what comes late is not taken")
    func stopped() {
        var bridge = Self.bridge(Self.opening(1), Self.opening(2, files: 0))
        _ = Self.heard(&bridge)
        bridge.stopped(session: SessionID("ses_1"), interaction: InteractionID("int_1"), at: .at(3))
        #expect(Self.heard(&bridge).sorted() == ["drop int_1", "message 2 with 0"])
        bridge.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(4))
        #expect(Self.heard(&bridge) == [])
    }

    @Test("files that never come let the message go, and the next one behind it")
    func late() {
        var bridge = Self.bridge(Self.opening(1), whenBusy: .steer)
        bridge.turnBegins(Self.opening(2, files: 0), at: .at(2))
        _ = Self.heard(&bridge)
        bridge.timePassed(at: .at(662))
        #expect(Self.heard(&bridge) == ["drop int_1", "message 1 with 0", "message 2 with 0"])
    }

    @Test("a chat that is deleted, and a bridge that stops, drop them", arguments: [true, false])
    func ended(isDeleted: Bool) {
        var bridge = Self.bridge(Self.opening(1))
        _ = Self.heard(&bridge)
        if isDeleted {
            bridge.ended(session: SessionID("ses_1"), isDeleted: true, at: .at(3))
        } else {
            bridge.closeAll(at: .at(3))
        }
        #expect(Self.heard(&bridge) == ["drop int_1"])
    }

    @Test(
        "another process fetches them again, whether they had come or not; the message is sent once",
        arguments: [true, false])
    func restored(hadCome: Bool) {
        var first = Self.bridge(Self.opening(0, files: 0), Self.opening(1))
        if hadCome { first.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(3)) }
        guard let record = first.record(of: TurnID("int_1")) else {
            Issue.record("it is not kept")
            return
        }
        var second = Bridge(agentPresent: false, isJournaled: false)
        second.restore(record.stored, deltas: [], at: .at(10))
        #expect(Self.heard(&second) == ["fetch 1 of int_1"])
        second.agentBack(at: .at(11))
        #expect(Self.heard(&second) == [])
        second.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(12))
        #expect(Self.heard(&second) == ["message 1 with 1"])
        #expect(second.turn(TurnID("int_1"))?.phase == .handedOver)
    }

    @Test("a message that had left is not fetched for again")
    func handedOver() {
        var first = Self.bridge(Self.opening(1))
        first.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(3))
        guard let record = first.record(of: TurnID("int_1")) else {
            Issue.record("it is not kept")
            return
        }
        var second = Bridge(agentPresent: false)
        second.restore(record.stored, deltas: [], at: .at(10))
        second.agentBack(at: .at(11))
        #expect(Self.heard(&second) == [])
    }

    @Test("what was noted of files is kept where none went along: the next process may send the same text again")
    func bare() {
        for missing in [1, 2] {
            let opening = Self.opening(1, files: 2)
            var bridge = Self.bridge(opening)
            bridge.fetched(TurnFilesTests.fetched(opening, missing: missing), for: TurnID("int_1"), at: .at(3))
            let kept = bridge.record(of: TurnID("int_1")).map { $0.stored.forwarded }
            let whole = ["0.png", "1.png"].map { MissingFile.notFetched($0, "the server answered 404") }
            #expect(kept?.runs == [RunID("r1")] && kept?.wentWithout == (missing == 2 ? whole : []))
        }
    }

    @Test("that are not to be fetched are named, and the message goes", arguments: [MessageFiles.open, .none, .all])
    func refused(files: MessageFiles) {
        for isSealed in [false, true] {
            var settings = BridgeSettings()
            settings.turn.files = files
            var bridge = Bridge(settings: settings)
            var opening = Self.opening(1)
            if isSealed { opening.sealing = .sealed(KeyName("k1")) }
            bridge.turnBegins(opening, at: opening.receivedAt)
            let isFetched = files == .all || files == .open && !isSealed
            #expect(Self.heard(&bridge) == [isFetched ? "fetch 1 of int_1" : "message 1 with 0"])
            let missing = bridge.turn(TurnID("int_1"))?.opening.message?.missing.map(\.sentence) ?? []
            #expect(missing.isEmpty == isFetched)
            #expect(missing.allSatisfy { $0.hasPrefix("0.png could not be fetched: this bridge takes no files") })
        }
    }

    @Test("what an agent leaves out is said in the bubble of its run")
    func leftOut() {
        var bridge = Self.bridge(Self.opening(1))
        bridge.fetched(Self.fetched(Self.opening(1)), for: TurnID("int_1"), at: .at(3))
        bridge.filesLeftOut([.notPassedOn("0.png", "no")], of: RunID("r1"), at: .at(4))
        bridge.filesLeftOut([.notPassedOn("0.png", "no")], of: RunID("other"), at: .at(4))
        #expect(bridge.turn(TurnID("int_1"))?.bubble.notice == "0.png was not passed on: no.")
    }
}
