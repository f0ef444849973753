import FoundationEssentials
import Testing
import Vocabulary

@testable import BridgeCore

/// A field of a machine that its record lacks would be lost with the process.
@Suite("What the journal holds of a turn")
struct StoredTurnTests {
    /// Places that records leave out on purpose.
    private static let notKept = [
        // The settings are those of the process, and the deltas have the streamed text.
        ".settings", ".text.newest", ".preview.streamed", ".preview.held",
        // Files do not outlive their process.
        ".outcome",
        // Running output was already shown.
        ".output",
        // Growth behind a note is compared once more after a restart.
        ".notes.isLast",
        // Values of the configuration; and a reminder of an earlier process counts as delivered.
        ".approvals.patience", ".reminder", ".agent.folder",
        // A restart begins another silence.
        ".silence.heardAt", ".silence.isCompacting", ".silence.retriesSince", ".silence.saidAt",
        ".silence.due",
    ]

    private static func record(_ turn: Turn) -> TurnRecord {
        let opening = turn.opening
        let address = LaneAddress(turn: opening.id, session: opening.session, interaction: opening.interaction)
        return TurnRecord(
            turn: turn, lane: LaneRecord(address: address, message: nil, epoch: 2),
            renamed: [TaskID("c1"): TaskID("c1~x")])
    }

    private static func again<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    private static func lost(_ record: TurnRecord) throws -> [String] {
        let restored = try again(record)
        var leftOut = notKept
        // A finished call needs no name, and a settled approval no card.
        for (id, call) in record.turn.tools.calls where call.finished { leftOut.append("[\(id)].name") }
        for (id, approval) in record.turn.approvals.approvals where approval.state == .settled {
            leftOut.append("[\(id)].cards.card")
        }
        return StoredFields(record, leavingOut: leftOut).differences(
            from: StoredFields(restored, leavingOut: leftOut))
    }

    @Test("is all of it, whatever has happened", arguments: UInt64(1)...60)
    func anyOrder(seed: UInt64) throws {
        var disorder = Disorder(seed: seed)
        for _ in 0..<40 where !disorder.turn.isClosed {
            disorder.step()
            let lost = try Self.lost(Self.record(disorder.turn))
            #expect(lost.isEmpty, "seed \(seed): \(lost)\n\(disorder.history)")
            guard lost.isEmpty else { return }
        }
    }

