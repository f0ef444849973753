package import Vocabulary

// MARK: Approvals

/// The approvals of a turn, in the order they were asked for.
extension ApprovalLedger: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field("asked") { ledger in
            ledger.order.compactMap { id in ledger.approvals[id].map { Entry(id: id, approval: $0) } }
        } read: {
            for entry in $1 ?? [] {
                $0.approvals[entry.id] = entry.approval
                $0.order.append(entry.id)
            }
        },
        Field("detached_early", \.detachedEarly), Field("told_narrowed", \.toldNarrowed, absent: false),
        Field("part_bytes", \.partBytes, absent: 0),
    ]

    mutating func fieldsRead() {
        partBytes = min(max(0, partBytes), Self.partLimit)
        reckonExpiry()
    }

    struct Entry: Kept {
        var id: ApprovalID
        var approval: Approval

        static let blank = Self(id: ApprovalID(""), approval: .blank)
        static let fields: [Field<Self>] =
            [
                Field(always: "approval", \.id),
                // A settled ask needs no card, which may be large.
                Field("card") {
                    $0.approval.state == .settled ? nil : $0.approval.cards.card.unnamed($0.id)
                } read: {
                    $0.approval.cards.card = ($1 ?? .blank).named($0.id)
                },
            ] + Approval.fields.map { $0.of(\.approval) }
    }
}

extension ApprovalLedger.Approval {
    static let blank = Self(cards: AskCards(card: .blank), subject: .exec, state: .open)
    /// Fields besides the card.
    static let fields: [Field<Self>] = [
        Field(always: "subject", \.subject), Field(always: "state", \.kept.state),
        Field("decision", \.kept.decision), Field("expires_at", \.expiresAt),
        Field("allowed") {
            $0.allowed.map { $0.sorted { $0.rawValue < $1.rawValue } }
        } read: {
            $0.allowed = $1.map { Set($0) }
        },
        Field("detached", \.detached, absent: false), Field("follow_up_began", \.followUpBegan, absent: false),
        Field("owed", \.owed, absent: false), Field("decided_by_person", \.decidedByPerson, absent: false),
        Field("allowed_by_person", \.isAllowed, absent: false), Field("decided_at", \.decidedAt),
        Field("scope", \.scope.name), Field("scope_value", \.scope.value),
        Field("asked_with_least", \.cards.askedWithLeast, absent: false),
        Field("asked_without_end", \.cards.askedWithoutEnd, absent: false),
        Field("fingerprint", \.cards.fingerprint), Field("life", \.cards.life, absent: CardLife()),
        Field("parts", \.cards.parts, absent: []), Field("in_parts", \.cards.isInParts, absent: false),
        Field("only_denied", \.cards.canOnlyBeDenied, absent: false),
        Field("told_unanswered", \.cards.toldUnanswered, absent: false),
        Field("unanswered", \.isUnanswered, absent: false), Field("conflicts", \.cards.conflicts, absent: 0),
        Field("refused_by", \.refuser),
    ]

    enum StateWord: String, Codable { case open, decided, settled }

    /// The state as two fields.
    fileprivate var kept: (state: StateWord, decision: ApprovalDecision?) {
        get {
            switch state {
            case .open: (.open, nil)
            case .decided(let decision): (.decided, decision)
            case .settled: (.settled, nil)
            }
        }
        set {
            switch newValue.state {
            case .open: state = .open
            case .decided: state = .decided(newValue.decision ?? .deny)
            case .settled: state = .settled
            }
        }
    }
}
extension ApprovalDecision: Codable {}
extension ApprovalRequest.Subject: Codable {}

extension AskFingerprint: Codable {
    package init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// The cards of an ask, or the appearances of a question.
extension CardLife: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [
        Field(always: "state", \.word),
        // Parts that the relay does not have yet.
        Field("parts") {
            guard case .telling(let left) = $0.state else { return nil }
            return left.map { PostName.message($0) }.sorted { $0.order < $1.order }
        } read: { (life: inout Self, names: [PostName]?) in
            guard case .telling = life.state else { return }
            life.state = .telling(
                Set((names ?? []).compactMap { if case .message(let part) = $0 { part } else { nil } }))
        },
        Field("until") {
            if case .shown(let until) = $0.state { until } else { nil }
        } read: {
            if case .shown = $0.state { $0.state = $1.map { .shown(until: $0) } ?? .posted }
        },
        Field("number", \.number, absent: 1), Field("asked_at", \.askedAt), Field("posted_at", \.postedAt),
        Field("due_at", \.dueAt), Field("limited", \.wasLimited, absent: false), Field("first", \.first, absent: 1),
        Field("returned", \.returned, absent: 0), Field("refilled_at", \.refilledAt),
        Field("shown", \.shownCards, absent: 0),
    ]

