import Vocabulary

/// The questions of one turn: asked one after the other, each answered at most once.
///
/// States of a question:
/// - `waiting`: behind another. Can transition to `open`, `settled`.
/// - `open`: in the chat, without an answer. Can transition to `answered`, `settled`.
/// - `answered`: the answer was sent to the agent, or is owed to it while it is away. Can transition to `open` (taken back before it left),
///   `settled` (the agent's machine confirmed it, or cannot deliver it).
/// - `settled`: final. Later words about it are ignored.
///
/// Invariants:
/// - At most one question is open or answered.
/// - A message counts as the answer only once the phone may have the question, and has the end of the one before: words meant for that
///   one must not answer this.
/// - An answer leaves once. It leaves again only after a loss, and only when the agent asks the same question again.
struct QuestionLedger: Sendable, Hashable {
    enum State: Hashable { case waiting, open, answered(QuestionAnswer), settled }

    /// How far words of ours are on their way to the phone.
    enum Sight: Hashable {
        case none
        /// The words end at this offset of the preview.
        case text(through: Int)
        case message(WholeMessage.Part)
        case seen
    }

    struct Asked: Hashable {
        var question: Question
        /// Nil if a record of an earlier version does not say.
        var fingerprint: AskFingerprint?
        var state = State.waiting
        var asking = Sight.none
        var ending = Sight.none
        /// The confirmed answer. The agent may ask for it once more, if the process of its machine dies before the agent has it.
        var given: QuestionAnswer?
        /// The turn of the answering message, and the words taken from it, for people.
        var answerer: TurnID?
        var words = ""
        /// The answer came while the agent was away, and has not left.
        var isOwed = false
        /// The link was lost after the answer left: it may not have arrived.
        var isInDoubt = false
        /// The question's appearances in the chat, each as long as a card lives, from the moment at which the relay had the first.
        var life = CardLife()
        /// The newest appearance after the first, until the relay has it.
        var reminder: WholeMessage.Part?
        var toldUnanswered = false

        var isOver: Bool { state == .settled }
        /// The bridge's answer, confirmed or not.
        var answer: QuestionAnswer? { if case .answered(let answer) = state { answer } else { given } }
        /// The outcome of an answer that the agent does not confirm.
        var undelivered: AnswerEnd { isInDoubt ? .inDoubt : .tooLate }
        func end(by reason: QuestionSettlement.Reason) -> AnswerEnd {
            if case .mistaken(let words) = reason { .mistaken(words) } else { undelivered }
        }
        /// A person may have read the question, and cannot have read its end yet.
        var mayBeAnsweredLate: Bool {
            switch (state, asking) {
            case (.waiting, _), (.open, _): false
            // The question never reached the phone, so no message can answer it.
            case (_, .none), (_, .message): false
            case (.answered, _), (.settled, _): ending != .seen
            }
        }
    }

    enum Taken: Hashable {
        /// The question takes its place in the line.
        case ask
        /// The answer was lost on its way.
        case again(QuestionAnswer)
        case known, refuseSilently, refuseVisibly
    }

    /// Questions of one turn beyond this limit are declined.
    static let limit = 200

    var all: [Asked] = []

    var heldBytes: Int { all.reduce(0) { $0 + $1.question.heldBytes + $1.words.utf8.count } }
    func knows(_ id: QuestionID) -> Bool { index(id) != nil }
    /// The newest question under this id; earlier ones are settled.
    private func index(_ id: QuestionID) -> Int? { all.lastIndex { $0.question.id == id } }
    subscript(id: QuestionID) -> Asked? { index(id).map { all[$0] } }