    @Test("is every field of a turn, also one that is added later")
    func everyField() throws {
        let full = Full.turn
        #expect(
            StoredFields.unchanged(full, Turn(Make.opening)) == ["settings"],
            "a new field: set it in Full, and add it to its table (Sources/Bridge/Core/Records)")
        for same in [
            StoredFields.unchanged(full.opening, Full.emptyOpening),
            StoredFields.unchanged(full.opening.message, nil),
            StoredFields.unchanged(full.text, RunText()), StoredFields.unchanged(full.preview, Preview(limit: 60_000)),
            StoredFields.unchanged(full.runs, TurnRuns(Make.opening.run)),
            StoredFields.unchanged(full.agent, TurnAgent()), StoredFields.unchanged(full.bubble, TurnBubble()),
            StoredFields.unchanged(full.outbox, TurnOutbox()),
            StoredFields.unchanged(full.outbox.names, MessageNames()),
            StoredFields.unchanged(full.deadlines, TurnDeadlines()),
            StoredFields.unchanged(full.tools, ToolLedger()),
            StoredFields.unchanged(Full.call, ToolLedger.Call(task: TaskID(""), name: "")),
            StoredFields.unchanged(Full.result, ToolResult(call: ToolCallID(""), status: .completed)),
            StoredFields.unchanged(full.approvals, ApprovalLedger()),
            StoredFields.unchanged(Full.approval, Full.emptyApproval),
            StoredFields.unchanged(Full.approval.cards, Full.emptyApproval.cards),
            StoredFields.unchanged(Full.card, Full.emptyApproval.cards.card),
            StoredFields.unchanged(Full.life, CardLife()),
            StoredFields.unchanged(Full.asked, QuestionLedger.Asked(question: Full.emptyQuestion)),
            StoredFields.unchanged(Full.asked.question, Full.emptyQuestion),
            StoredFields.unchanged(Full.end, EndOfTurn(text: "")),
            StoredFields.unchanged(Full.usage, Usage(inputTokens: 0, outputTokens: 0)),
            StoredFields.unchanged(Full.lane, LaneRecord(address: Full.nowhere, message: nil, epoch: 0)),
        ] {
            // `finished` follows from a call's place, and `isBesideRun` from the turn's; `newest`, `streamed`, `held`
            // and `output` are not kept; the end took `files`.
            let derived = [
                "finished", "newest", "streamed", "held", "output", "isLast", "files", "patience", "folder",
                "isBesideRun",
            ]
            let unset = same.filter { !derived.contains($0) }
            #expect(unset.isEmpty, "a new field: set it in Full, and add it to its table")
        }
        let record = TurnRecord(turn: full, lane: Full.lane, renamed: [TaskID("c1"): TaskID("c1~x")])
        #expect(try Self.lost(record) == [])
    }

    @Test("is every post that waits", arguments: Full.posts)
    func posts(post: Post) throws {
        #expect(try Self.again(post) == post)
        #expect(try Self.again(post.name) == post.name)
    }

    /// Written out, because a record keeps its words when a case changes its name.
    @Test("is every word")
    func words() throws {
        func check<Word: Codable & Equatable>(_ words: [(Word, String)]) throws {
            for (value, word) in words {
                let bytes = try JSONEncoder().encode([value])
                #expect(String(decoding: bytes, as: UTF8.self) == "[\"\(word)\"]")
                #expect(try Self.again([value]) == [value])
            }
        }
        try check([
            (ApprovalDecision.approve, "approve"), (.approveAlways, "approve_always"), (.deny, "deny"),
        ])
        try check([(MessageRefusal.unreadable, "unreadable"), (.cameOpen, "came_open"), (.cameSealed, "came_sealed")])
        try check([
            (ApprovalRequest.Subject.exec, "exec"), (.plugin, "plugin"), (.permission, "permission"),
            (.dialog, "dialog"),
        ])
        try check([
            (ApprovalRequest.Severity.low, "low"), (.medium, "medium"), (.high, "high"), (.critical, "critical"),
        ])
        try check([
            (ToolResult.Status.completed, "completed"), (.failed, "failed"), (.cancelled, "cancelled"),
        ])
        try check([(ToolChannel.call, "call"), (.command, "command"), (.item, "item")])
        try check([
            (EndOfTurn.FinishReason.stop, "stop"), (.length, "length"), (.contentFilter, "content_filter"),
            (.toolCall, "tool_call"),
        ])
        try check([
            (TurnOutcome.answered, "answered"), (.aborted, "aborted"), (.failed, "failed"), (.lost, "lost"),
            (.neverSent, "never_sent"), (.gone, "gone"), (.anothers, "anothers"),
        ])
        try check([(Preview.State.inStep, "in_step"), (.ahead, "ahead"), (.apart, "apart"), (.over, "over")])
    }

    @Test("is every state", arguments: Full.phases)
    func phases(phase: Turn.Phase) throws {
        #expect(try Self.again(phase) == phase)
    }

    @Test(
        "is every state of a card",
        arguments: [
            CardLife.State.queued, .telling([.more(1)]), .posted, .shown(until: .at(4)), .closed,
        ])
    func cards(state: CardLife.State) throws {
        var life = CardLife(number: 2, askedAt: .at(1))
        life.state = state
        #expect(try Self.again(life) == life)
    }

    @Test("is every answer", arguments: [QuestionAnswer.choices(["a", "b"]), .text("t"), .declined])
    func answers(answer: QuestionAnswer) throws {
        #expect(try Self.again(answer) == answer)
    }

    @Test("is how far a question has come", arguments: [QuestionLedger.Sight.seen, .text(through: 3), .message(.late)])
    func sights(sight: QuestionLedger.Sight) throws {
        #expect(try Self.again(sight) == sight)
    }

    @Test("is how it is sealed", arguments: Full.sealings)
    func sealing(sealing: TurnSealing) throws {
        var opening = Full.opening
        opening.sealing = sealing
        #expect(try Self.again(opening) == opening)
        var record = LaneRecord(address: Full.nowhere, message: nil, epoch: 1)
        record.address.sealing = sealing
        #expect(try Self.again(record) == record)
    }

    @Test("of a message that came sealed is what came, where it can be read")
    func unread() throws {
        let value = try Self.again(Full.opening.unread)
        #expect(value.message?.text == "" && value.sealedText == "AA==")
        #expect(try Self.again(Make.opening.unread) == Make.opening)
    }

    @Test("of a finished call is its id alone: a turn may have two thousand")
    func finishedCalls() throws {
        var turn = Make.running()
        for number in 1...3 {
            let call = ToolCallID("c\(number)")
            _ = turn.on(.tool(.started(ToolStart(call: call, name: "exec", title: "a long title"))))
            _ = turn.on(.tool(.finished(ToolResult(call: call, status: .completed, result: .string("long")))))
        }
        struct Tools: Decodable {
            var open: [String]
            var finished: [String]
        }
        struct Stored: Decodable { var tools: Tools }
        let stored = try JSONDecoder().decode(Stored.self, from: JSONEncoder().encode(Self.record(turn)))
        #expect(stored.tools.open == [] && stored.tools.finished == ["c1", "c2", "c3"])
    }
}

