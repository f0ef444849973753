import BridgeCore
import Testing
import Vocabulary
import Worlds

@Suite("The retry policy")
struct RetryPolicyTests {
    /// Consequences, in the words of this table.
    enum Expected: Hashable { case retry, done, drop, again, ask, gone, window, stop }

    /// The kinds in the table's order: open, text, task start, progress, task end, approval, end, whole message.
    struct Row: CustomTestStringConvertible {
        var status: Int
        var code: RelayErrorCode
        var expected: [Expected]

        var testDescription: String { "\(status) \(code)" }

        init(_ status: Int, _ code: RelayErrorCode, _ expected: Expected...) {
            self.status = status
            self.code = code
            self.expected = expected.count == 1 ? Array(repeating: expected[0], count: 8) : expected
        }
    }

    static let byCode: [Row] = [
        Row(400, .invalidRequest, .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(413, .payloadTooLarge, .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(400, .invalidTokenLocation, .stop), Row(401, .invalidToken, .stop), Row(403, .installationRevoked, .stop),
        Row(410, .installationRevoked, .stop), Row(404, .agentNotFound, .stop),
        Row(403, .permissionDenied, .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(403, .other("memory_access_denied"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(422, .other("tool_not_declared"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(404, .sessionNotFound, .gone), Row(404, .interactionNotFound, .gone), Row(410, .sessionDeleted, .gone),
        Row(410, .other("something_gone"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(404, .other("something_else"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(499, .other("something_new"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(410, .interactionExpired, .window, .window, .window, .window, .window, .window, .window, .ask),
        Row(409, .idempotencyConflict, .again, .drop, .done, .done, .done, .ask, .done, .ask),
        Row(409, .messageFinalized, .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(451, .contentBlocked, .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(429, .rateLimited, .retry), Row(429, .other("slow_down"), .retry),
        Row(503, .temporarilyUnavailable, .retry), Row(503, .agentDegraded, .retry),
        Row(500, .internalError, .retry), Row(502, .upstreamError, .retry), Row(504, .other("gateway"), .retry),
        Row(401, .other("who"), .ask, .drop, .drop, .drop, .drop, .ask, .ask, .ask),
        Row(302, .other("moved"), .retry), Row(408, .other("slow"), .retry), Row(425, .other("early"), .retry),
        Row(503, .other("full"), .retry), Row(500, .other("oops"), .retry),
        // A 5xx status means trouble at the relay, whatever the code.
        Row(500, .invalidToken, .retry), Row(502, .agentNotFound, .retry), Row(503, .installationRevoked, .retry),
        Row(500, .invalidTokenLocation, .retry), Row(500, .sessionNotFound, .retry), Row(503, .sessionDeleted, .retry),
        Row(500, .interactionExpired, .retry), Row(500, .invalidRequest, .retry), Row(503, .messageFinalized, .retry),
    ]

    private let now = Instant(nanoseconds: 1_000_000_000)

    private func tried(_ kind: PostKind) -> RetryPolicy.Tried {
        RetryPolicy.Tried(kind: kind, deadline: now + .seconds(1800))
    }

    private func word(_ decision: RetryDecision) -> Expected? {
        switch decision {
        case .retry: .retry
        case .done: .done
        case .drop: .drop
        case .again: .again
        case .askTurn: .ask
        case .destinationGone: .gone
        case .windowClosed: .window
        case .stopConnection: .stop
        case .delivered, .deadLetter, .anothers: nil
        }
    }

    @Test("each code means for each kind of post what the design says", arguments: byCode)
    func codes(row: Row) {
        var random = SeededGenerator(seed: 1)
        let kinds: [PostKind] = [
            .open, .text, .taskStarted, .taskProgress, .taskEnded, .approval, .end, .message,
        ]
        let decisions = kinds.map { kind in
            var policy = RetryPolicy()
            return word(
                policy.decide(
                    .refused(RelayRefusal(status: row.status, code: row.code)), tried: tried(kind), at: now,
                    using: &random))
        }
        #expect(decisions == row.expected)
    }

    @Test(
        "a bubble that has its end already is ours only if an earlier try may have landed",
        arguments: [
            PostKind.end, .text,
        ])
    func finalized(kind: PostKind) {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: 1)
        var tried = tried(kind)
        tried.mayHaveLanded = true
        let refusal = RelayRefusal(status: 409, code: .messageFinalized)
        #expect(policy.decide(.refused(refusal), tried: tried, at: now, using: &random) == .done(.messageFinalized))
    }

    @Test("an open that is delivered without the id of its bubble has no outcome")
    func openWithoutId() {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: 1)
        let decision = policy.decide(.delivered(RelayReceipt()), tried: tried(.open), at: now, using: &random)
        #expect(word(decision) == .retry)
        #expect(RetryPolicy.isUnknown(.delivered(RelayReceipt()), kind: .open))
    }

    @Test("a wait that was told is never cut, and gets a jitter", arguments: [0, 20, 300, 5000, 600_000])
    func told(milliseconds: Int64) {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: UInt64(milliseconds))
        let told = Duration.milliseconds(milliseconds)
        let refusal = RelayRefusal(status: 429, code: .rateLimited, retryAfter: told)
        let waits = (0..<100).compactMap { _ -> Duration? in
            let decision = policy.decide(.refused(refusal), tried: tried(.end), at: now, using: &random)
            if case .retry(let wait) = decision { return wait } else { return nil }
        }
        #expect(waits.count == 100)
        #expect(waits.allSatisfy { $0 >= told })
        #expect(Set(waits).count > 50)
        #expect(waits.allSatisfy { $0 <= told + max(told / 10, .milliseconds(50)) })
    }

    @Test("a wait beyond the deadline, however long, is a dead letter", arguments: [Int64(1801), 1 << 40, .max])
    func toldTooLong(seconds: Int64) {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: 1)
        let refusal = RelayRefusal(status: 503, code: .agentDegraded, retryAfter: .seconds(seconds))
        #expect(policy.decide(.refused(refusal), tried: tried(.end), at: now, using: &random) == .deadLetter)
    }

    @Test(
        "a whole message that was never taken waits for a day where the relay asks for it, and another is a dead letter"
    )
    func toldADay() {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: 1)
        let day = Duration.seconds(86_400)
        let refusal = RelayRefusal(status: 429, code: .rateLimited, retryAfter: day)
        var tried = RetryPolicy.Tried(kind: .message, deadline: now + day)
        #expect(word(policy.decide(.refused(refusal), tried: tried, at: now, using: &random)) == .retry)
        tried.mayHaveLanded = true
        #expect(policy.decide(.refused(refusal), tried: tried, at: now + .seconds(1), using: &random) == .deadLetter)
    }

    @Test(
        "back-off has full jitter under a ceiling that doubles from 0.2 s to 30 s",
        arguments: [
            (1, 200), (2, 400), (5, 3200), (8, 25_600), (9, 30_000), (60, 30_000),
        ])
    func backOff(outcomes: Int, ceiling: Int64) {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: UInt64(outcomes))
        var tried = tried(.end)
        tried.unknownOutcomes = outcomes
        let waits = (0..<400).compactMap { _ -> Duration? in
            let decision = policy.decide(.unknown(reason: ""), tried: tried, at: now, using: &random)
            if case .retry(let wait) = decision { return wait } else { return nil }
        }
        #expect(waits.count == 400)
        #expect(waits.allSatisfy { $0 >= .zero && $0 <= .milliseconds(ceiling) })
        #expect(waits.max() ?? .zero > .milliseconds(ceiling * 9 / 10))
        #expect(waits.min() ?? .zero < .milliseconds(ceiling / 10))
    }

    @Test("without budget a delta waits longest, progress is given up, and the rest does not ask")
    func budget() {
        var policy = RetryPolicy()
        var random = SeededGenerator(seed: 1)
        var tried = tried(.text)
        tried.unknownOutcomes = 1
        for _ in 0..<10 { _ = policy.decide(.unknown(reason: ""), tried: tried, at: now, using: &random) }
        guard case .retry(let wait) = policy.decide(.unknown(reason: ""), tried: tried, at: now, using: &random) else {
            Issue.record("the delta was given up")
            return
        }
        #expect(wait >= .seconds(15))
        #expect(
            policy.decide(.unknown(reason: ""), tried: self.tried(.taskProgress), at: now, using: &random)
                == .deadLetter)
        var end = self.tried(.end)
        end.unknownOutcomes = 1
        guard case .retry(let short) = policy.decide(.unknown(reason: ""), tried: end, at: now, using: &random) else {
            Issue.record("the end was given up")
            return
        }
        #expect(short <= .milliseconds(200))
        for _ in 0..<10 { policy.firstTry(.text) }
        #expect(policy.budget.left >= 1)
    }
}