    /// The question that takes the chat's next message. `streamed`: bytes of the preview that were tried. The phone may have those of an
    /// unanswered call.
    func current(streamed: Int) -> Question? {
        guard !hasUnseenEnd, let open = all.first(where: { $0.state == .open }) else { return nil }
        return switch open.asking {
        case .seen: open.question
        case .text(let end): end <= streamed ? open.question : nil
        case .none, .message: nil
        }
    }
    /// A message that comes now may be an answer that is too late.
    var hasUnseenEnd: Bool { all.contains(where: \.mayBeAnsweredLate) }
    /// Questions without an outcome, in the order in which they were asked.
    var unsettled: [QuestionID] { all.filter { !$0.isOver }.map(\.question.id) }
    func nextDue(patience: Duration?) -> Instant? {
        all.lazy.filter { !$0.isOver }.compactMap { asked in
            // Without held asks, a question waits as long as the agent does.
            let due = asked.state == .open && patience != nil ? asked.life.nextDue(patience: patience) : nil
            return [asked.question.expiresAt, due].compactMap(\.self).min()
        }.min()
    }
    func due(patience: Duration?, at now: Instant) -> [(id: QuestionID, due: CardLife.Due)] {
        all.compactMap { asked in
            guard patience != nil, asked.state == .open, let due = asked.life.due(patience: patience, at: now) else {
                return nil
            }
            return (asked.question.id, due)
        }
    }
    func expired(at now: Instant) -> [QuestionID] {
        all.filter { !$0.isOver && $0.question.expiresAt.map { $0 <= now } ?? false }.map(\.question.id)
    }

    // MARK: Asking

    /// Another question has this id by now, and no answer to the earlier one reaches it.
    func isAnother(_ question: Question) -> Bool {
        // A settled question keeps its title alone, and stays settled if the record lacks its fingerprint.
        return shown(question.id).map { $0 != AskFingerprint(of: question) } ?? false
    }

    /// Takes a question. One that it replaces was settled before.
    mutating func asked(_ question: Question, canBeShown: Bool, stopping: Bool) -> Taken {
        if let index = index(question.id), !isAnother(question) {
            guard all[index].isInDoubt, let answer = all[index].answer else { return .known }
            all[index].isInDoubt = false
            return .again(answer)
        }
        if stopping { return .refuseSilently }
        guard canBeShown, all.count < Self.limit else { return .refuseVisibly }
        all.append(Asked(question: question, fingerprint: AskFingerprint(of: question)))
        return .ask
    }

    /// The question to show now.
    var next: Question? {
        let isBusy = all.contains { if case .waiting = $0.state { false } else { !$0.isOver } }
        return isBusy ? nil : all.first { $0.state == .waiting }?.question
    }

    mutating func shown(_ id: QuestionID, _ sight: Sight) {
        guard let index = index(id) else { return }
        all[index].state = .open
        all[index].asking = sight
    }

    mutating func endShown(_ id: QuestionID, _ sight: Sight) {
        if let index = index(id) { all[index].ending = sight }
    }

    /// The run has ended, and its questions with it.
    mutating func endsShown(_ sight: Sight) {
        for index in all.indices where all[index].isOver && all[index].ending == .none { all[index].ending = sight }
    }

    /// The person knows that the questions ended: later messages answer none of them.
    mutating func stopped() {
        for index in all.indices where all[index].isOver { all[index].ending = .seen }
    }

    /// A question may be on the phone while its end is not.
    var isOnPhone: Bool { all.contains { $0.asking != .none && $0.ending != .seen } }

    // MARK: Answers

    /// False if the question is not open.
    mutating func answered(
        _ id: QuestionID, by answerer: TurnID, _ answer: QuestionAnswer, _ words: String, agentAway: Bool
    ) -> Bool {
        guard let index = index(id), all[index].state == .open else { return false }
        all[index].state = .answered(answer)
        all[index].answerer = answerer
        all[index].words = words
        all[index].isOwed = agentAway
        return true
    }

    /// Whether the command with this answer may still leave.
    func isValid(_ answer: QuestionAnswer, to id: QuestionID, shown: AskFingerprint?) -> Bool {
        guard let asked = self[id] else { return false }
        return asked.answer == answer && !asked.isOwed && self.shown(id) == shown
    }

