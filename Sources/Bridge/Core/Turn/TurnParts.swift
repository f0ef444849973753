import Vocabulary

// What a turn is made of beside its phase, its text and its ledgers: each part is one concern.

/// The runs whose events are a turn's: the one asked for, and those adopted (a foreign answer to its message, the follow-up of an
/// approval).
///
/// Invariant: a run that has ended for the turn stays one of its runs, and says nothing more.
struct TurnRuns: Hashable, Sendable {
    var all: Set<RunID>
    /// Those of them that ended before the turn did: what they still say has been said.
    var ended: Set<RunID> = []
    /// An attempt failed; the next starts the text over.
    var isRetrying = false
    var usage: Usage?
    /// The next run's usage comes on top.
    var usageOfEarlier: Usage?

    init(_ run: RunID) { all = [run] }

    /// Those that are running, as far as is known.
    var open: [RunID] { all.subtracting(ended).sorted() }

    /// False: it is one of them already.
    mutating func adopt(_ run: RunID) -> Bool { all.insert(run).inserted }

    /// `isWhole`: it counts the earlier runs too.
    mutating func used(_ said: Usage, isWhole: Bool) {
        usage = isWhole ? said : usageOfEarlier.map { $0 + said } ?? said
    }

    /// All that are known are over, and another follows them.
    mutating func end(with run: RunID) {
        ended.formUnion(all)
        ended.insert(run)
        usageOfEarlier = usage
    }
}

/// The turn's state towards the agent.
struct TurnAgent: Hashable, Sendable {
    /// What it asks of the person.
    var questions = QuestionLedger()
    /// A stop was asked for; it is never taken back.
    var isStopping = false
    /// No person asked for that stop: a run of another client goes on.
    var stopsOwnRunsAlone = false
    var isAway = false
    /// The message's receipt by the agent is unconfirmed: the link was lost after the hand-over.
    var isInDoubt = false
    /// Its session may go on with other messages; once it is free of this turn it stays so.
    var isFree = false
    /// The folder of the chat's workspace, where the agent works in one; what lies outside of it is worth a second look.
    var folder: String?
    /// Of a message that was handed over without any of its files: what is noted of them behind its text.
    var wentWithout: [MissingFile] = []
    /// Its message refuses an ask.
    var refusal: WordsOfRefusal?
    /// The message was handed over while another run of the session was active. Derived from the queue, and not stored.
    var isBesideRun = false

    var stopReach: StopReach { stopsOwnRunsAlone ? .ownRuns : .everyRun }

    /// False: it was free already.
    mutating func free() -> Bool {
        defer { isFree = true }
        return !isFree
    }
}

/// The bubble, and what its end is to carry.
///
/// Invariant: lines gather while it is open, and go out with its end, or with the text behind it.
struct TurnBubble: Hashable, Sendable {
    /// The bubble is held until the key of its message arrives (`Claim`).
    var isUnopened = false
    /// It can no longer be ended, or was: later text is a message.
    var isOver = false
    /// What it held when the window closed; nil while it is open, or when no phone will show it.
    var heldAtWindowClose: String?
    /// The end that the relay has or that is in flight, so that a refusal can shorten it.
    var sentEnd: EndOfTurn?
    /// Questions and their outcomes, between the agent's text.
    var notes = BubbleNotes()
    /// Sentences that the end carries after the text.
    var closingLines: [String] = []
    /// What of the message the agent did not get: said once, after everything else in the end.
    var notice: String?

    mutating func add(_ line: String) {
        if closingLines.count < MessageNames.lineLimit { closingLines.append(line) }
    }

    /// A line that is there already is of a hand-over that did not leave.
    mutating func add(notice line: String?) {
        if let line, notice?.contains(line) == true { return }
        let said = [notice, line].compactMap(\.self)
        notice = said.isEmpty ? nil : said.joined(separator: "\n")
    }

    /// All that goes out behind the text.
    var lines: [String] { closingLines + (notice.map { [$0] } ?? []) }

    /// They have gone out.
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

    /// It is at the relay, or will never be.
    mutating func settled(_ name: PostName) { unconfirmed.remove(name) }

    /// Whether the bubble's end was under way: with the bubble both posts are lost.
    mutating func loseBubble() -> Bool {
        unconfirmed.remove(.open)
        return unconfirmed.remove(.end) != nil
    }

    /// One message in place of a post.
    mutating func replace(_ name: PostName, with part: WholeMessage.Part) {
        unconfirmed.remove(name)
        unconfirmed.insert(.message(part))
    }
}
