import BridgeCore
import Testing
import Vocabulary
import Worlds

@testable import BridgeService

@Suite("A record that meets a call of its turn")
struct RecordBesideRetryTests {
    @Test("is written by itself where that call is only sent again")
    func sentAgain() throws {
        let outside = try SealedOutside()
        outside.begins(outside.opening())
        outside.refuse(try outside.next(), 503, "unavailable")
        outside.runner?.tell { bridge, now in
            bridge.sendAnswered(.accepted(run: RunID("r1")), run: RunID("r1"), at: now)
        }
        outside.pass()
        var records = 0
        outside.journal.wrote = { job in
            records += job.count { if case .turn = $0 { true } else { false } }
        }
        let calls = outside.sent.count
        outside.runner?.tell { bridge, now in
            let signal = RunSignal(
                run: RunID("r1"), session: SealedOutside.agent, event: .retrying(reason: "overloaded"))
            bridge.agentSays(signal, at: now)
            bridge.timePassed(at: now + .seconds(5))
        }
        outside.pass()
        #expect(outside.sent.count == calls + 1, "the placeholder is sent again")
        #expect(records == 1)
    }
}
