import BridgeModel
import FoundationEssentials
import Journal
import Testing

@testable import BridgeCore
@testable import BridgeService

/// What earlier versions wrote, each as its own program left it (Tests/Fixtures/journal).
@Suite("A journal of version 1")
struct StoredRecordFixtureTests {
    private static let later: Int64 = 5_000

    private struct Stopped: BridgeModel.Clock {
        var now: Instant
        var wallMilliseconds: Int64
    }

    private struct Opened {
        var contents: JournalContents
        var restoring: JournalRestoring
        var byText: [String: TurnRecord]
        var now: Instant

        subscript(text: String) -> TurnRecord {
            get throws { try #require(byText[text], "no turn of \(text)") }
        }
    }

    /// From a copy, as the program of today opens it five seconds after the last thing that was written.
    private static func open(_ name: String) throws -> Opened {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fixture = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../Fixtures/journal/v1/\(name).db")
        try FileManager.default.copyItem(at: fixture, to: folder.appending(path: "journal.db"))
        let journal = try Journal.open(directory: folder.path()) { 0 }
        defer { journal.close() }
        let contents = try journal.connection(ConnectionName("default")).load()
        let newest = try #require(contents.turns.map { try header(of: $0.record) }.max())
        let clock = Stopped(now: .zero + .seconds(7_777), wallMilliseconds: newest + later)
        let restoring = JournalRestoring(contents, clock: clock)
        let named = restoring.turns.map { ($0.record.opening.message?.text ?? $0.record.opening.run.text, $0.record) }
        return Opened(
            contents: contents, restoring: restoring, byText: Dictionary(named) { first, _ in first }, now: clock.now)
    }

    private static func header(of record: [UInt8]) throws -> Int64 {
        struct Header: Decodable { var wall: Int64 }
        return try JSONDecoder().decode(Header.self, from: Data(record)).wall
    }

    @Test("is read whole", arguments: [("killed", 19, 8), ("searching", 14, 0)])
    func whole(name: String, turns: Int, openings: Int) throws {
        let opened = try Self.open(name)
        #expect(opened.restoring.faults == [])
        #expect(opened.restoring.turns.count == turns)
        #expect(opened.restoring.openings.count == openings)
        #expect(opened.contents.settings.count == 1)
    }

    @Test("tells where each turn was")
    func phases() throws {
        let opened = try Self.open("killed")
        for text in [
            "streaming", "tool", "failing tools", "asking", "allowed", "card two", "busy", "window", "expired",
        ] {
            #expect(try opened[text].turn.phase == .running, "\(text)")
        }
        #expect(try opened["waiting"].turn.phase == .waiting)
        #expect(try opened["handed over"].turn.phase == .handedOver)
        #expect(try opened["detached"].turn.phase == .holding)
        #expect(try opened["ending"].turn.phase == .over(.answered))
        #expect(try opened["cron-run-1"].opening.message == nil)
        #expect(opened.restoring.openings.first?.message?.text == "accepted 0")
        let searching = try Self.open("searching")
        guard case .searching(let since) = try searching["streaming"].turn.phase else {
            return #expect(Bool(false), "it is not searching")
        }
        #expect((Duration.seconds(4)..<Duration.seconds(60)).contains(searching.now - since))
    }

    @Test("tells what was seen, asked and promised")
    func details() throws {
        let opened = try Self.open("killed")
        let streaming = try opened["streaming"]
        #expect(streaming.lane.epoch == 2 && streaming.lane.message != nil && streaming.lane.streamed > 100)
        // The window ends 30 minutes after the message came, on the clock of this process.
        #expect(streaming.opening.windowEnds - streaming.opening.receivedAt == .seconds(1_800))
        #expect(opened.now - streaming.opening.receivedAt < .seconds(60))
        let tool = try opened["tool"].turn.tools
        #expect(tool.open.count == 1 && tool.calls.count == 1)
        #expect(
            try opened["asking"].turn.approvals.approvals.values.map(\.card.command) == ["systemctl restart asking"])
        #expect(try opened["asking"].turn.approvals.nextExpiry != nil)
        #expect(try opened["allowed"].forwarded.decisions.map(\.decision) == [.approveAlways])
        #expect(try opened["detached"].turn.approvals.hasDetachedOpen)
        #expect(try opened["followed"].turn.approvals.awaitsFollowUp)
        #expect(try opened["followed"].turn.deadlines.followUp != nil)
        #expect(try opened["card two"].renamed.keys.map(\.text) == ["call_same"])
        #expect(try opened["window"].turn.bubble.heldAtWindowClose?.hasPrefix("window-0 ") == true)
        #expect(try !opened["window"].lane.windowIsOpen)
        #expect(try opened["expired"].turn.bubble.isOver && opened["expired"].lane.message == nil)
        #expect(try opened["stopping"].turn.agent.isStopping && opened["stopping"].turn.deadlines.stop != nil)
    }

    @Test("tells what was on its way")
    func calls() throws {
        let opened = try Self.open("killed")
        #expect(try opened["ending"].lane.unanswered.map(\.name) == [.end])
        #expect(try opened["ending"].turn.outbox.unconfirmed == [.end])
        let more = try opened["more"]
        #expect(more.turn.bubble.sentEnd?.text.utf8.count == 60_000)
        #expect(more.turn.outbox.unconfirmed == [.end, .message(.more(1))])
        #expect(more.lane.waiting.map(\.post.kind) == [.message])
        #expect(try opened["opening"].lane.unanswered.map(\.name) == [.open])
        #expect(try opened["opening"].lane.waiting.map(\.post.kind) == [.text, .end])
        guard case .text(let end)? = try opened["delta"].lane.unanswered.first?.name else {
            return #expect(Bool(false), "the delta is not known")
        }
        #expect(end > 0)
        // The bodies that these calls go again with.
        let stored = Set(opened.restoring.storedCalls.map(\.key))
        for text in ["ending", "more", "opening", "delta"] {
            #expect(try stored.isSuperset(of: opened[text].unanswered), "\(text)")
        }
        #expect(opened.restoring.cards.contains { $0.task.text == "call_same" })
        #expect(opened.restoring.cards.contains { $0.task.text.hasPrefix("call_same~") })
        #expect(opened.contents.stops.count == 2)
    }

    @Test("comes back from its newest form as it was read")
    func newestForm() throws {
        for name in ["killed", "searching"] {
            let opened = try Self.open(name)
            for turn in opened.restoring.turns {
                let bytes = RecordEnvelope.bytes(of: turn.record, now: opened.now, wall: 1_000)
                let again = try RecordEnvelope.turn(from: bytes, now: opened.now + .seconds(2), wall: 3_000)
                #expect(StoredTurn(again) == StoredTurn(turn.record))
                #expect(bytes.count < 70_000)
            }
        }
    }
}
