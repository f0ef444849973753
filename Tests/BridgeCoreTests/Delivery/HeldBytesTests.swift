import Testing
import Vocabulary

@testable import BridgeCore

@Suite("What lanes hold in bytes")
struct HeldBytesTests {
    private static func turn(_ number: Int) -> TurnID { TurnID("int_\(number)") }

    /// Lanes whose open is never answered, so all other posts queue up.
    private static func delivery(lanes: Int, bound: Int = 1 << 20) -> Delivery {
        var settings = DeliverySettings()
        settings.heldBytes = bound
        var delivery = Delivery(settings: settings)
        let now = Instant(nanoseconds: 1_000_000_000)
        for number in 0..<lanes {
            let session = SessionID("ses_\(number)")
            delivery.openLane(
                LaneAddress(turn: turn(number), session: session, interaction: InteractionID("int_\(number)")),
                windowEnds: now + .seconds(1_800))
            delivery.post(.open, on: turn(number), at: now)
        }
        return delivery
    }

    private static func end(_ call: Int, _ bytes: Int) -> Post {
        .taskEnded(
            TaskEnd(
                task: TaskID("t\(call)"), name: "exec", status: .completed,
                result: .string(String(repeating: "x", count: bytes))))
    }

    private static let now = Instant(nanoseconds: 2_000_000_000)

    private static func waiting(_ delivery: borrowing Delivery, _ number: Int) -> [Post] {
        (delivery.record(of: turn(number))?.waitingPosts ?? [])
    }

    @Test("sixty tools with 90 KB of output in each of thirty lanes stay within the bound")
    func bounded() {
        var delivery = Self.delivery(lanes: 30)
        for call in 0..<60 {
            for lane in 0..<30 {
                delivery.post(
                    .taskStarted(TaskStart(task: TaskID("t\(call)"), kind: "exec")), on: Self.turn(lane), at: Self.now)
                delivery.post(Self.end(call, 90_000), on: Self.turn(lane), at: Self.now)
                #expect(delivery.heldBytes <= 1 << 20 + 100_000 || call > 20)
            }
        }
        // The lane still sends each card, with a mark in the place of a cut payload. 120 short cards per lane remain.
        #expect(delivery.heldBytes < 6 << 20)
        for lane in 0..<30 {
            let posts = Self.waiting(delivery, lane)
            #expect(posts.count { if case .taskEnded = $0 { true } else { false } } == 60)
        }
        #expect(delivery.tally.payloadsCut > 1_700)
    }

    @Test("progress goes first, then the oldest payloads, and never an end, a message or an approval")
    func order() throws {
        var delivery = Self.delivery(lanes: 1, bound: 340_000)
        let turn = Self.turn(0)
        let long = String(repeating: "y", count: 60_000)
        delivery.post(
            .approval(
                ApprovalCard(approval: ApprovalID("a"), action: "exec", title: "t", message: long, severity: .low)),
            on: turn, at: Self.now)
        delivery.post(Self.end(1, 90_000), on: turn, at: Self.now)
        delivery.post(
            .taskProgress(TaskProgress(task: TaskID("t2"), partialResult: .string(long))), on: turn, at: Self.now)
        delivery.post(Self.end(3, 80_000), on: turn, at: Self.now)
        #expect(Self.waiting(delivery, 0).count == 4)
        delivery.post(.end(EndOfTurn(text: long)), on: turn, at: Self.now)
        var posts = Self.waiting(delivery, 0)
        #expect(!posts.contains { if case .taskProgress = $0 { true } else { false } })
        #expect(posts.contains(Self.end(1, 90_000)))
        delivery.post(.message(WholeMessage(part: .more(1), text: long)), on: turn, at: Self.now)
        posts = Self.waiting(delivery, 0)
        #expect(!posts.contains(Self.end(1, 90_000)))
        let cut = posts.compactMap { if case .taskEnded(let end) = $0 { end.result?.text } else { nil } }.first
        #expect(try #require(cut).hasSuffix("… (cut)\""))
        #expect(posts.contains(Self.end(3, 80_000)))
        for part in 2...9 {
            delivery.post(.message(WholeMessage(part: .more(part), text: long)), on: turn, at: Self.now)
        }
        posts = Self.waiting(delivery, 0)
        #expect(posts.contains(.end(EndOfTurn(text: long))))
        #expect(posts.count { if case .message(let message) = $0 { message.text == long } else { false } } == 9)
        #expect(posts.contains { if case .approval(let card) = $0 { card.message == long } else { false } })
    }