/// Values without a field at its initial value.
enum Full {
    static let attachment = Attachment(url: "u", key: "k", mimeType: "m", name: "n")
    static let message = UserMessage(
        id: MessageID("m2"), session: SessionID("s2"), interaction: InteractionID("i2"), text: "t",
        attachments: [attachment], model: "model", thoughtLevel: "high")
    static let opening: TurnOpening = {
        var opening = plainOpening
        opening.isMarked = true
        return opening
    }()
    private static let plainOpening = TurnOpening(
        id: TurnID("t2"), session: SessionID("s2"), interaction: InteractionID("i2"),
        agentSession: AgentSession("a2"), run: RunID("r2"), message: message, receivedAt: .at(1), windowEnds: .at(2),
        sealing: .keyGone(KeyName("k1")), sealedText: "AA==", refusal: .cameOpen,
        made: RelayMoment(wallMilliseconds: 3, instant: .at(4)))
    static let emptyOpening = TurnOpening(
        id: TurnID(""), session: SessionID(""), interaction: nil, agentSession: AgentSession(""), run: RunID(""),
        message: nil, receivedAt: .zero, windowEnds: .zero)
    static let nowhere = LaneAddress(turn: TurnID(""), session: SessionID(""), interaction: nil)
    static let usage = Usage(inputTokens: 1, outputTokens: 2, estimatedCostUSD: 0.5, model: "m", provider: "p")
    static let end = EndOfTurn(text: "end", usage: usage, finishReason: .toolCall, form: 3)
    static let card = ApprovalCard(
        approval: ApprovalID("a1"), action: "shell.exec", title: "t", message: "m", severity: .critical, command: "c",
        host: "h", slug: "s", toolCall: ToolCallID("c1"), endsAfter: .seconds(60))
    static let emptyApproval = ApprovalLedger.Approval(
        cards: AskCards(
            card: ApprovalCard(approval: ApprovalID(""), action: "", title: "", message: "", severity: .medium)),
        subject: .exec, state: .open)
    static let result: ToolResult = {
        var result = ToolResult(
            call: ToolCallID("c1"), channel: .item, name: "n", status: .failed, title: "t",
            result: JSONText(unchecked: "{}"), error: "e")
        result.lacksOutput = true
        return result
    }()

