import BridgeModel

/// The questions of a turn, in the order they were asked.
struct StoredQuestions: StoredForm {
    struct Asked: Codable, Hashable, Sendable {
        enum State: String, Codable {
            case waiting = "waiting"
            case open = "open"
            case answered = "answered"
            case settled = "settled"
        }

        var question: StoredQuestion
        var state: State
        var answer: StoredAnswer?
        var given: StoredAnswer?
        var asking: StoredSight?
        var ending: StoredSight?
        var answerer: TurnID?
        var words: String?
        var owed: Bool?
        var inDoubt: Bool?
        var life: StoredCardLife?
        var toldUnanswered: Bool?
        var fingerprint: String?

        enum CodingKeys: String, CodingKey {
            case question = "question"
            case state = "state"
            case answer = "answer"
            case given = "given"
            case asking = "asking"
            case ending = "ending"
            case answerer = "answerer"
            case words = "words"
            case owed = "owed"
            case inDoubt = "in_doubt"
            case life = "life"
            case toldUnanswered = "told_unanswered"
            case fingerprint = "fingerprint"
        }
    }

    var asked: [Asked]

    enum CodingKeys: String, CodingKey { case asked = "asked" }
}

extension StoredQuestions.Asked {
    private mutating func carry(_ asked: inout QuestionLedger.Asked, _ carry: Carry) {
        carry(&asked.given, as: &given)
        carry(&asked.asking, as: &asking, absent: .none)
        carry(&asked.ending, as: &ending, absent: .none)
        carry(&asked.answerer, &answerer)
        carry(&asked.words, &words, absent: "")
        carry(&asked.isOwed, &owed, absent: false)
        carry(&asked.isInDoubt, &inDoubt, absent: false)
        carry(&asked.life, as: &life, absent: CardLife())
        carry(&asked.toldUnanswered, &toldUnanswered, absent: false)
    }

    init(_ asked: QuestionLedger.Asked) {
        question = StoredQuestion(asked.question)
        fingerprint = asked.fingerprint?.text
        switch asked.state {
        case .waiting: state = .waiting
        case .open: state = .open
        case .answered(let answer): (state, self.answer) = (.answered, StoredAnswer(answer))
        case .settled: state = .settled
        }
        var asked = asked
        carry(&asked, .storing)
    }

    var value: QuestionLedger.Asked {
        let state: QuestionLedger.State =
            switch self.state {
            case .waiting: .waiting
            case .open: .open
            case .answered: .answered(answer?.value ?? .declined)
            case .settled: .settled
            }
        var asked = QuestionLedger.Asked(
            question: question.value, fingerprint: fingerprint.map { AskFingerprint($0) }, state: state)
        var stored = self
        stored.carry(&asked, .restoring)
        return asked
    }
}

extension StoredQuestions {
    init(_ ledger: QuestionLedger) { asked = ledger.all.map { Asked($0) } }

    var value: QuestionLedger {
        var ledger = QuestionLedger()
        ledger.all = asked.map(\.value)
        return ledger
    }
}

struct StoredQuestion: StoredForm {
    struct Option: Codable, Hashable, Sendable {
        var value: String
        var label: String?
        var details: String?

        enum CodingKeys: String, CodingKey {
            case value = "value"
            case label = "label"
            case details = "details"
        }
    }

    var id: QuestionID
    var title: String
    var message: String?
    var options: [Option]?
    var multiSelect: Bool?
    var ownWords: Bool?
    var prefill: String?
    var placeholder: String?
    var expiresAt: Instant?

    enum CodingKeys: String, CodingKey {
        case id = "id"
        case title = "title"
        case message = "message"
        case options = "options"
        case multiSelect = "multi_select"
        case ownWords = "own_words"
        case prefill = "prefill"
        case placeholder = "placeholder"
        case expiresAt = "expires_at"
    }
}

extension StoredQuestion {
    private mutating func carry(_ question: inout Question, _ carry: Carry) {
        carry(&question.message, &message, absent: "")
        carry(&question.isMultiSelect, &multiSelect, absent: false)
        carry(&question.allowsOwnWords, &ownWords, absent: false)
        carry(&question.prefill, &prefill)
        carry(&question.placeholder, &placeholder)
        carry(&question.expiresAt, &expiresAt)
    }

    init(_ question: Question) {
        (id, title) = (question.id, question.title)
        let options = question.options.map {
            Option(value: $0.value, label: $0.label == $0.value ? nil : $0.label, details: $0.details)
        }
        self.options = options.isEmpty ? nil : options
        var question = question
        carry(&question, .storing)
    }

    var value: Question {
        let options = options ?? []
        var question = Question(
            id: id, title: title,
            options: options.map { Question.Option($0.value, label: $0.label, details: $0.details) })
        var stored = self
        stored.carry(&question, .restoring)
        return question
    }
}

struct StoredAnswer: StoredForm {
    var choices: [String]?
    var text: String?

    enum CodingKeys: String, CodingKey {
        case choices = "choices"
        case text = "text"
    }

    /// Neither: it was declined.
    init(_ answer: QuestionAnswer) {
        switch answer {
        case .choices(let values): choices = values
        case .text(let text): self.text = text
        case .declined: break
        }
    }

    var value: QuestionAnswer { choices.map { .choices($0) } ?? text.map { .text($0) } ?? .declined }
}

struct StoredSight: StoredForm {
    var through: Int?
    var message: StoredPostName?

    enum CodingKeys: String, CodingKey {
        case through = "through"
        case message = "message"
    }

    /// Neither: seen. `none` is not written at all.
    init(_ sight: QuestionLedger.Sight) {
        switch sight {
        case .text(let end): through = end
        case .message(let part): message = StoredPostName(.message(part))
        case .none, .seen: break
        }
    }

    var value: QuestionLedger.Sight {
        if case .message(let part)? = message?.value { return .message(part) }
        return through.map { .text(through: $0) } ?? .seen
    }
}

/// Text of ours in a bubble.
struct StoredBubbleNotes: StoredForm {
    struct Note: Codable, Hashable, Sendable {
        var anchor: Int
        var text: String
        var start: Int

        enum CodingKeys: String, CodingKey {
            case anchor = "anchor"
            case text = "text"
            case start = "start"
        }
    }

    var all: [Note]

    enum CodingKeys: String, CodingKey { case all = "all" }

    init(_ notes: BubbleNotes) {
        all = notes.all.map { Note(anchor: $0.anchor, text: $0.text, start: $0.start) }
    }

    var value: BubbleNotes {
        var notes = BubbleNotes()
        notes.all = all.map { BubbleNotes.Note(anchor: $0.anchor, text: $0.text, start: $0.start) }
        return notes
    }
}
