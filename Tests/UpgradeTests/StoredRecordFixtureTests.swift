import Crypto
import FoundationEssentials
import Journal
import Sealing
import Testing
import Vocabulary

@testable import BridgeCore
@testable import BridgeService

/// Files of an earlier program, unchanged (Tests/Fixtures/journal).
@Suite("A journal of version 2")
struct StoredRecordFixtureTests {
    private static let later: Int64 = 5_000

    private struct Stopped: Vocabulary.Clock {
        var now: Instant
        var wallMilliseconds: Int64
    }

    private struct Opened {
        var contents: JournalContents
        var restoring: JournalRestoring
        var byText: [String: TurnRecord]
        var now: Instant
        var sealer: TurnSealer

        subscript(text: String) -> TurnRecord {
            get throws { try #require(byText[text], "no turn of \(text)") }
        }
    }

    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../Fixtures/journal/v2")

    /// Opens a copy of the journal with the current program, five seconds after the last entry was written.
    private static func open(_ agent: String = "openclaw", _ name: String = "killed") throws -> Opened {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fixture = fixtures.appending(path: "\(agent)/\(name).db")
        try FileManager.default.copyItem(at: fixture, to: folder.appending(path: "journal.db"))
        let journal = try Journal.open(directory: folder.path()) { 0 }
        defer { journal.close() }
        let contents = try journal.connection(ConnectionName("default")).load()
        let newest = try #require(contents.turns.map { try header(of: $0.record) }.max())
        let clock = Stopped(now: .zero + .seconds(7_777), wallMilliseconds: newest + later)
        let sealer = try sealer(of: agent)
        let restoring = JournalRestoring(contents, clock: clock, sealer: sealer)
        let named = restoring.turns.map { ($0.record.opening.message?.text ?? $0.record.opening.run.text, $0.record) }
        return Opened(
            contents: contents, restoring: restoring, byText: Dictionary(named) { first, _ in first }, now: clock.now,
            sealer: sealer)
    }

    /// Sealer of the records alone: the chats' keys are missing here.
    private static func sealer(of agent: String) throws -> TurnSealer {
        let file = try String(contentsOf: fixtures.appending(path: "\(agent)/device.hex"), encoding: .utf8)
        let library = try OpenSSLSealing()
        let device = try #require(SecretKey(hex: String(file.prefix { $0 != "\n" })))
        let ring = try KeyRing(device: device, library: library)
        return TurnSealer(library: library, secrets: library) {
            ring.recordKey
        } sealer: { _, _ in
            nil
        } open: { _, _ in
            (.waitsForKey, nil)
        }
    }

    private static func header(of record: [UInt8]) throws -> Int64 {
        struct Header: Decodable { var wall: Int64 }
        return try JSONDecoder().decode(Header.self, from: Data(record)).wall
    }

    private static func json(_ record: TurnRecord) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(record)
    }

