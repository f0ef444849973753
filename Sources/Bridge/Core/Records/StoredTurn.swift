import BridgeModel

/// One turn, as the journal holds it: version 2 of the records.
package struct StoredTurn: StoredForm {
    var opening: StoredOpening
    var lane: StoredLane
    /// Pairs: the card's name at the agent and on the phone.
    var renamed: [[TaskID]]?
    var phase: StoredPhase
    var text: StoredText?
    var preview: StoredPreview
    var tools: StoredTools?
    var approvals: StoredApprovals?
    var questions: StoredQuestions?
    var notes: StoredBubbleNotes?
    var runs: [RunID]?
    var endedRuns: [RunID]?
    var closingLines: [String]?
    var notice: String?
    var usage: StoredUsage?
    var usageOfEarlierRuns: StoredUsage?
    var heldAtWindowClose: String?
    var bubbleIsOver: Bool?
    var bubbleIsUnopened: Bool?
    var retrying: Bool?
    var stopping: Bool?
    var stopsOwnRunsAlone: Bool?
    var agentAway: Bool?
    var inDoubt: Bool?
    var agentIsFree: Bool?
    var wentWithout: [StoredMissingFile]?
    var refusal: StoredWordsOfRefusal?
    var unconfirmed: [StoredPostName]?
    var sentEnd: StoredEnd?
    var names: StoredNames?
    var deadlines: StoredDeadlines?
    var silence: StoredSilence?

    enum CodingKeys: String, CodingKey {
        case opening = "opening"
        case lane = "lane"
        case renamed = "renamed"
        case phase = "phase"
        case text = "text"
        case preview = "preview"
        case tools = "tools"
        case approvals = "approvals"
        case questions = "questions"
        case notes = "notes"
        case runs = "runs"
        case endedRuns = "ended_runs"
        case closingLines = "closing_lines"
        case notice = "notice"
        case usage = "usage"
        case usageOfEarlierRuns = "usage_of_earlier_runs"
        case heldAtWindowClose = "held_at_window_close"
        case bubbleIsOver = "bubble_is_over"
        case bubbleIsUnopened = "bubble_is_unopened"
        case retrying = "retrying"
        case stopping = "stopping"
        case stopsOwnRunsAlone = "stops_own_runs_alone"
        case agentAway = "agent_away"
        case inDoubt = "in_doubt"
        case agentIsFree = "agent_is_free"
        case wentWithout = "went_without"
        case refusal = "refusal"
        case unconfirmed = "unconfirmed"
        case sentEnd = "sent_end"
        case names = "names"
        case deadlines = "deadlines"
        case silence = "silence"
    }
}

extension StoredTurn {
    private mutating func carry(_ turn: inout Turn, _ carry: Carry) {
        carry(&turn.phase, as: &phase)
        carry(&turn.text, as: &text, absent: RunText())
        carry(&turn.preview, as: &preview)
        carry(&turn.tools, as: &tools, absent: ToolLedger())
        carry(&turn.approvals, as: &approvals, absent: ApprovalLedger())
        carry(&turn.agent.questions, as: &questions, absent: QuestionLedger())
        carry(&turn.bubble.notes, as: &notes, absent: BubbleNotes())
        carry(&turn.runs.all, as: &runs)
        carry(&turn.runs.ended, as: &endedRuns)
        carry(&turn.bubble.closingLines, &closingLines, absent: [])
        carry(&turn.bubble.notice, &notice)
        carry(&turn.runs.usage, as: &usage)
        carry(&turn.runs.usageOfEarlier, as: &usageOfEarlierRuns)
        carry(&turn.bubble.heldAtWindowClose, &heldAtWindowClose)
        carry(&turn.bubble.isOver, &bubbleIsOver, absent: false)
        carry(&turn.bubble.isUnopened, &bubbleIsUnopened, absent: false)
        carry(&turn.runs.isRetrying, &retrying, absent: false)
        carry(&turn.agent.isStopping, &stopping, absent: false)
        carry(&turn.agent.stopsOwnRunsAlone, &stopsOwnRunsAlone, absent: false)
        carry(&turn.agent.isAway, &agentAway, absent: false)
        carry(&turn.agent.isInDoubt, &inDoubt, absent: false)
        carry(&turn.agent.isFree, &agentIsFree, absent: false)
        carry(&turn.agent.wentWithout, as: &wentWithout)
        carry(&turn.agent.refusal, as: &refusal)
        carry(&turn.bubble.sentEnd, as: &sentEnd)
        carry(&turn.outbox.names, as: &names, absent: MessageNames())
        carry(&turn.deadlines, as: &deadlines, absent: TurnDeadlines())
        var kept = turn.silence.kept
        carry(&kept, as: &silence, absent: TurnSilence())
        turn.silence = kept
        var confirmed = turn.outbox.unconfirmed.sorted { $0.order < $1.order }
        carry(&confirmed, as: &unconfirmed)
        turn.outbox.unconfirmed = Set(confirmed)
    }