    @Test("above the bound a post has its own lane looked at, and others again once they have something to cut")
    func nothingToCut() {
        var delivery = Self.delivery(lanes: 30, bound: 100_000)
        let long = WholeMessage(part: .more(1), text: String(repeating: "y", count: 60_000))
        delivery.post(.message(long), on: Self.turn(0), at: Self.now)
        #expect(delivery.held.cuttable.count == 30)
        for number in 1..<30 {
            delivery.post(.message(long), on: Self.turn(number), at: Self.now)
            #expect(delivery.held.cuttable.isEmpty)
        }
        #expect(delivery.heldBytes > 30 * 60_000 && delivery.tally.payloadsCut == 0)
        delivery.post(Self.end(1, 90_000), on: Self.turn(7), at: Self.now)
        #expect(delivery.tally.payloadsCut == 1 && delivery.held.cuttable.count == 1)
        delivery.post(.message(WholeMessage(part: .more(2), text: long.text)), on: Self.turn(8), at: Self.now)
        #expect(delivery.tally.payloadsCut == 1 && delivery.held.cuttable.isEmpty)
    }

    @Test("a lane that loses the only post it had gives up its place in the line")
    func lostPlace() throws {
        var settings = DeliverySettings()
        settings.heldBytes = 100_000
        var random = SystemRandomNumberGenerator()
        var delivery = Delivery(settings: settings)
        for number in 0..<2 {
            delivery.openLane(
                LaneAddress(turn: Self.turn(number), session: SessionID("ses_\(number)"), interaction: nil),
                windowEnds: Self.now + .seconds(1_800))
            delivery.post(.open, on: Self.turn(number), at: Self.now)
            guard case .attempt(let open) = delivery.next(at: Self.now) else {
                Issue.record("no open was sent")
                return
            }
            _ = delivery.answered(
                open.call, with: RelayAnswer(.delivered(RelayReceipt(message: MessageID("msg_\(number)")))),
                at: Self.now, using: &random)
        }
        // The bucket lends one call, which the first lane has, so the second queues behind it.
        for number in 0..<2 {
            delivery.post(
                .taskProgress(TaskProgress(task: TaskID("t\(number)"), label: "l")), on: Self.turn(number), at: Self.now
            )
        }
        guard case .attempt(let first) = delivery.next(at: Self.now) else {
            Issue.record("nothing was sent")
            return
        }
        #expect(delivery.lanesWaiting(for: .task) == 1)
        delivery.post(
            .message(WholeMessage(part: .more(1), text: String(repeating: "x", count: 120_000))), on: Self.turn(0),
            at: Self.now)
        #expect(delivery.lanesWaiting(for: .task) == 0)
        _ = delivery.answered(
            first.call, with: RelayAnswer(.delivered(RelayReceipt())), at: Self.now, using: &random)
        guard case .attempt(let next) = delivery.next(at: Self.now) else {
            Issue.record("nothing was sent")
            return
        }
        #expect(next.turn == Self.turn(0))
    }

    @Test("what is delivered, given up or abandoned is not held any more")
    func returns() throws {
        var lane = LaneConversation.opened()
        #expect(lane.delivery.heldBytes == 0)
        lane.post(.taskStarted(TaskStart(task: TaskID("t"), kind: "exec", arguments: .string("abc"))))
        lane.post(.taskProgress(TaskProgress(task: TaskID("t"), label: "one")))
        lane.post(.taskProgress(TaskProgress(task: TaskID("t"), label: "another")))
        lane.post(.text("Hello"))
        lane.post(.text(" there"))
        #expect(lane.delivery.heldBytes > 3 * HeldBytes.entryCost)
        let call = try lane.nextCall()
        #expect(lane.delivery.heldBytes > 3 * HeldBytes.entryCost)
        lane.lose(call)
        while lane.deliver() != nil {}
        #expect(lane.delivery.heldBytes == 0)
        lane.post(.text("More."))
        lane.delivery.abandon(LaneConversation.turn)
        #expect(lane.delivery.heldBytes == 0)
    }

    @Test("what runs have said counts while their turns are open, and cards give way to half of the bound")
    func texts() {
        var settings = BridgeSettings()
        settings.delivery.heldBytes = 600_000
        var bridge = Bridge(settings: settings)
        for number in 0..<3 {
            bridge.turnBegins(
                TurnOpening(
                    id: Self.turn(number), session: SessionID("ses_\(number)"),
                    interaction: InteractionID("int_\(number)"), agentSession: AgentSession("agent-\(number)"),
                    run: RunID("run-\(number)"), message: nil, receivedAt: Self.now,
                    windowEnds: Self.now + .seconds(1_800)), at: Self.now)
        }
        func says(_ run: Int, _ event: RunEvent) {
            bridge.agentSays(RunSignal(run: RunID("run-\(run)"), session: nil, event: event), at: Self.now)
        }
        func returns(_ call: String) {
            says(0, .tool(.started(ToolStart(call: ToolCallID(call), name: "exec"))))
            says(
                0,
                .tool(
                    .finished(
                        ToolResult(
                            call: ToolCallID(call), status: .completed,
                            result: .string(String(repeating: "x", count: 90_000))))))
        }
        returns("t0")
        returns("t1")
        #expect(bridge.heldInLanes > 180_000)
        // Nothing is cut below the bound. Above it, cards go first.
        says(1, .text(.append(String(repeating: "y", count: 100_000))))
        #expect(bridge.heldTexts >= 100_000 && bridge.heldInLanes > 180_000)
        says(1, .text(.append(String(repeating: "y", count: 900_000))))
        #expect(bridge.heldTexts >= 1_000_000)
        returns("t2")
        #expect(bridge.tally.payloadsCut == 1)
        #expect(bridge.heldBytes >= 1_150_000)
        // An end takes the run's text into its lane.
        says(1, .finished(RunEnd(reason: .stop)))
        #expect(bridge.heldTexts == 0)
        #expect(bridge.heldInLanes > 1_000_000)
    }

