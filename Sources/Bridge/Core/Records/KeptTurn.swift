package import Vocabulary

/// One turn, as the journal holds it besides its parts.
extension TurnRecord: Kept {
    package static var blank: Self { Self(turn: Turn(.blank), lane: .blank, renamed: [:]) }
    package static let fields: [Field<Self>] =
        [
            Field(always: "opening", \.turn.opening), Field(always: "lane", \.lane),
            // Pairs: the card's name at the agent and on the phone.
            Field("renamed") {
                $0.renamed.isEmpty ? nil : $0.renamed.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }
            } read: {
                let pairs = ($1 ?? []).filter { $0.count == 2 }.map { ($0[0], $0[1]) }
                $0.renamed = Dictionary(pairs) { first, _ in first }
            },
            Field("parts") {
                $0.parts.count == 0 ? nil : $0.parts
            } read: {
                $0.parts = $1 ?? .blank
            },
        ] + Turn.fields.map { $0.of(\.turn) }

    package func encode(to encoder: any Encoder) throws {
        var rest = self
        rest.turn = parts.cut(turn)
        var record = encoder.container(keyedBy: FieldKey.self)
        for field in Self.fields { try field.write(rest, &record) }
    }
}

extension Turn {
    /// Fields besides the opening.
    static let fields: [Field<Turn>] = [
        Field(always: "phase", \.phase),
        Field("text", \.text, absent: RunText()),
        Field(always: "preview", \.preview),
        Field("tools", \.tools, absent: ToolLedger()),
        Field("approvals", \.approvals, absent: ApprovalLedger()),
        Field("questions", \.agent.questions, absent: QuestionLedger()),
        Field("notes", \.bubble.notes, absent: BubbleNotes()),
        Field("runs", \.runs.all),
        Field("ended_runs", \.runs.ended),
        Field("closing_lines", \.bubble.closingLines, absent: []),
        Field("notice", \.bubble.notice),
        Field("usage", \.runs.usage),
        Field("usage_of_earlier_runs", \.runs.usageOfEarlier),
        Field("held_at_window_close", \.bubble.heldAtWindowClose),
        Field("bubble_is_over", \.bubble.isOver, absent: false),
        Field("bubble_is_unopened", \.bubble.isUnopened, absent: false),
        Field("retrying", \.runs.isRetrying, absent: false),
        Field("stopping", \.agent.isStopping, absent: false),
        Field("stops_own_runs_alone", \.agent.stopsOwnRunsAlone, absent: false),
        Field("agent_away", \.agent.isAway, absent: false),
        Field("in_doubt", \.agent.isInDoubt, absent: false),
        Field("agent_is_free", \.agent.isFree, absent: false),
        Field("went_without", \.agent.wentWithout, absent: []),
        Field("refusal", \.agent.refusal),
        Field("unconfirmed") {
            $0.outbox.unconfirmed.isEmpty ? nil : $0.outbox.unconfirmed.sorted { $0.order < $1.order }
        } read: {
            $0.outbox.unconfirmed = Set($1 ?? [])
        },
        Field("sent_end", \.bubble.sentEnd),
        Field("names", \.outbox.names, absent: MessageNames()),
        Field("deadlines", \.deadlines, absent: TurnDeadlines()),
        Field("silence", \.silence.kept, absent: TurnSilence()),
    ]
}

/// A turn whose message answers has the word of a running one: a program that knows no questions then hands nothing over.
extension Turn.Phase: Codable {
    init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: FieldKey.self)
        let word = try record.decode(String.self, forKey: "name")
        let outcome = { try record["outcome"] ?? TurnOutcome.gone }
        self =
            switch word {
            case "awaiting_key": .awaitingKey
            case "fetching": .fetching
            case "waiting": .waiting
            case "handed_over": .handedOver
            case "running": .running
            case "holding": .holding
            case "asking": .asking
            case "searching": .searching(since: try record["since"] ?? .zero)
            case "over": .over(try outcome())
            case "closed": .closed(try outcome())
            default: throw record.noCase("name", word)
            }
        let (question, asker): (QuestionID?, TurnID?) = (try record["question"], try record["asker"])
        if let question, let asker { self = .answering(question, of: asker) }
    }

    func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        try record.encode(word, forKey: "name")
        switch self {
        case .awaitingKey, .fetching, .waiting, .handedOver, .running, .holding, .asking: break
        case .answering(let question, let asker):
            try record.encode(question, forKey: "question")
            try record.encode(asker, forKey: "asker")
        case .searching(let since): try record.encode(since, forKey: "since")
        case .over(let outcome), .closed(let outcome): try record.encode(outcome, forKey: "outcome")
        }
    }

    private var word: String {
        switch self {
        case .awaitingKey: "awaiting_key"
        case .fetching: "fetching"
        case .waiting: "waiting"
        case .handedOver: "handed_over"
        case .running, .answering: "running"
        case .holding: "holding"
        case .asking: "asking"
        case .searching: "searching"
        case .over: "over"
        case .closed: "closed"
        }
    }
}