    package init(_ record: TurnRecord) {
        opening = StoredOpening(record.opening)
        lane = StoredLane(record.lane)
        phase = StoredPhase(record.turn.phase)
        preview = StoredPreview(record.turn.preview)
        let names = record.renamed.sorted { $0.key < $1.key }.map { [$0.key, $0.value] }
        renamed = names.isEmpty ? nil : names
        var turn = record.turn
        carry(&turn, .storing)
    }

    package var value: TurnRecord {
        var turn = Turn(opening.value)
        var stored = self
        stored.carry(&turn, .restoring)
        let pairs = (renamed ?? []).filter { $0.count == 2 }.map { ($0[0], $0[1]) }
        return TurnRecord(turn: turn, lane: lane.value, renamed: Dictionary(pairs) { first, _ in first })
    }
}

extension PostName {
    /// So that equal sets are written the same.
    fileprivate var order: String { "\(self)" }
}

/// The ask that a message refuses. Its words are in the opening.
struct StoredWordsOfRefusal: StoredForm {
    var ask: ApprovalID
    var asker: TurnID
    var isAlone: Bool?

    enum CodingKeys: String, CodingKey {
        case ask = "ask"
        case asker = "asker"
        case isAlone = "alone"
    }
}

extension StoredWordsOfRefusal {
    init(_ words: WordsOfRefusal) { (ask, asker, isAlone) = (words.ask, words.asker, words.isAlone ? true : nil) }

    var value: WordsOfRefusal { WordsOfRefusal(ask: ask, asker: asker, isAlone: isAlone ?? false) }
}

struct StoredPhase: StoredForm {
    enum Name: String, Codable {
        case awaitingKey = "awaiting_key"
        case fetching = "fetching"
        case waiting = "waiting"
        case handedOver = "handed_over"
        case running = "running"
        case holding = "holding"
        case asking = "asking"
        case searching = "searching"
        case over = "over"
        case closed = "closed"
    }

    var name: Name
    var since: Instant?
    var outcome: StoredOutcome?
    /// Of a message that answers, with the name of a running turn: a program that knows no questions hands nothing over then.
    var question: QuestionID?
    var asker: TurnID?

    enum CodingKeys: String, CodingKey {
        case name = "name"
        case since = "since"
        case outcome = "outcome"
        case question = "question"
        case asker = "asker"
    }
}

extension StoredPhase {
    init(_ phase: Turn.Phase) {
        switch phase {
        case .awaitingKey: name = .awaitingKey
        case .fetching: name = .fetching
        case .waiting: name = .waiting
        case .answering(let question, let asker): (name, self.question, self.asker) = (.running, question, asker)
        case .handedOver: name = .handedOver
        case .running: name = .running
        case .holding: name = .holding
        case .asking: name = .asking
        case .searching(let since): (name, self.since) = (.searching, since)
        case .over(let outcome): (name, self.outcome) = (.over, StoredOutcome(outcome))
        case .closed(let outcome): (name, self.outcome) = (.closed, StoredOutcome(outcome))
        }
    }

    var value: Turn.Phase {
        if let question, let asker { return .answering(question, of: asker) }
        return switch name {
        case .awaitingKey: .awaitingKey
        case .fetching: .fetching
        case .waiting: .waiting
        case .handedOver: .handedOver
        case .running: .running
        case .holding: .holding
        case .asking: .asking
        case .searching: .searching(since: since ?? .zero)
        case .over: .over(outcome?.value ?? .gone)
        case .closed: .closed(outcome?.value ?? .gone)
        }
    }
}

struct StoredDeadlines: StoredForm {
    var window: Instant?
    var open: Instant?
    var key: Instant?
    var fetch: Instant?
    var agent: Instant?
    var stop: Instant?
    var followUp: Instant?
    var retry: Instant?
    var look: Instant?
    var ask: Instant?
    var abandon: Instant?

    enum CodingKeys: String, CodingKey {
        case window = "window"
        case open = "open"
        case key = "key"
        case fetch = "fetch"
        case agent = "agent"
        case stop = "stop"
        case followUp = "follow_up"
        case retry = "retry"
        case look = "look"
        case ask = "ask"
        case abandon = "abandon"
    }
}

extension StoredDeadlines {
    private mutating func carry(_ deadlines: inout TurnDeadlines, _ carry: Carry) {
        carry(&deadlines.window, &window)
        carry(&deadlines.open, &open)
        carry(&deadlines.key, &key)
        carry(&deadlines.fetch, &fetch)
        carry(&deadlines.agent, &agent)
        carry(&deadlines.stop, &stop)
        carry(&deadlines.followUp, &followUp)
        carry(&deadlines.retry, &retry)
        carry(&deadlines.look, &look)
        carry(&deadlines.ask, &ask)
        carry(&deadlines.abandon, &abandon)
    }

    init(_ deadlines: TurnDeadlines) {
        var deadlines = deadlines
        carry(&deadlines, .storing)
    }

    var value: TurnDeadlines {
        var deadlines = TurnDeadlines()
        var stored = self
        stored.carry(&deadlines, .restoring)
        return deadlines
    }
}
