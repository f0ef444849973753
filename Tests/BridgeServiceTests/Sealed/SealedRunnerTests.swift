import BridgeCore
import FoundationEssentials
import Sealing
import Testing
import Vocabulary
import Worlds

@testable import BridgeService

@Suite("Sealed turns on their edges")
struct SealedRunnerTests {
    private let outside: SealedOutside
    private static let words = SealedOutside.words

    init() throws { outside = try SealedOutside() }

    @Test("a bubble opens with the sealed empty text, and its text is sealed in pieces and whole")
    func conversation() throws {
        outside.begins(outside.opening())
        let open = try outside.next()
        #expect(open.member("text_ct") == "AA==" && open.member("text") == nil)
        outside.answer(open)
        outside.says(.text(.append("The \(Self.words) ")))
        outside.says(.text(.append("is told.")))
        let delta = try outside.next()
        #expect(try outside.read(delta.member("delta_ct")) == "The \(Self.words)")
        outside.answer(delta)
        outside.says(.finished(RunEnd(text: "The \(Self.words) is told.")))
        let rest = try outside.next()
        #expect(try outside.read(rest.member("delta_ct")) == " is told.")
        outside.answer(rest)
        let end = try outside.next()
        #expect(try outside.read(end.member("text_ct")) == "The \(Self.words) is told.")
        #expect(Set(outside.said) == Set([delta, rest].compactMap { $0.member("delta_ct") } + [end.member("text_ct")]))
        outside.answer(end)
        #expect(!outside.readable.contains(Self.words))
    }

    @Test("a retry sends the very bytes, however often, also after a full disk")
    func retry() throws {
        outside.running()
        outside.disk.isFull = true
        outside.says(.text(.append("The \(Self.words) ")))
        #expect(outside.calls.isEmpty)
        outside.disk.isFull = false
        outside.pass(.seconds(3))
        var bodies: [[UInt8]] = []
        for _ in 0..<3 {
            let call = try outside.next()
            bodies.append(call.body)
            outside.lose(call)
        }
        let last = try outside.next()
        #expect(bodies == [[UInt8]](repeating: last.body, count: 3))
        #expect(outside.said.count == 1)
        outside.answer(last)
    }

    @Test("so does the next process after a kill, and it goes on where the phone has come to")
    func kill() throws {
        outside.running()
        outside.says(.text(.append("The \(Self.words) is told")))
        let first = try outside.next()
        outside.dies()
        outside.pass()
        let again = try outside.next()
        #expect(again.body == first.body)
        outside.answer(again)
        outside.says(.text(.snapshot("The \(Self.words) is told. Twice.")))
        let more = try outside.next()
        #expect(try outside.read(more.member("delta_ct")) == ". Twice.")
        outside.answer(more)
        outside.says(.finished(RunEnd(text: "The \(Self.words) is told. Twice.")))
        #expect(try outside.read(try outside.next().member("text_ct")) == "The \(Self.words) is told. Twice.")
        #expect(!outside.readable.contains(Self.words))
    }

