import BridgeCore
import BridgeService
import RelayRules
import Simulator
import Testing

@Suite("Misfortunes on real sockets", .timeLimit(.minutes(3)))
struct FaultTests {
    private static let faults: [Fault.Kind] = [
        .rateLimited(retryAfterMilliseconds: 20, namesBucket: true),
        .rateLimited(retryAfterMilliseconds: 20, namesBucket: false), .status(500, retryAfterMilliseconds: nil),
        .status(502, retryAfterMilliseconds: nil), .status(503, retryAfterMilliseconds: 20), .reset, .replyLost, .html,
        .truncated, .huge, .oddRetryAfter("soon"),
        .oddRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT"), .redirect, .slow(milliseconds: 50),
    ]
    private static let methods = ["sendMessage", "sendMessageDelta", "sendMessageEnd", "createTask", "finishTask"]

    @Test("any call meets any misfortune, and the answer is on the phone all the same", arguments: faults)
    func survives(kind: Fault.Kind) async throws {
        let pipeline = try Pipeline()
        for method in Self.methods { pipeline.simulator.plan(Fault(kind, method: method)) }
        try pipeline.play("openclaw-exec-approval-inline.jsonl")
        let summary = await pipeline.finish()
        #expect(pipeline.simulator.breaches.isEmpty, "\(pipeline.simulator.breaches)")
        #expect(pipeline.simulator.tally.faults >= 4)
        let end = try #require(summary.ends.first)
        #expect(
            pipeline.bubble(of: end)?.text == "Let me check the disk.\n\nYour disk is 61% full, so there is room left.")
        #expect(pipeline.bubble(of: end)?.isFinal == true)
        // The relay showed nothing twice.
        let agentMessages = pipeline.simulator.sessions.flatMap(\.messages).filter { $0.role == .agent }
        #expect(agentMessages.count == 1)
    }

    @Test("a token that is refused stops the connection at once")
    func unauthorized() async throws {
        let pipeline = try Pipeline()
        pipeline.simulator.plan(Fault(.unauthorized, count: 100))
        try pipeline.play("openclaw-plain-text.jsonl")
        while pipeline.simulator.tally.calls.isEmpty, !Task.isCancelled { await Task.yield() }
        while pipeline.runner.ask({ $0.callsUnderWay }) > 0, !Task.isCancelled { await Task.yield() }
        #expect(pipeline.simulator.tally.calls.values.reduce(0, +) == 1)
        pipeline.runner.stop()
        pipeline.simulator.stop()
    }
}
