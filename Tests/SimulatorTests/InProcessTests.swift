import LocalServer
import Locking
import RelayRules
import Simulator
import Testing
import WireTesting

/// Calls of the demo and the tests that need no socket.
@Suite struct InProcessTests {
    private static func approval(_ sent: RelaySimulator.UserMessage) -> String {
        #"{"session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)","approval_id":"apr_1","#
            + #""action":"shell.exec","title":"Run","message":"Run it?","command":"ls","severity":"medium","#
            + #""idempotency_key":"k-a"}"#
    }

    @Test func eventsAreToldInOrderWhicheverSideTheyComeFrom() throws {
        let stage = try Stage()
        let seen = Locked<[PhoneEvent]>([])
        stage.simulator.onEvent { event in seen.withLock { $0.append(event) } }
        let (_, bubble) = try stage.openTurn()
        _ = try stage.bridge("sendMessageDelta", stage.delta(bubble, "Hello", key: "k-d-1"))
        _ = try stage.bridge("sendMessageEnd", stage.end(bubble, "Hello"))
        let events = seen.withLock { $0 }
        #expect(events.map(\.type) == ["message_added", "message_added", "message_delta", "message_finalized"])
        #expect(events.map(\.id) == [3, 4, 5, 6])
    }

    @Test func aHandlerMayAnswerAnApprovalAtOnce() throws {
        let stage = try Stage()
        let simulator = stage.simulator
        let updates = Locked<[String]>([])
        stage.simulator.onUpdate { update in updates.withLock { $0.append(update.type) } }
        stage.simulator.onEvent { event in
            if event.type == "approval_requested" {
                #expect(simulator.decide(approval: "apr_1", decision: "approve"))
            }
        }
        let (sent, _) = try stage.openTurn()
        #expect(try stage.bridge("requestApproval", Self.approval(sent)).status == 200)
        #expect(updates.withLock { $0 } == ["session.message", "session.message", "approval.resolved"])
        #expect(stage.simulator.pendingApprovals.isEmpty)
        #expect(!stage.simulator.decide(approval: "apr_1", decision: "deny"), "it is decided")
    }

    @Test func updatesThatWaitAreToldToALateSubscriberOnceAndGoWhenAcknowledged() throws {
        let stage = try Stage()
        let seen = Locked<[PendingUpdate]>([])
        stage.simulator.onUpdate { update in seen.withLock { $0.append(update) } }
        let sent = stage.say("late")
        stage.simulator.userStops(session: sent.session, interaction: sent.interaction)
        let updates = seen.withLock { $0 }
        #expect(updates.map(\.type) == ["session.message", "session.message", "session.cancelled"])
        let last = try #require(updates.last)
        stage.simulator.acknowledge(upTo: last.id)
        #expect(try stage.user("GET", "/v1/simulator/state").text.contains(#""pending_updates":0"#))
    }

    @Test func anApprovalThatNobodyAnswersExpiresByItself() throws {
        let stage = try Stage()
        let (sent, _) = try stage.openTurn()
        #expect(try stage.bridge("requestApproval", Self.approval(sent)).status == 200)
        let updates = Locked<[PendingUpdate]>([])
        stage.simulator.onUpdate { update in updates.withLock { $0.append(update) } }
        stage.clock.advance(milliseconds: 302_000)
        #expect(updates.withLock { $0.last?.type } == "approval.resolved")
        #expect(stage.simulator.pendingApprovals.isEmpty)
    }

    @Test func eventsFromManyThreadsAreToldOneAtATimeInOrder() async throws {
        let stage = try Stage()
        let (simulator, session) = (stage.simulator, stage.session)
        let seen = Locked<[UInt64]>([])
        simulator.onEvent { event in seen.withLock { $0.append(event.id) } }
        await withTaskGroup { group in
            for thread in 0..<4 {
                group.addTask {
                    for number in 0..<50 { simulator.userSends(text: "\(thread) \(number)", session: session) }
                }
            }
        }
        #expect(seen.withLock { $0 } == Array(3...202))
    }

    @Test func aPortInUseIsSaid() throws {
        let stage = try Stage()
        var settings = RelaySimulator.Settings()
        settings.listen = "127.0.0.1:\(stage.simulator.port)"
        let second = RelaySimulator(settings: settings)
        #expect { try second.start() } throws: { ($0 as? LocalServerError)?.code == .portInUse }
        #expect(second.baseURL.isEmpty)
    }

    @Test func theSocketIsDrivenFromTheSameProcess() throws {
        let stage = try Stage()
        let simulator = stage.simulator
        let first = BridgeSide(stage)
        try first.opened()
        #expect(try first.nextType() == "ready")
        #expect(try first.nextType() == "1 session.message")
        let update = simulator.pushUpdate(type: "task.timeout", payload: #"{"task_id":"t","reason":"user_cancelled"}"#)
        #expect(try first.nextType() == "\(update) task.timeout")
        let request = try #require(simulator.ask(type: "models.list.req"))
        #expect(try first.nextType() == "models.list.req")
        simulator.closeSockets(code: 1012)
        #expect(try first.next() == "closed 1012")
        while !simulator.sockets.isEmpty { _ = try stage.wire().exchange("GET", "/healthz") }
        #expect(simulator.remoteRequest(request)?.outcome == .lost)

        simulator.plan(SocketFault(.silent))
        simulator.forgetSocketFaults()
        let second = BridgeSide(stage)
        try second.opened()
        #expect(try second.nextType() == "ready")
        simulator.silenceSockets(halfOpen: false)
        simulator.cutSockets()
        while try second.next() != "lost" {}
        simulator.revokeInstallation()
        #expect(simulator.revoke(token: simulator.bridgeToken))
        #expect(!simulator.revoke(token: "other"))
        #expect(try BridgeSide(stage).next() == "refused 401")
    }
}