    mutating func fieldsRead() {
        number = max(1, min(number, 1_000_000))
        first = max(1, min(first, number))
        returned = max(0, returned)
        shownCards = max(0, min(shownCards, 1_000_000))
    }

    enum StateWord: String, Codable { case queued, telling, posted, shown, closed }

    fileprivate var word: StateWord {
        get {
            switch state {
            case .queued: .queued
            case .telling: .telling
            case .posted: .posted
            case .shown: .shown
            case .closed: .closed
            }
        }
        set {
            state =
                switch newValue {
                case .queued: .queued
                case .telling: .telling([])
                case .posted: .posted
                case .shown: .shown(until: .zero)
                case .closed: .closed
                }
        }
    }
}

// MARK: Questions

/// The questions of a turn, in the order they were asked.
extension QuestionLedger: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [Field(always: "asked", \.all)]
}

extension QuestionLedger.Asked: Kept {
    static let blank = Self(question: .blank)
    static let fields: [Field<Self>] = [
        Field(always: "question", \.question), Field(always: "state", \.kept.state), Field("answer", \.kept.answer),
        Field("given", \.given), Field("asking", \.asking, absent: .none), Field("ending", \.ending, absent: .none),
        Field("answerer", \.answerer), Field("words", \.words, absent: ""), Field("owed", \.isOwed, absent: false),
        Field("in_doubt", \.isInDoubt, absent: false), Field("life", \.life, absent: CardLife()),
        Field("told_unanswered", \.toldUnanswered, absent: false), Field("fingerprint", \.fingerprint),
    ]

    enum StateWord: String, Codable { case waiting, open, answered, settled }

    /// The state as two fields.
    fileprivate var kept: (state: StateWord, answer: QuestionAnswer?) {
        get {
            switch state {
            case .waiting: (.waiting, nil)
            case .open: (.open, nil)
            case .answered(let answer): (.answered, answer)
            case .settled: (.settled, nil)
            }
        }
        set {
            switch newValue.state {
            case .waiting: state = .waiting
            case .open: state = .open
            case .answered: state = .answered(newValue.answer ?? .declined)
            case .settled: state = .settled
            }
        }
    }
}

extension Question: Kept {
    package static let blank = Self(id: QuestionID(""), title: "")
    package static let fields: [Field<Self>] = [
        Field(always: "id", \.id), Field(always: "title", \.title), Field("message", \.message, absent: ""),
        Field("options", \.options, absent: []), Field("multi_select", \.isMultiSelect, absent: false),
        Field("own_words", \.allowsOwnWords, absent: false), Field("prefill", \.prefill),
        Field("placeholder", \.placeholder), Field("expires_at", \.expiresAt),
    ]
}

extension Question.Option: Kept {
    package static let blank = Self("")
    package static let fields: [Field<Self>] = [
        Field(always: "value", \.value),
        Field("label") {
            $0.label == $0.value ? nil : $0.label
        } read: {
            $0.label = $1 ?? $0.value
        },
        Field("details", \.details),
    ]
}

/// An object without a key means declined.
extension QuestionAnswer: Codable {
    package init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: FieldKey.self)
        let (choices, text): ([String]?, String?) = (try record["choices"], try record["text"])
        self = choices.map { .choices($0) } ?? text.map { .text($0) } ?? .declined
    }

    package func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        switch self {
        case .choices(let values): try record.encode(values, forKey: "choices")
        case .text(let text): try record.encode(text, forKey: "text")
        case .declined: break
        }
    }
}

/// An object without a key means seen. `none` has no object.
extension QuestionLedger.Sight: Codable {
    init(from decoder: any Decoder) throws {
        let record = try decoder.container(keyedBy: FieldKey.self)
        let (message, through): (PostName?, Int?) = (try record["message"], try record["through"])
        if case .message(let part)? = message {
            self = .message(part)
        } else {
            self = through.map { .text(through: $0) } ?? .seen
        }
    }

    func encode(to encoder: any Encoder) throws {
        var record = encoder.container(keyedBy: FieldKey.self)
        switch self {
        case .text(let end): try record.encode(end, forKey: "through")
        case .message(let part): try record.encode(PostName.message(part), forKey: "message")
        case .none, .seen: break
        }
    }
}

/// Text of ours in a bubble.
extension BubbleNotes: Kept {
    static let blank = Self()
    static let fields: [Field<Self>] = [Field(always: "all", \.all)]
}

extension BubbleNotes.Note: Kept {
    static let blank = Self(anchor: 0, text: "", start: 0)
    static let fields: [Field<Self>] = [
        Field(always: "anchor", \.anchor), Field(always: "text", \.text), Field(always: "start", \.start),
    ]
}
