import FoundationEssentials
import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The parts of a turn")
struct KeptPartsTests {
    private var turn = Make.running()
    private var parts = KeptParts()

    private mutating func says(_ text: String) {
        _ = turn.on(.text(.append(text)))
        _ = turn.on(.text(.segmentEnded(nil)))
        parts.take(turn, from: 10)
    }

    private mutating func uses(_ call: String) {
        _ = turn.on(.tool(.started(ToolStart(call: ToolCallID(call), name: "exec"))))
        _ = turn.on(.tool(.finished(ToolResult(call: ToolCallID(call), status: .completed))))
        parts.take(turn, from: 10)
    }

    private var record: TurnRecord {
        let address = LaneAddress(turn: turn.opening.id, session: turn.opening.session, interaction: nil)
        var fitting = parts
        fitting.fit(turn)
        return TurnRecord(
            turn: turn, lane: LaneRecord(address: address, message: nil, epoch: 1), renamed: [:], parts: fitting)
    }

    private func restored(_ rows: [KeptParts.Part]) throws -> TurnRecord {
        var stored = record.stored
        try stored.join(Array(rows.prefix(stored.partCount)))
        return stored
    }

    @Test("hold what has ended once, and the record the rest")
    mutating func once() throws {
        says("The first sentence.")
        uses("c1")
        says("The second one.")
        says("New.")
        let rows = parts.pending
        #expect(rows.map(\.ended) == ["The first sentence.", nil, "\n\nThe second one."])
        #expect(rows.map(\.finished) == [[], [ToolCallID("c1")], []])
        #expect(record.stored.turn.text.ended == "\n\nNew.")
        #expect(record.stored.turn.tools.calls.isEmpty)
        let restored = try restored(rows)
        #expect(restored.turn.text == turn.text)
        #expect(Set(restored.turn.tools.calls.keys) == Set(turn.tools.calls.keys))
        // The next part continues the restored ones.
        parts = restored.parts
        says("The next process says more.")
        #expect(parts.pending.map(\.number) == [4])
        #expect(parts.pending.first?.ended == "\n\nNew.\n\nThe next process says more.")
    }

    @Test("hold nothing of a text that has started over")
    mutating func startsOver() throws {
        says("The first attempt.")
        _ = turn.on(.retrying(reason: "overloaded"))
        _ = turn.on(.started)
        #expect(try restored(parts.pending).turn.text.ended == "")
        says("The second attempt.")
        #expect(parts.pending.map(\.ended) == ["The first attempt.", "The second attempt."])
        #expect(try restored(parts.pending).turn.text.ended == "The second attempt.")
    }

    @Test("go along until one of their jobs is written")
    mutating func pending() {
        says("The first sentence.")
        says("The second sentence.")
        parts.kept(through: 1)
        says("The third sentence.")
        #expect(parts.pending.map(\.number) == [2, 3])
    }

    @Test("that are missing, or another turn's, make the record unreadable")
    mutating func missing() throws {
        says("The first sentence.")
        says("The second sentence.")
        let rows = parts.pending
        #expect(throws: MissingPart.self) { try restored([rows[0]]) }
        #expect(throws: MissingPart.self) { try restored([rows[1], rows[1]]) }
        var other = rows
        other[1].turn = TurnID("other")
        #expect(throws: MissingPart.self) { try restored(other) }
    }

    @Test("are none of a record of before, which is whole")
    mutating func whole() throws {
        _ = turn.on(.text(.append("All of it.")))
        _ = turn.on(.text(.segmentEnded(nil)))
        #expect(try restored([]).turn.text == turn.text)
    }
}
