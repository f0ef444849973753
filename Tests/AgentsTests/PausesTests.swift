import AgentKit
import Testing
import Vocabulary

@testable import Codex
@testable import OpenClaw

/// Pauses between the attempts of each agent, in order (`BackOff`).
@Suite("Pauses between tries")
struct PausesTests {
    private static let now = Instant.zero + .seconds(100)

    private static func seconds(_ pauses: [Redial]) -> [Int64] {
        pauses.map { if case .after(let pause) = $0 { pause.components.seconds } else { 0 } }
    }

    @Test("a server of Codex that takes no connection is dialled each second, then ever later")
    func codexDials() {
        var tries = CodexTries()
        #expect(Self.seconds((0..<9).map { _ in tries.isLost(at: Self.now) }) == [1, 1, 1, 1, 2, 4, 8, 8, 8])
        tries.greeted(at: Self.now)
        _ = tries.isLost(at: Self.now + .seconds(61))
        #expect(Self.seconds([tries.isLost(at: Self.now)]) == [1])
    }

    @Test("a server of Codex that ends at once is started again at once, then ever later")
    func codexLinks() {
        var tries = CodexTries()
        func lost(after seconds: Int64) -> Redial {
            tries.greeted(at: Self.now)
            return tries.isLost(at: Self.now + .seconds(seconds))
        }
        #expect(Self.seconds((0..<7).map { _ in lost(after: 59) }) == [0, 1, 2, 4, 8, 8, 8])
        #expect(lost(after: 60) == .atOnce)
        #expect(Self.seconds([lost(after: 1), lost(after: 1)]) == [0, 1])
    }

    @Test("a clean-up at Codex is asked for ever later, and each answer is awaited for longer")
    func codexCleanUps() {
        let first = CodexCleanUps.pause(behind: 1)
        #expect((1...6).map(CodexCleanUps.pause) == [1, 2, 4, 8, 16, 16].map { first * $0 })
        #expect(CodexCleanUps.limit(of: 1) == CodexChat.interruptLimit)
        #expect(
            (1...6).map(CodexCleanUps.limit)
                == [1, 2, 4, 8, 16, 16].map { min(CodexChat.interruptLimit * $0, CodexChat.answerLimit) })
    }

    @Test("a gateway is asked ever later whether an attempt that failed was the last one")
    func gatewayQuestions() {
        var (verdicts, now) = (RunVerdicts(), Self.now)
        let run = RunID("r1")
        verdicts.attemptFailed(run, "overloaded", at: now)
        var pauses: [Int64] = []
        for _ in 0..<7 {
            guard let due = verdicts.nextDue else { break }
            pauses.append((due - now).components.seconds)
            now = due
            _ = verdicts.due(at: now)
            verdicts.isUndecided(run, at: now)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 16, 16])
    }
}