    static let life: CardLife = {
        var life = CardLife(number: 3, askedAt: .at(1))
        life.state = .telling([.more(2), .line(1)])
        life.postedAt = .at(2)
        life.dueAt = .at(3)
        life.wasLimited = true
        life.first = 2
        life.returned = 1
        life.shownCards = 2
        life.refilledAt = .at(4)
        return life
    }()

    static let approval: ApprovalLedger.Approval = {
        var approval = ApprovalLedger.Approval(
            cards: AskCards(card: card), subject: .dialog, expiresAt: .at(9), allowed: [.approve, .deny],
            state: .decided(.approveAlways))
        approval.detached = true
        approval.followUpBegan = true
        approval.owed = true
        approval.decidedByPerson = true
        approval.isAllowed = true
        approval.scope = DecisionScope(name: "tool", value: "exec")
        approval.decidedAt = .at(7)
        approval.cards.askedWithLeast = true
        approval.cards.askedWithoutEnd = true
        approval.cards.fingerprint = AskFingerprint("f")
        approval.cards.life = life
        approval.cards.parts = ["p"]
        approval.cards.isInParts = true
        approval.cards.canOnlyBeDenied = true
        approval.cards.toldUnanswered = true
        approval.cards.conflicts = 1
        approval.refuser = TurnID("words")
        approval.isUnanswered = true
        return approval
    }()

    static let emptyQuestion = Question(id: QuestionID(""), title: "")
    static let asked = QuestionLedger.Asked(
        question: Question(
            id: QuestionID("q1"), title: "t", message: "m",
            options: [Question.Option("v", label: "l", details: "d"), Question.Option("v")], isMultiSelect: true,
            allowsOwnWords: true, prefill: "p", placeholder: "h", expiresAt: .at(9)),
        fingerprint: AskFingerprint("f"), state: .answered(.choices(["v"])), asking: .text(through: 7),
        ending: .message(.more(2)), given: .text("g"),
        answerer: TurnID("t3"), words: "w", isOwed: true, isInDoubt: true, life: life, reminder: .more(4),
        toldUnanswered: true)

    static let call: ToolLedger.Call = {
        var call = ToolLedger.Call(task: TaskID("c1"), name: "n", label: "l", shownLabel: "s")
        call.outputChannel = .command
        call.began = .at(5)
        call.percent = 7
        call.commandOpen = true
        call.approval = ApprovalID("a1")
        call.held = result
        return call
    }()

