import Testing
import Vocabulary

@testable import OpenClaw

@Suite("Which run of an OpenClaw gateway answers a message that waited")
struct AdoptedRunsTests {
    private static let session = AgentSession("s")

    /// Whether the run that begins next is adopted for a message of ours, by the row of its prompt.
    private static func isAdopted(_ asked: String, by row: String) -> Bool {
        var runs = AdoptedRuns()
        runs.began(RunID("desk"), in: session, isOurs: false)
        _ = runs.orphaned(RunID("ours"), in: session, asked, at: .zero)
        _ = runs.ended(RunID("desk"), in: session, at: .zero)
        runs.began(RunID("next"), in: session, isOurs: false)
        let known = runs.asked(in: session, by: nil, row, isInterruption: false)
        return known?.stage == .adopted(as: RunID("next"))
    }

    private static let stamp =
        "Sender (untrusted metadata): {\"username\": \"Sophon bridge\"}\n\n[Mon 2026-11-23 16:37 UTC] "
    private static let collected =
        "[Queued messages while agent was busy]\n\n---\nQueued #1\n\(stamp)one\n\n---\nQueued #2\nno"

    @Test(
        "its words are a message of the row, whole",
        arguments: [
            ("no", "no"), ("no", stamp + "no"), ("no", collected), ("one", collected),
            ("two\n\nlines", stamp + "two\n\nlines"), (" no ", stamp + "no"), ("no\n", collected),
        ])
    func ours(asked: String, row: String) { #expect(Self.isAdopted(asked, by: row)) }

    @Test(
        "a part of another's words is none",
        arguments: [
            ("no", "Is it now done?"), ("1", stamp + "list 10 files"), ("id", stamp + "x"), ("bridge", stamp + "x"),
            ("16", collected), ("o", collected), ("", "no"), ("no", "[x] no"), ("no", "Answer [yes] no"),
            ("no", "Queued #1\nno"), ("no", "If nothing needs attention, reply HEARTBEAT_OK"),
        ])
    func others(asked: String, row: String) { #expect(!Self.isAdopted(asked, by: row)) }
}