    /// The fingerprint that an answer is bound to.
    func shown(_ id: QuestionID) -> AskFingerprint? {
        self[id].flatMap { $0.fingerprint ?? ($0.isOver ? nil : AskFingerprint(of: $0.question)) }
    }

    mutating func takenBack(_ id: QuestionID) {
        guard let index = index(id), case .answered = all[index].state else { return }
        all[index].state = .open
        (all[index].answerer, all[index].words, all[index].isOwed) = (nil, "", false)
    }

    /// The agent is away, or this is another process: an answer that had left may not have arrived.
    mutating func linkLost() {
        for index in all.indices where !all[index].isOwed && all[index].answer != nil { all[index].isInDoubt = true }
    }

    /// The agent is back, and gets the answers that it missed.
    mutating func takeOwed() -> [(id: QuestionID, answer: QuestionAnswer)] {
        var owed: [(id: QuestionID, answer: QuestionAnswer)] = []
        for index in all.indices {
            guard case .answered(let answer) = all[index].state, all[index].isOwed else { continue }
            owed.append((all[index].question.id, answer))
            all[index].isOwed = false
        }
        return owed
    }

    /// The question before this settlement, or nil if it has ended or is unknown.
    mutating func settled(_ id: QuestionID, isConfirmed: Bool = false) -> Asked? {
        guard let index = index(id), !all[index].isOver else { return nil }
        let before = all[index]
        all[index].given = isConfirmed ? before.answer : nil
        all[index].state = .settled
        all[index].isOwed = false
        // The id and the title are enough from now on.
        all[index].question = Question(id: id, title: before.question.title)
        return before
    }

    // MARK: The phone

    /// Everything of the preview up to this offset is at the relay.
    mutating func streamed(through offset: Int, at now: Instant) {
        see(at: now) { if case .text(let end) = $0 { end <= offset } else { false } }
    }
    /// The end of the bubble holds all of its text.
    mutating func bubbleEnded(at now: Instant) {
        see(at: now) { if case .text = $0 { true } else { false } }
    }
    mutating func delivered(_ part: WholeMessage.Part, at now: Instant) {
        see(at: now) { $0 == .message(part) }
        for index in all.indices where all[index].reminder == part {
            all[index].reminder = nil
            all[index].life.taken(at: now)
        }
    }

    /// Resumes after a restart: the lane's record may have answers of the relay that this one lacks.
    mutating func resume(with lane: LaneRecord, bubbleIsOver: Bool, at now: Instant) {
        let names = lane.unanswered.map(\.name) + lane.waitingPosts.map(\.name)
        see(at: now) { if case .message(let part) = $0 { !names.contains(.message(part)) } else { false } }
        // At most one text is unanswered, and its report covers all that is before it.
        let isWhole = !lane.unanswered.contains { $0.name.isText }
        if isWhole { streamed(through: lane.streamed, at: now) }
        if bubbleIsOver, !names.contains(.end) { bubbleEnded(at: now) }
        // Reminders of an earlier process count as delivered.
        for index in all.indices where all[index].asking == .seen { appeared(index, at: now) }
    }

    private mutating func appeared(_ index: Int, at now: Instant) {
        if all[index].life.askedAt == nil { all[index].life = CardLife(askedAt: now) }
        all[index].life.taken(at: now)
    }

    /// Nobody answered. False if that was known.
    mutating func close(_ id: QuestionID, at now: Instant) -> Bool {
        guard let index = index(id), all[index].state == .open, !all[index].life.isClosed else { return false }
        all[index].life.close(agentWaitsUntil: all[index].question.expiresAt, at: now)
        return true
    }

    /// Whether the chat lacks the line that nobody answered. False from the second call on.
    mutating func tellsUnanswered(_ id: QuestionID) -> Bool {
        guard let index = index(id) else { return false }
        defer { all[index].toldUnanswered = true }
        return !all[index].toldUnanswered
    }