    @Test("reading stops at the limit and goes on at three quarters of it")
    func gate() {
        var gate = MemoryGate(limit: 1_000)
        func lanes(_ bytes: Int) -> MemoryGate.Change? { gate.holds(Self.held(lanes: bytes)) }
        #expect(lanes(999) == nil)
        #expect(lanes(1_000) == .stopReading)
        #expect(gate.isClosed)
        #expect(lanes(2_000) == nil)
        #expect(lanes(751) == nil)
        #expect(lanes(750) == .goOn)
        #expect(lanes(900) == nil)
    }

    @Test("texts of open runs bring the limit nearer, and never keep it: only what is read ends their runs")
    func textsOfOpenRuns() {
        var gate = MemoryGate(limit: 1_000)
        #expect(gate.holds(Self.held(lanes: 499, texts: 50_000)) == nil)
        #expect(gate.holds(Self.held(lanes: 500, texts: 500)) == .stopReading)
        #expect(gate.holds(Self.held(lanes: 250, texts: 50_000)) == .goOn)
    }

    private static func held(lanes: Int, texts: Int = 0) -> HeldBytes {
        var held = HeldBytes()
        (held.lanes, held.texts) = (lanes, texts)
        return held
    }
}

@Suite("More runs than the agent is given at once")
struct RunLimitTests {
    private static func opening(_ number: Int) -> TurnOpening {
        let session = SessionID("ses_\(number)")
        let now = Instant(nanoseconds: Int64(number) * 1_000_000)
        return TurnOpening(
            id: TurnID("int_\(number)"), session: session, interaction: InteractionID("int_\(number)"),
            agentSession: AgentSession("agent-\(99 - number)"), run: RunID("run-\(number)"),
            message: UserMessage(id: MessageID("msg_\(number)"), session: session, interaction: nil, text: "hi"),
            receivedAt: now,
            windowEnds: now + .seconds(1_800))
    }

    private static func sent(_ orders: [BridgeOrder]) -> [String] {
        orders.compactMap { if case .command(.send(let turn, _, _, _)) = $0 { turn.text } else { nil } }
    }

    @Test("they wait their turn, in the order their messages came, and none is refused")
    func waiting() {
        var settings = BridgeSettings()
        settings.runLimit = 3
        var bridge = Bridge(settings: settings)
        let now = Instant(nanoseconds: 1_000_000_000)
        for number in 1...7 { bridge.turnBegins(Self.opening(number), at: now) }
        #expect(Self.sent(bridge.takeOrders()) == ["int_1", "int_2", "int_3"])
        #expect(bridge.figures(at: now).waitingTurns == 4)
        func ends(_ number: Int) -> [String] {
            bridge.agentSays(
                RunSignal(
                    run: RunID("run-\(number)"), session: AgentSession("agent-\(99 - number)"),
                    event: .finished(RunEnd(text: "done"))), at: now)
            return Self.sent(bridge.takeOrders())
        }
        #expect(ends(2) == ["int_4"])
        #expect(ends(1) == ["int_5"])
        // A message without a place may be stopped like any other.
        bridge.stopped(session: SessionID("ses_6"), interaction: InteractionID("int_6"), at: now)
        _ = bridge.takeOrders()
        #expect(ends(3) == ["int_7"])
        #expect(ends(4).isEmpty)
    }

    @Test("after the agent was away they go on in that order too")
    func agentBack() {
        var settings = BridgeSettings()
        settings.runLimit = 2
        var bridge = Bridge(settings: settings, agentPresent: false)
        let now = Instant(nanoseconds: 1_000_000_000)
        for number in 1...5 { bridge.turnBegins(Self.opening(number), at: now) }
        #expect(Self.sent(bridge.takeOrders()).isEmpty)
        bridge.agentBack(at: now)
        #expect(Self.sent(bridge.takeOrders()) == ["int_1", "int_2"])
    }
}
