import Agents
import BridgeService
import FoundationEssentials
import RelayRules
import Simulator
import Testing

@Suite("Recorded runs through the whole pipeline", .timeLimit(.minutes(3)))
struct TraceTests {
    @Test("there are forty-six")
    func complete() { #expect(Fixtures.traces.count == 46) }

    @Test("a trace ends on the phone as the sheets say, without a breach", arguments: Fixtures.traces)
    func ends(trace: String) async throws {
        let expected = try #require(Fixtures.ends[trace])
        let pipeline = try Pipeline()
        try pipeline.play(trace)
        let summary = await pipeline.finish()
        #expect(pipeline.simulator.breaches.isEmpty, "\(pipeline.simulator.breaches)")
        #expect(summary.leftOpen == 0)
        #expect(summary.ends.count == expected.count)
        // The relay confirms bubbles that answer a question of an open run beside each other.
        for (end, wanted) in zip(pipeline.inOrder(summary.ends, of: expected), expected) {
            #expect(end.outcome == wanted.kind, "\(wanted.why)")
            let bubble = try #require(pipeline.bubble(of: end))
            #expect(bubble.isFinal)
            if wanted.kind == "answered" || wanted.kind == "aborted" {
                #expect(bubble.text == wanted.text, "\(wanted.why)")
            } else {
                #expect(bubble.text.hasPrefix(wanted.text), "\(wanted.why)")
                #expect(bubble.text.utf8.count > wanted.text.utf8.count, "a sentence says what happened")
            }
        }
    }

    /// `REWRITE_GOLDENS=1 swift test --filter goldens` rewrites them; read the difference before committing it.
    @Test("the relay calls of a trace are those of its golden file", arguments: Fixtures.traces)
    func goldens(trace: String) throws {
        let lines = try VirtualReplay.play(file: Fixtures.trace(trace), of: .all).lines
        let text = lines.map { $0 + "\n" }.joined()
        let golden = Fixtures.golden(trace)
        if ProcessInfo.processInfo.environment["REWRITE_GOLDENS"] != nil {
            try Data(text.utf8).write(to: golden)
        }
        let expected = String(decoding: try Data(contentsOf: golden), as: UTF8.self)
        #expect(text == expected)
    }

    @Test("over sockets, as fast as it goes, a trace makes the calls of its golden file", arguments: Fixtures.traces)
    func sameOverSockets(trace: String) async throws {
        let pipeline = try Pipeline()
        try pipeline.play(trace)
        _ = await pipeline.finish()
        let golden = String(decoding: try Data(contentsOf: Fixtures.golden(trace)), as: UTF8.self)
        let comparison = CallComparison(
            expected: golden.split(separator: "\n").map(String.init), found: pipeline.calls.lines)
        #expect(comparison.differences == [])
    }
}