extension TurnOutcome: KeptWord {
    package static let allCases: [Self] = [.answered, .aborted, .failed, .lost, .neverSent, .gone, .anothers]
    package var word: String {
        switch self {
        case .answered: "answered"
        case .aborted: "aborted"
        case .failed: "failed"
        case .lost: "lost"
        case .neverSent: "never_sent"
        case .gone: "gone"
        case .anothers: "anothers"
        }
    }
}

/// The ask that a message refuses. The words are in the opening.
extension WordsOfRefusal: Kept {
    static let blank = Self(ask: ApprovalID(""), asker: TurnID(""), isAlone: false)
    static let fields: [Field<Self>] = [
        Field(always: "ask", \.ask), Field(always: "asker", \.asker), Field("alone", \.isAlone, absent: false),
    ]
}

extension TurnDeadlines: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("window", \.window), Field("open", \.open), Field("key", \.key), Field("fetch", \.fetch),
        Field("agent", \.agent), Field("stop", \.stop), Field("follow_up", \.followUp), Field("retry", \.retry),
        Field("look", \.look), Field("ask", \.ask), Field("abandon", \.abandon),
    ]
}

/// The newest segment is not kept: the deltas hold what was streamed of it (`RunText.resume`).
extension RunText: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("base", \.base, absent: ""), Field("ended", \.ended, absent: ""),
        Field("has_gap", \.hasGap, absent: false), Field("is_incomplete", \.isIncomplete, absent: false),
        Field("is_torn", \.isTorn, absent: false),
    ]
}

/// The streamed text is not kept: the deltas hold it (`Preview.resume`).
extension Preview: Kept {
    static let blank = Self(limit: 0)
    static let fields: [Field<Self>] = [Field(always: "limit", \.limit), Field(always: "state", \.state)]
}

extension Preview.State: KeptWord {
    static let allCases: [Self] = [.inStep, .ahead, .apart, .over]
    var word: String {
        switch self {
        case .inStep: "in_step"
        case .ahead: "ahead"
        case .apart: "apart"
        case .over: "over"
        }
    }
}

extension MessageNames: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("used_late", \.usedLate, absent: false), Field("more", \.more, absent: 0),
        Field("lines", \.lines, absent: 0),
    ]
}

/// The status task and the line of a silent turn. The time of the last sign of life is not kept, since every frame changes it.
extension TurnSilence: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("tasks", \.tasks, absent: 0),
        Field("task") {
            $0.told?.task
        } read: {
            $0.told = $1.map { Told(task: $0, label: "", at: .zero) }
        },
        Field("label") {
            $0.told?.label
        } read: {
            $0.told?.label = $1 ?? ""
        },
        Field("said_at") {
            $0.told?.at
        } read: {
            $0.told?.at = $1 ?? .zero
        },
        Field("is_stuck_told", \.isStuckTold, absent: false),
        // Tools at work after the bubble's end.
        Field("open", \.tools),
    ]

    /// The part of the state that is kept.
    fileprivate var kept: Self {
        get {
            var kept = Self()
            (kept.tasks, kept.told, kept.isStuckTold, kept.tools) = (tasks, told, isStuckTold, tools)
            return kept
        }
        set { self = newValue }
    }
}

// MARK: Tools

/// A finished call is an id alone in the record: a turn may have two thousand.
extension ToolLedger: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("finished") {
            $0.calls.filter(\.value.finished).keys.sorted()
        } read: {
            for id in $1 ?? [] { $0.calls[id] = .finished(id) }
        },
        // In the order they began.
        Field("open") { tools in
            tools.open.compactMap { id in tools.calls[id].map { Entry(id: id, call: $0) } }
        } read: {
            for entry in $1 ?? [] {
                $0.calls[entry.id] = entry.call
                $0.open.append(entry.id)
            }
        },
    ]

    struct Entry: Kept {
        var id: ToolCallID
        var call: Call

        static let blank = Self(id: ToolCallID(""), call: Call(task: TaskID(""), name: ""))
        /// Running output is not kept: its card shows what was sent, and its end replaces it.
        static let fields: [Field<Self>] = [
            Field(always: "call", \.id), Field(always: "task", \.call.task), Field(always: "name", \.call.name),
            Field("label", \.call.label), Field("began", \.call.began), Field("shown_label", \.call.shownLabel),
            Field("output_channel", \.call.outputChannel), Field("percent", \.call.percent),
            Field("command_open", \.call.commandOpen, absent: false), Field("approval", \.call.approval),
            Field("held", \.call.held),
        ]
    }
}

extension ToolResult: Kept {
    package static let blank = Self(call: ToolCallID(""), status: .completed)
    package static let fields: [Field<Self>] = [
        Field(always: "call", \.call), Field(always: "channel", \.channel), Field("name", \.name),
        Field(always: "status", \.status), Field("title", \.title), Field("result", \.result), Field("error", \.error),
        Field("lacks_output", \.lacksOutput, absent: false),
    ]
}
extension ToolResult.Status: Codable {}

extension ToolChannel: KeptWord {
    package static let allCases: [Self] = [.call, .command, .item]
    package var word: String {
        switch self {
        case .call: "call"
        case .command: "command"
        case .item: "item"
        }
    }
}
