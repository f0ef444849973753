import Vocabulary

// Parts of a turn besides its phase, its text and its ledgers, one concern each.

/// The runs whose events are a turn's: the requested one, and adopted ones (a foreign answer to its message, the follow-up of an
/// approval).
///
/// Invariant: a run that has ended for the turn stays one of its runs, and says nothing more.
struct TurnRuns: Hashable, Sendable {
    var all: Set<RunID>
    /// Runs that ended before the turn did; their later events are ignored.
    var ended: Set<RunID> = []
    /// An attempt failed; the next one starts the text over.
    var isRetrying = false
    var usage: Usage?
    /// Usage of earlier runs, to which the next run's usage is added.
    var usageOfEarlier: Usage?

    init(_ run: RunID) { all = [run] }

    /// Runs that have not ended, as far as is known.
    var open: [RunID] { all.subtracting(ended).sorted() }

    /// False if the run is one of the turn's already.
    mutating func adopt(_ run: RunID) -> Bool { all.insert(run).inserted }

    /// `isWhole`: `said` covers the earlier runs too.
    mutating func used(_ said: Usage, isWhole: Bool) {
        usage = isWhole ? said : usageOfEarlier.map { $0 + said } ?? said
    }

    /// Ends every known run; another one follows.
    mutating func end(with run: RunID) {
        ended.formUnion(all)
        ended.insert(run)
        usageOfEarlier = usage
    }
}

/// The turn's state towards the agent.
struct TurnAgent: Hashable, Sendable {
    /// Questions that the agent asks the person.
    var questions = QuestionLedger()
    /// Set by the first stop, and never reset.
    var isStopping = false
    /// No person requested that stop, so it spares the runs of other clients.
    var stopsOwnRunsAlone = false
    var isAway = false
    /// The message's receipt by the agent is unconfirmed: the link was lost after the hand-over.
    var isInDoubt = false
    /// The agent session may take other messages; never reset.
    var isFree = false
    /// The folder of the chat's workspace, or nil if it has none. Severity rules look at what lies outside of it.
    var folder: String?
    /// Missing files of a message that was handed over without any file; the prompt notes them behind its text.
    var wentWithout: [MissingFile] = []
    /// The refusal of an ask that the message is.
    var refusal: WordsOfRefusal?
    /// The message was handed over while another run of the session was active. Derived from the queue, and not stored.
    var isBesideRun = false

    var stopReach: StopReach { stopsOwnRunsAlone ? .ownRuns : .everyRun }

    /// False if the session was free already.
    mutating func free() -> Bool {
        defer { isFree = true }
        return !isFree
    }
}

/// The bubble, and the content of its end.
///
/// Invariant: lines gather while it is open, and go out with its end, or with the text behind it.
struct TurnBubble: Hashable, Sendable {
    /// The bubble waits for the key of its message (`Claim`), or for the card above it.
    var isUnopened = false
    /// The bubble has ended, or can no longer be ended: later text is a message.
    var isOver = false
    /// Text of the bubble when the window closed. Nil while the bubble is open, or if no phone will show its end.
    var heldAtWindowClose: String?
    /// The end that is at the relay or in flight, kept so that a refusal can shorten it.
    var sentEnd: EndOfTurn?
    /// Questions and their outcomes, between the agent's text.
    var notes = BubbleNotes()
    /// Sentences that the end carries after the text.
    var closingLines: [String] = []
    /// Last words of the end, said once: missing files, a model that was not set.
    var notice: String?

    mutating func add(_ line: String) {
        if closingLines.count < MessageNames.lineLimit { closingLines.append(line) }
    }

    /// Skips a known line: an earlier hand-over of the same message, which did not leave, added it.
    mutating func add(notice line: String?) {
        if let line, notice?.contains(line) == true { return }
        let said = [notice, line].compactMap(\.self)
        notice = said.isEmpty ? nil : said.joined(separator: "\n")
    }

    /// Everything that goes out behind the text.
    var lines: [String] { closingLines + (notice.map { [$0] } ?? []) }

    /// Forgets the lines once they have gone out.
    mutating func dropLines() { (closingLines, notice) = ([], nil) }

    /// The next form of an end that was refused.
    mutating func nextEnd(_ text: String) -> EndOfTurn {
        let end = EndOfTurn(text: text, usage: sentEnd?.usage, form: (sentEnd?.form ?? 0) + 1)
        sentEnd = end
        return end
    }
}

/// The posts of a turn that must be confirmed before it is closed, and the names of its whole messages.
struct TurnOutbox: Hashable, Sendable {
    var unconfirmed: Set<PostName> = []
    var names = MessageNames()

    mutating func posted(_ post: Post) {
        switch post {
        case .open: unconfirmed.insert(.open)
        case .end: unconfirmed.insert(.end)
        case .message(let message): unconfirmed.insert(.message(message.part))
        case .text, .taskStarted, .taskProgress, .taskEnded, .approval: break
        }
    }

    /// The relay has the post, or will never have it.
    mutating func settled(_ name: PostName) { unconfirmed.remove(name) }

    /// Forgets the bubble's posts. True if its end was under way.
    mutating func loseBubble() -> Bool {
        unconfirmed.remove(.open)
        return unconfirmed.remove(.end) != nil
    }

    /// Waits for one message in place of a post.
    mutating func replace(_ name: PostName, with part: WholeMessage.Part) {
        unconfirmed.remove(name)
        unconfirmed.insert(.message(part))
    }
}