    static let turn: Turn = {
        var turn = Turn(opening)
        turn.phase = .searching(since: .at(3))
        turn.text.base = "base"
        turn.text.ended = "ended"
        turn.text.hasGap = true
        turn.text.isIncomplete = true
        turn.text.isTorn = true
        turn.preview = Preview(limit: 7)
        turn.preview.state = .apart
        turn.tools.calls = [ToolCallID("c1"): call, ToolCallID("c0"): .finished(ToolCallID("c0"))]
        turn.tools.open = [ToolCallID("c1")]
        var open = approval
        open.state = .open
        open.cards.card.approval = ApprovalID("a2")
        turn.approvals.approvals = [ApprovalID("a1"): approval, ApprovalID("a2"): open]
        turn.approvals.order = [ApprovalID("a2"), ApprovalID("a1")]
        turn.approvals.detachedEarly = [ApprovalID("a3")]
        turn.approvals.toldNarrowed = true
        turn.approvals.partBytes = 7
        turn.approvals.reckonExpiry()
        turn.agent.questions.all = [asked, QuestionLedger.Asked(question: emptyQuestion, state: .open, asking: .seen)]
        turn.bubble.notes = BubbleNotes().adding("note", behind: "base").notes
        turn.runs.all = [RunID("r2"), RunID("r3")]
        turn.runs.ended = [RunID("r3")]
        turn.bubble.closingLines = ["line"]
        turn.bubble.notice = "notice"
        turn.runs.usage = usage
        turn.runs.usageOfEarlier = usage
        turn.bubble.heldAtWindowClose = "held"
        turn.bubble.isOver = true
        turn.bubble.isUnopened = true
        turn.runs.isRetrying = true
        turn.agent.isStopping = true
        turn.agent.stopsOwnRunsAlone = true
        turn.agent.isAway = true
        turn.agent.isInDoubt = true
        turn.agent.isFree = true
        turn.agent.wentWithout = [MissingFile("a.png", "was lost")]
        turn.agent.refusal = WordsOfRefusal(ask: ApprovalID("a0"), asker: TurnID("asker"), isAlone: true)
        turn.outbox.unconfirmed = [.open, .end, .message(.more(2))]
        turn.bubble.sentEnd = end
        turn.outbox.names.usedLate = true
        turn.outbox.names.more = 2
        turn.outbox.names.lines = 3
        turn.silence = TurnSilence(
            heardAt: .at(1), isCompacting: true, retriesSince: .at(4), saidAt: .at(5), due: .at(2), tasks: 2,
            told: TurnSilence.Told(task: TaskID("s2"), label: "waits for you", at: .at(3)), isStuckTold: true,
            tools: [ToolCallID("c9")])
        turn.deadlines = TurnDeadlines(
            window: .at(1), open: .at(11), key: .at(9), fetch: .at(10), agent: .at(2), stop: .at(3), followUp: .at(4),
            retry: .at(5),
            look: .at(6),
            ask: .at(7),
            abandon: .at(8))
        return turn
    }()

    static let lane: LaneRecord = {
        let address = LaneAddress(
            turn: opening.id, session: opening.session, interaction: opening.interaction,
            sealing: .sealed(KeyName("k1")))
        var lane = LaneRecord(
            address: address, message: MessageID("b1"), epoch: 4, deltas: 5, streamed: 6,
            unanswered: [
                LaneRecord.UnansweredCall(name: .text(endOffset: 6), key: IdempotencyKey("k1")),
                LaneRecord.UnansweredCall(name: .end, key: IdempotencyKey("k2"), form: 2, triedAt: .at(5)),
            ], ended: true)
        lane.waiting = posts.map {
            LaneRecord.WaitingPost(post: $0, since: .at(4), withoutInteraction: true, form: 2)
        }
        lane.bubbleIsLost = true
        lane.previewIsOver = true
        lane.windowIsOpen = false
        lane.isAbandoned = true
        lane.isClosing = true
        return lane
    }()

    static let posts: [Post] = [
        .open, .text("text"),
        .taskStarted(TaskStart(task: TaskID("c1"), kind: "exec", label: "l", arguments: JSONText(unchecked: "{}"))),
        .taskProgress(
            TaskProgress(task: TaskID("c1"), label: "l", percent: 3, partialResult: JSONText(unchecked: "[]"))),
        .taskEnded(
            TaskEnd(
                task: TaskID("c1"), name: "n", status: .cancelled, label: "l", error: "e",
                result: JSONText(unchecked: "1"))),
        .approval(card), .end(end), .message(WholeMessage(part: .more(2), text: "more", usage: usage)),
        .message(WholeMessage(part: .late, text: "late")), .message(WholeMessage(part: .line(3), text: "line")),
        .message(WholeMessage(part: .line(4), text: "line", inTheOpen: true)),
    ]

    static let sealings: [TurnSealing] = [
        .open, .sealed(nil), .sealed(KeyName("k1")), .keyGone(KeyName("k1")),
    ]

    static let phases: [Turn.Phase] = [
        .awaitingKey, .fetching, .waiting, .handedOver, .running, .holding, .asking, .searching(since: .at(1)),
        .over(.answered),
        .answering(QuestionID("q1"), of: TurnID("t3")),
        .over(.aborted),
        .over(.failed), .over(.lost), .over(.neverSent), .closed(.gone),
    ]
}