    /// Open questions without an answer of which a person can be reminded, oldest first.
    func returnable(isAskedFor: Bool, at now: Instant) -> [(id: QuestionID, askedAt: Instant)] {
        all.filter {
            $0.state == .open
                && $0.life.mayReturn(isAskedFor: isAskedFor, agentWaitsUntil: $0.question.expiresAt, at: now)
        }.map { ($0.question.id, $0.life.askedAt ?? .zero) }
    }

    /// The question to show once more.
    mutating func comesBack(_ id: QuestionID, in part: WholeMessage.Part, at now: Instant) -> Question? {
        guard let index = index(id), all[index].state == .open, all[index].life.isClosed else { return nil }
        all[index].life.reopen(inParts: false, at: now)
        all[index].reminder = part
        return all[index].question
    }

    /// The relay refused the reminder for good: the question stays open, and a later reminder may come.
    mutating func reminderIsLost(_ part: WholeMessage.Part, at now: Instant) -> Bool {
        guard let index = all.firstIndex(where: { $0.reminder == part }) else { return false }
        all[index].reminder = nil
        all[index].life.close(agentWaitsUntil: all[index].question.expiresAt, at: now)
        return true
    }

    func mayComeBack(_ id: QuestionID) -> Bool { self[id].map { $0.state == .open && $0.life.isClosed } ?? false }

    /// The end of the last open question, by the agent's clock or by the patience of the bridge.
    func lastEnd(patience: Duration?) -> Instant? {
        all.filter { $0.state == .open }.compactMap { asked in
            let givesUp = patience.flatMap { patience in asked.life.askedAt.map { $0 + patience } }
            return [asked.question.expiresAt, givesUp].compactMap(\.self).min()
        }.max()
    }

    mutating func postpone(_ id: QuestionID, to moment: Instant) {
        if let index = index(id) { all[index].life.postpone(to: moment) }
    }

    private mutating func see(at now: Instant, _ isMeant: (Sight) -> Bool) {
        for index in all.indices {
            if isMeant(all[index].asking) {
                all[index].asking = .seen
                appeared(index, at: now)
            }
            if isMeant(all[index].ending) { all[index].ending = .seen }
        }
    }

    /// The preview ended before the relay had all of it. Returns the open question, which no person can have read; the end of another
    /// one is in the bubble's end.
    mutating func lostText() -> Question? {
        for index in all.indices { if case .text = all[index].ending { all[index].ending = .seen } }
        return all.first { if $0.state == .open, case .text = $0.asking { true } else { false } }?.question
    }

    /// The relay never took this message. A question in it is settled, since no person can have read it. An outcome in it holds back no
    /// later message.
    mutating func lost(_ part: WholeMessage.Part) -> Asked? {
        for index in all.indices where all[index].ending == .message(part) { all[index].ending = .seen }
        guard let index = all.firstIndex(where: { $0.state == .open && $0.asking == .message(part) }) else {
            return nil
        }
        return neverShown(all[index].question.id)
    }

    /// Settles the question. A later message is no late answer to it.
    mutating func neverShown(_ id: QuestionID) -> Asked? {
        guard let before = settled(id) else { return nil }
        if let index = index(id) { all[index].asking = .none }
        return before
    }

    /// The words of this message go out under another name.
    mutating func renamed(_ part: WholeMessage.Part, to other: WholeMessage.Part) {
        moveSights(to: other) { $0 == .message(part) }
    }

    /// The text of the bubble goes out as this message.
    mutating func bubbleBecomes(_ part: WholeMessage.Part) {
        moveSights(to: part) { if case .text = $0 { true } else { false } }
    }

    private mutating func moveSights(to part: WholeMessage.Part, _ isMeant: (Sight) -> Bool) {
        for index in all.indices {
            if isMeant(all[index].asking) { all[index].asking = .message(part) }
            if isMeant(all[index].ending) { all[index].ending = .message(part) }
        }
    }
}