    @Test(
        "what a kill leaves behind is not readable, whatever waits: cards, an approval, an end, a message of the user")
    func unreadable() throws {
        outside.running()
        // The relay is silent from here on, so everything waits.
        let call = ToolCallID("c1")
        outside.says(.text(.append("The \(Self.words) ")))
        outside.says(
            .tool(
                .started(
                    ToolStart(
                        call: call, name: "exec", title: "cat \(Self.words)", arguments: .string(Self.words)))))
        outside.says(
            .approvalRequested(
                ApprovalRequest(
                    id: ApprovalID("a1"), subject: .exec, title: Self.words, message: Self.words,
                    command: Self.words)))
        outside.says(
            .tool(.finished(ToolResult(call: call, status: .failed, result: .string(Self.words), error: Self.words))))
        outside.begins(outside.opening(2))
        #expect(!outside.readable.contains(Self.words))
        outside.dies()
        outside.pass()
        outside.answerAll()
        outside.says(.failed(RunFailure(message: "out of \(Self.words)", text: "The \(Self.words) is told.")))
        outside.answerAll()
        outside.pass(.seconds(5))
        outside.answerAll()
        #expect(!outside.readable.contains(Self.words))
        let details = outside.sent.first { $0.method == "requestApproval" }?.body
        let asked = SealedOutside.texts(in: try #require(details))
        #expect(try outside.read(asked["details_ct"], .approvals).contains(#""command":"\#(Self.words)""#))
        #expect(asked["title"] == nil && asked["message"] == nil && asked["command"] == nil)
        let end = try #require(outside.sent.last { $0.method == "sendMessageEnd" }?.body)
        let said = try JSONDecoder().decode([String: String].self, from: Data(end))
        #expect(try outside.read(said["text_ct"]).hasPrefix("The \(Self.words) is told."))
    }

    @Test(
        "the body of a card that was sealed while the call before it was under way is the one that is stored and sent")
    func ahead() throws {
        outside.begins(outside.opening())
        let open = try outside.next()
        for number in 1...3 {
            outside.says(.tool(.started(ToolStart(call: ToolCallID("c\(number)"), name: "exec", title: Self.words))))
        }
        outside.answer(open)
        for number in 1...3 {
            let card = try outside.next()
            #expect(try outside.read(card.member("status_label_ct"), .tasks) == Self.words, "card \(number)")
            outside.lose(card)
            let again = try outside.next()
            #expect(again.body == card.body)
            let stored = outside.journal.load().turns.flatMap(\.calls).map(\.call.body)
            #expect(stored.contains(card.body))
            outside.answer(again)
        }
    }

    @Test("a key that is gone after a kill: the stored call goes out as it was, and nothing more but a sentence")
    func keyGone() throws {
        outside.running()
        outside.says(.text(.append("The \(Self.words) is told")))
        let first = try outside.next()
        outside.keys = [:]
        outside.dies()
        outside.pass()
        let again = try outside.next()
        #expect(again.body == first.body)
        outside.answer(again)
        outside.says(.finished(RunEnd(text: "The \(Self.words) is told. Twice.")))
        let end = try outside.next()
        #expect(end.method == "sendMessageEnd" && end.member("text_ct") == "AA==")
        outside.answer(end)
        let sentence = try outside.next()
        #expect(sentence.method == "sendMessage" && sentence.member("text")?.contains("no longer there") == true)
        outside.answer(sentence)
        #expect(outside.runner?.ask { $0.openTurns } == 0)
        #expect(!outside.readable.contains(Self.words))
    }

    @Test("a record that another machine's key sealed ends as an unreadable one, without a word in the open")
    func foreignRecord() throws {
        outside.running()
        outside.says(.text(.append("The \(Self.words) is told")))
        outside.answerAll()
        outside.journal.spoil(openings: true)
        outside.dies()
        outside.pass()
        #expect(outside.restored?.unreadable.map(\.isSealed) == [true])
        let end = try outside.next()
        #expect(end.method == "sendMessageEnd" && end.member("text_ct") == "AA==")
        outside.answer(end)
        let sentence = try outside.next()
        #expect(sentence.member("text")?.hasPrefix("The bridge could not read") == true)
        outside.answer(sentence)
        #expect(outside.runner?.ask { $0.openTurns } == 0)
    }

    // MARK: A message that was accepted, and a kill before its first record

    private func accept(_ opening: TurnOpening) {
        let wall = outside.time.wallMilliseconds
        outside.journal.accept(
            AcceptedMessage(
                message: MessageID("m1"), update: UpdateID("u1"), turn: opening.id, session: opening.session,
                interaction: opening.interaction,
                opening: RecordEnvelope.bytes(of: opening, now: outside.time.now, wall: wall), wall: wall)
        ) { _ in }
        outside.pass()
        #expect(!outside.readable.contains(Self.words))
    }

    @Test("is opened anew by the next process, and handed over")
    func accepted() throws {
        accept(outside.opening())
        outside.dies()
        outside.answerAll()
        outside.pass()
        outside.answerAll()
        guard case .send(_, _, _, let message)? = outside.commands.first else {
            Issue.record("\(outside.commands)")
            return
        }
        #expect(message.text == Self.words)
    }

    @Test("that awaits its key does so in the next process, and holds up its chat for two minutes at most")
    func acceptedWithoutKey() throws {
        let keys = outside.keys
        outside.keys = [:]
        accept(outside.opening(sealing: .sealed(nil)))
        outside.dies()
        outside.pass()
        #expect(outside.runner?.ask { $0.sessionsAwaitingKey } == [SealedOutside.chat])
        outside.answerAll()
        outside.pass(.seconds(119))
        #expect(outside.sent.map(\.method) == ["sendMessage"])
        outside.keys = keys
        outside.pass(.seconds(2))
        outside.answerAll()
        outside.pass()
        outside.answerAll()
        #expect(outside.sent.map(\.method) == ["sendMessage", "sendMessageEnd", "sendMessage"])
        #expect(outside.runner?.ask { $0.openTurns } == 0)
        #expect(outside.commands.isEmpty)
    }

    @Test("that is none of its key's is answered with a sentence, sealed, and does not hold up its chat")
    func acceptedUnreadable() throws {
        var opening = outside.opening()
        opening.sealedText = "AQIDBA=="
        accept(opening)
        outside.dies()
        outside.pass()
        outside.answerAll()
        #expect(outside.sent.map(\.method) == ["sendMessage", "sendMessageEnd"])
        let end = try JSONDecoder().decode([String: String].self, from: Data(try #require(outside.sent.last?.body)))
        #expect(try outside.read(end["text_ct"]).contains("cannot read it"))
        #expect(outside.runner?.ask { $0.openTurns } == 0)
    }

    @Test(
        "that the configuration does not take is answered by the next process too", arguments: MessageRefusal.allCases)
    func acceptedRefused(refusal: MessageRefusal) throws {
        var opening = outside.opening(sealing: .open)
        opening.refusal = refusal
        accept(opening)
        outside.dies()
        outside.pass()
        outside.answerAll()
        #expect(outside.sent.map(\.method) == ["sendMessage", "sendMessageEnd"])
        #expect(outside.runner?.ask { $0.openTurns } == 0)
        #expect(outside.commands.isEmpty)
    }

    // MARK: Versions

    @Test("what has ended of a sealed turn is sealed in its parts, which the next process opens")
    func parts() throws {
        outside.running()
        outside.says(.text(.append("The sled was called \(Self.words).")))
        outside.says(.text(.segmentEnded(nil)))
        outside.says(.tool(.started(ToolStart(call: ToolCallID("c1"), name: "bash"))))
        outside.answerAll()
        let parts = try #require(outside.journal.load().turns.first?.parts)
        #expect(try !parts.isEmpty && parts.allSatisfy { try version($0) == 3 })
        #expect(!outside.readable.contains(Self.words))
        #expect(throws: SealingError.notAuthentic) { try RecordEnvelope.part(from: parts[0]) }
        outside.dies()
        #expect(outside.restored?.faults == [] && outside.restored?.turns.count == 1)
    }

    private struct Header: Decodable { var version: Int }

    private func version(_ bytes: [UInt8]) throws -> Int {
        try JSONDecoder().decode(Header.self, from: Data(bytes)).version
    }

    @Test(
        "what is kept of a sealed turn has a version that a program without sealing leaves alone; of an open one the old"
    )
    func versions() throws {
        let now = outside.time.now
        let sealed = outside.opening()
        var open = sealed
        (open.sealing, open.sealedText) = (.open, nil)
        #expect(try version(RecordEnvelope.bytes(of: sealed, now: now, wall: 0)) == 3)
        #expect(try version(RecordEnvelope.bytes(of: open, now: now, wall: 0)) == 2)
        outside.running()
        let record = try #require(outside.journal.load().turns.first?.record)
        #expect(try version(record) == 3)
        let read = try RecordEnvelope.turn(from: record, now: now, wall: 0, sealer: outside.turnSealer)
        #expect(read.opening.message?.text == Self.words && read.opening.sealing == .sealed(outside.keyName))
        #expect(throws: SealingError.notAuthentic) { try RecordEnvelope.turn(from: record, now: now, wall: 0) }
    }
}