    @Test(
        "is read whole",
        arguments: [
            // The counts: turns, messages without a record, stops, and unsent calls.
            ("openclaw", "killed", [30, 5, 3, 2]), ("openclaw", "searching", [23, 0, 3, 0]),
            ("oppi", "killed", [22, 5, 2, 2]), ("codex", "killed", [23, 2, 2, 2]), ("pi", "killed", [23, 1, 2, 2]),
        ])
    func whole(agent: String, name: String, counts: [Int]) throws {
        let opened = try Self.open(agent, name)
        let restoring = opened.restoring
        #expect(restoring.faults == [])
        #expect(
            [restoring.turns.count, restoring.openings.count, opened.contents.stops.count, restoring.owed.count]
                == counts)
    }

    @Test("tells of every agent's turns where they were", arguments: ["openclaw", "oppi", "codex", "pi"])
    func common(agent: String) throws {
        let opened = try Self.open(agent)
        for form in ["open", "sealed"] {
            for kind in ["streaming", "asking", "allowed", "delta", "tool"] {
                #expect(try opened["\(form) \(kind)"].turn.phase == .running, "\(form) \(kind)")
            }
            #expect(try opened["\(form) waiting"].turn.phase == .waiting)
            #expect(try opened["\(form) ending"].turn.phase == .over(.answered))
            #expect(try opened["\(form) stopping"].turn.phase == .over(.aborted))
            // A yes of these records has no fingerprint: the bridge does not repeat it, and shows the ask again.
            #expect(try opened["\(form) allowed"].forwarded.decisions == [])
            #expect(try opened["\(form) asking"].turn.approvals.approvals.count == 1)
            #expect(try opened["\(form) asking"].forwarded.decisions.isEmpty)
            #expect(try opened["\(form) ending"].lane.unanswered.map(\.name) == [.end])
            #expect(try opened["\(form) opening"].lane.unanswered.map(\.name) == [.open])
            // Stored bodies with which these calls are retried.
            let stored = Set(opened.restoring.storedCalls.map(\.key))
            for kind in ["ending", "opening", "delta"] {
                #expect(try stored.isSuperset(of: opened["\(form) \(kind)"].unanswered), "\(form) \(kind)")
            }
        }
        let deltas = opened.contents.turns.flatMap(\.calls).filter { !$0.isDelivered && $0.call.endOffset != nil }
        #expect(deltas.count == 2)
        #expect(try opened["open files"].opening.message?.attachments.map(\.name) == ["bean.png", "notes.txt"])
    }

    @Test("tells where the turns were that only OpenClaw has")
    func phases() throws {
        let opened = try Self.open()
        for text in ["failing tools", "card two", "busy", "window", "expired"] {
            #expect(try opened[text].turn.phase == .running, "\(text)")
        }
        #expect(try opened["handed over"].turn.phase == .handedOver)
        #expect(try opened["detached"].turn.phase == .holding)
        #expect(try opened["cron-run-1"].opening.message == nil)
        #expect(opened.restoring.openings.first?.message?.text == "open accepted 0")
        let searching = try Self.open("openclaw", "searching")
        guard case .searching(let since) = try searching["open streaming"].turn.phase else {
            return #expect(Bool(false), "it is not searching")
        }
        #expect((Duration.seconds(4)..<Duration.seconds(60)).contains(searching.now - since))
    }

    @Test("tells what was seen, asked and promised")
    func details() throws {
        let opened = try Self.open()
        let streaming = try opened["open streaming"]
        #expect(streaming.lane.epoch == 2 && streaming.lane.message != nil && streaming.lane.streamed > 100)
        // The window ends 30 minutes after the message came, on the clock of this process.
        #expect(streaming.opening.windowEnds - streaming.opening.receivedAt == .seconds(1_800))
        #expect(opened.now - streaming.opening.receivedAt < .seconds(60))
        let tool = try opened["open tool"].turn.tools
        #expect(tool.open.count == 1 && tool.calls.count == 1)
        for form in ["open", "sealed"] {
            let asking = try opened["\(form) asking"].turn.approvals
            #expect(asking.approvals.values.map(\.cards.card.command) == ["systemctl restart \(form)-asking"])
            #expect(asking.nextExpiry != nil)
        }
        #expect(try opened["detached"].turn.approvals.hasDetachedOpen)
        #expect(try opened["followed"].turn.approvals.awaitsFollowUp)
        #expect(try opened["followed"].turn.deadlines.followUp != nil)
        #expect(try opened["card two"].renamed.keys.map(\.text) == ["call_same"])
        #expect(try opened["window"].turn.bubble.heldAtWindowClose?.hasPrefix("window-0 ") == true)
        #expect(try !opened["window"].lane.windowIsOpen)
        #expect(try opened["expired"].turn.bubble.isOver && opened["expired"].lane.message == nil)
        let more = try opened["more"]
        #expect(more.turn.bubble.sentEnd?.text.utf8.count == 60_000)
        #expect(more.turn.outbox.unconfirmed == [.end, .message(.more(1))])
        #expect(more.lane.waiting.map(\.post.kind) == [.message])
        #expect(opened.restoring.cards.contains { $0.task.text == "call_same" })
        #expect(opened.restoring.cards.contains { $0.task.text.hasPrefix("call_same~") })
    }

    @Test("comes back from its newest form as it was read", arguments: ["openclaw", "oppi", "codex", "pi"])
    func newestForm(agent: String) throws {
        let opened = try Self.open(agent)
        for turn in opened.restoring.turns {
            let bytes = RecordEnvelope.bytes(of: turn.record, now: opened.now, wall: 1_000, sealer: opened.sealer)
            let again = try RecordEnvelope.turn(
                from: bytes, now: opened.now + .seconds(2), wall: 3_000, sealer: opened.sealer)
            #expect(try Self.json(again) == Self.json(turn.record))
            #expect(bytes.count < 70_000)
        }
    }

    @Test("a record of the version before is one that cannot be read")
    func unreleased() throws {
        var opened = try Self.open()
        let text = "\"version\":2"
        opened.contents.turns = opened.contents.turns.map { turn in
            var turn = turn
            let old = String(decoding: turn.record, as: UTF8.self).replacing(text, with: "\"version\":1")
            turn.record = Array(old.utf8)
            return turn
        }
        let clock = Stopped(now: opened.now, wallMilliseconds: 0)
        let restoring = JournalRestoring(opened.contents, clock: clock, sealer: opened.sealer)
        let sealed = opened.restoring.turns.filter(\.record.opening.sealing.isSealed)
        #expect(restoring.turns.map(\.record.opening.run.text) == sealed.map(\.record.opening.run.text))
        #expect(restoring.unreadable.count == opened.restoring.turns.count - sealed.count)
        #expect(restoring.faults.allSatisfy { $0.contains("cannot be read") })
    }
}
