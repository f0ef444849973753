import AgentKit
import JSONReading
import Vocabulary

/// One chat's session at the server: a socket that follows it at the `full` level
/// while a turn of ours is open, and REST for missed frames.
///
/// States of `home`, the chat's session at the server:
/// - `unknown`: Can transition to `making` (a prompt waits).
/// - `making`: a session is being made. Can transition to `keeping`, `unknown` (refused).
/// - `keeping`: the fact is being written. Can transition to `kept`.
/// - `kept`: Can transition to `keeping` (the next prompt), `unknown` (the server no longer has the session).
///
/// States of `way`, the chat's socket:
/// - `absent`: Can transition to `asking` (a turn is out: REST first, since a
///   `full` subscription starts an agent), `dialling` (a prompt waits).
/// - `asking`: missed frames are being requested. Can transition to
///   `dialling` (the session is active), `absent`, `waiting`.
/// - `dialling`, `greeting`, `subscribing`: Can transition to the next of
///   them and at last to `live`; `waiting` (lost, or too late).
/// - `live`: Can transition to `subscribing` (a gap), `waiting` (lost, or silent), `absent` (idle, or the session ended).
/// - `waiting`: Can transition to `absent`.
///
/// Invariants:
/// - A prompt is written under one `clientTurnId`, its run's name. If it is unknown whether it arrived, the trace
///   is read first; if the trace does not tell, the turn ends with that answer and the prompt is not repeated.
/// - A durable frame is decoded once and in order. If the ring has lost an
///   earlier one, the trace supplies the run's end and whole text.
/// - Each request has a deadline.
struct OppiChat {
    enum Order: Hashable {
        case open
        case close(reason: String)
        case send([UInt8])
        case call(Call)
        /// Read these files for the message of that run; `loaded` answers.
        case load(RunID, [MessageFile])
        /// Store the place; `kept` answers.
        case keep(OppiPlace)
        /// Remove the chat's place, so that the next process does not find it.
        case forget
        case observed([Observation])
        case note(String)
        /// Follow the session at the `notifications` level, on the main stream.
        case follow
        /// Fetch the list of permissions: one that was left to other clients may be of our run.
        case list
        /// Deny every open permission of the stopping run, after the stop: the server ends no run before they are decided.
        case denyAll
        /// The server has as many sessions as it allows: stop one at rest, but none of these. `madeRoom` answers.
        case makeRoom(without: Set<String>)
    }

    /// A call over REST.
    enum Call: Hashable {
        case makeSession
        case events(since: Int)
        case trace(of: RunID)
        /// The result of another client's run that ended under this number. `others`: the visible run whose end is missing.
        case mirror(sequence: Int, others: RunID?)
    }

    enum Home: Equatable {
        case unknown, making
        case keeping(OppiPlace)
        case kept(OppiPlace)
    }

    enum Way: Equatable {
        case absent, asking
        case dialling(until: Instant)
        case greeting(until: Instant)
        /// `isAnswered`: `connected` came, and frames follow without a gap.
        case subscribing(isAnswered: Bool)
        case live
        case waiting(until: Instant)
    }

    enum Request: Hashable {
        case subscribe, leave, renew
        case prompt(RunID)
        case steer(RunID, into: RunID)
        case stop(RunID), abortRetry(RunID)
        case queue(RunID), unqueue(RunID)
        /// Sent behind the answer to a dialog.
        case dialog(String, OppiFrames.DialogAnswer)
        case model(RunID, ModelChoice), level(RunID, LevelChoice, String)
    }

    /// A message that waits for its turn, or joins the current run.
    struct Waiting: Hashable {
        var run: RunID
        var prompt: PicturePrompt
        var isSteering = false
        /// The message was written into a run with an unknown outcome.
        var mayHaveLeft = false
        /// The message waits for the end of the run.
        var comesAfter = false

        mutating func restsAfterLoss() {
            isSteering = false
            comesAfter = true
        }

        /// The run has ended: the message may join the next one, unless it was in that run already.
        mutating func comesNext() {
            isSteering = false
            comesAfter = mayHaveLeft
        }
    }

    static let openLimit = Duration.seconds(15)
    /// Starting an agent may take seconds.
    static let subscribeLimit = Duration.seconds(20)
    static let commandLimit = Duration.seconds(8)
    static let promptTries = 3
    static let homeTries = 5
    static let othersTries = 5
    static let idleLimit = Duration.seconds(60)

    let session: AgentSession
    let mark: String
    var home = Home.unknown
    var way = Way.absent
    var turn: OppiTurn?
    var waiting: [Waiting] = []
    var asked = OppiAsked()
    /// Nil if the session's current `seq` is unknown.
    var decoder: OppiDecoder?
    var requests: OppiRequests<Request>
    var link = Link()
    var dialogs = OppiDialogs()
    var model = OppiModel()

    /// When to ask the server, first or again, about another client's run.
    struct OthersLook {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(8))
        var due: Instant?
        /// The `seq` of an end that another attempt may follow.
        var end: Int?
    }

    /// The chat's knowledge of the server.
    struct Link {
        /// The main socket is live.
        var isUp = false
        /// The instant at which the server's clock reads 1970.
        var epoch = Instant.zero
        /// Losses of this chat's socket in a row.
        var losses = BackOff(
            first: .milliseconds(250), .milliseconds(750), .seconds(2), longest: .seconds(4))
        /// Failed tries in a row to make a session, and when the next is due.
        var failedHomes = 0
        var homeDue: Instant?
        /// The place that an earlier process stored.
        var earlier: OppiPlace?
        /// Whether the session is active, and whether it is busy, by the server's last word.
        var isActive = false
        var isBusy = false
        /// The session's run is being stopped, and it takes no prompt.
        var isStopping = false
        /// The server's limit that prevented an activation, and the sessions that were stopped for this one.
        var lacksPlace: String?
        var stopped: Set<String> = []
        /// The session is being stopped for another chat.
        var givesPlace = false
        /// Since when the chat is idle.
        var idleSince: Instant?
        /// Total time in which the bridge did not read. The host's clock is ahead of the reading clock by this.
        private var unread: Duration?
        /// When reading resumed, on the reading clock, and how long it had paused.
        private var resumedAt: Instant?
        private var pause = Duration.zero
        /// Permissions of `ask` tools whose questions are open already.
        var asksFirst: Set<ApprovalID> = []
        /// The head dialect, recognised by any answer.
        var isHead = false
        /// A permission came while the owner of the current run was unknown.
        var hasLeftPermissions = false
        var decoders = 0
        /// Another client's run that was visible when the chat's socket was lost: the trace supplies its end.
        var others: RunID? { didSet { if others != oldValue { othersLook = OthersLook() } } }
        /// The session of that run has ended, whatever REST reports.
        var othersAreOver = false
        var othersLook = OthersLook()
        /// The person archived or deleted the chat.
        var ending: Ending?

        /// The reading clock stands still during a pause, and each event of a pause adds its part.
        mutating func isUnread(_ total: Duration, at read: Instant) {
            defer { unread = total }
            guard let known = unread, total > known else { return }
            if resumedAt != read { pause = .zero }
            (resumedAt, pause) = (read, pause + (total - known))
        }

        /// The greatest age of a frame read at that moment of the reading clock.
        func age(ofFrame read: Instant) -> Duration {
            resumedAt.map { read - $0 < .seconds(2) } == true ? pause : .zero
        }

        /// Converts a moment of the reading clock to the host's.
        func hostTime(_ read: Instant) -> Instant { read + (unread ?? .zero) }
    }

    enum Ending { case left, forgotten }

    /// `mark` is in the names of runs that no prompt began, so that no other process of the bridge uses the same names.
    init(_ session: AgentSession, _ place: OppiPlace?, mark: String) {
        self.session = session
        self.mark = mark
        requests = OppiRequests("\(mark)-")
        if let place { home = .kept(place) }
        link.earlier = place
        if let place, let run = place.run { asked.steers.add(place.marks, into: run) }
    }

    var place: OppiPlace? {
        switch home {
        case .kept(let place), .keeping(let place): place
        case .unknown, .making: nil
        }
    }

    var hasSocket: Bool {
        switch way {
        case .dialling, .greeting, .subscribing, .live: true
        case .absent, .asking, .waiting: false
        }
    }

    /// The chat has no state besides its place.
    var isAtRest: Bool {
        switch home {
        case .kept, .unknown:
            way == .absent && turn == nil && waiting.isEmpty && dialogs.isEmpty && !asked.hasWishes
                && link.others == nil && link.othersLook.due == nil
        case .making, .keeping: false
        }
    }

    /// The chat's own socket carries the frames of its session.
    var hearsForItself: Bool { way == .live || way == .subscribing(isAnswered: true) }

    /// A run of ours is at work, as far as is known.
    var isAtOurRun: Bool {
        guard let turn, turn.isTaken else { return false }
        return decoder?.runningRun.map { $0 == turn.run } ?? true
    }

    /// Runs of other clients are counted across decoders, so each has a name of its own.
    mutating func makeDecoder(_ place: OppiPlace) {
        link.decoders += 1
        var made = OppiDecoder(
            AgentSession(place.native), as: session, runPrefix: "\(session)-\(mark)-\(link.decoders)-")
        made.setServerEpoch(link.epoch)
        made.isHead = link.isHead
        decoder = made
    }

    var nextDeadline: Instant? {
        var moments = [requests.nextDeadline, decoder?.nextDeadline]
        moments.append(turn?.nextDeadline(isLive: way == .live))
        if link.isUp, home == .unknown, turn != nil { moments.append(link.homeDue) }
        moments.append(link.othersLook.due)
        if way == .live, turn == nil { moments.append(link.idleSince.map { $0 + Self.idleLimit }) }
        switch way {
        case .dialling(let until), .greeting(let until), .waiting(let until): moments.append(until)
        case .absent, .asking, .subscribing, .live: break
        }
        return moments.compactMap(\.self).min()
    }

    // MARK: The past

    /// Adopts a run of an earlier process.
    mutating func adopt(_ run: EarlierTurn.Run, isTaken: Bool, isStopping: Bool, at now: Instant) -> [Order] {
        let (run, text, hadFiles, model, level) = (run.id, run.text, run.hadFiles, run.model, run.level)
        asked.remember(run, text ?? "", sentAt: place?.run == run || place?.steer == run ? place?.sentAt : nil)
        // A place is stored before its prompt is written: if it names another run, this prompt was not sent.
        let hasLeft = isTaken || place?.run == run || place?.steer == run
        if !hasLeft, hadFiles, !isStopping { return [.observed([.sendAnswered(asked: run, Self.filesAreGone)])] }
        guard turn == nil else {
            guard !isTaken, !isStopping, let text else { return [] }
            let prompt = PicturePrompt(text, hadFiles: hadFiles, model: model, level: level)
            waiting.append(Waiting(run: run, prompt: prompt, mayHaveLeft: hasLeft, comesAfter: hasLeft))
            return []
        }
        guard hasLeft || text != nil else { return [] }
        var turn = OppiTurn(
            run, PicturePrompt(text ?? "", hadFiles: hadFiles, model: model, level: level),
            isTaken ? .accepted : hasLeft ? .doubtful : .held,
            isAdopted: true, at: now)
        if isStopping { turn.stop = .due }
        self.turn = turn
        return []
    }

    private static let filesAreGone = SendAnswer.notSent(
        sentence: "The bridge was restarted before the agent had this message and its files. Please send it again.")

    // MARK: Commands

    mutating func send(_ run: RunID, _ prompt: PicturePrompt, at now: Instant) -> [Order] {
        guard !isToWrite(run) else { return [] }
        asked.remember(run, prompt.text, sentAt: nil)
        link.ending = nil
        waiting.append(Waiting(run: run, prompt: prompt))
        return advance(at: now)
    }

    func isToWrite(_ run: RunID) -> Bool { turn?.run == run || waiting.contains { $0.run == run } }

    mutating func loaded(_ loaded: FileLoads.Loaded, at now: Instant) -> [Order] {
        let leftOut: [MissingFile]
        let isNothing: Bool
        if turn?.run == loaded.run {
            guard turn?.prompt.isReady == false else { return [] }
            leftOut = turn?.prompt.take(loaded) ?? []
            isNothing = turn?.prompt.isNothing == true
        } else if let index = waiting.firstIndex(where: { $0.run == loaded.run }) {
            leftOut = waiting[index].prompt.take(loaded)
            isNothing = waiting[index].prompt.isNothing
        } else {
            return []
        }
        let said: [Order] = leftOut.isEmpty ? [] : [.observed([.filesLeftOut(loaded.run, leftOut)])]
        return said + (isNothing ? leavesOut(loaded.run, PicturePrompt.nothingLeft, at: now) : advance(at: now))
    }

    /// The message's files cannot be read, so it is not sent.
    mutating func leavesOut(_ run: RunID, _ answer: SendAnswer, at now: Instant) -> [Order] {
        if turn?.run == run {
            guard turn?.state == .held else { return [] }
            return refuse(answer) + advance(at: now)
        }
        waiting.removeAll { $0.run == run }
        return [.observed([.sendAnswered(asked: run, answer)])] + advance(at: now)
    }

    mutating func abort(_ run: RunID, reach: StopReach = .everyRun, at now: Instant) -> [Order] {
        let answered = [Order.observed([.abortAnswered(run)])]
        if let index = waiting.firstIndex(where: { $0.run == run }) {
            waiting.remove(at: index)
            return answered
        }
        goesBack(to: run, at: now)
        guard let turn, turn.run == run else { return answered }
        if turn.isSpared(by: reach) { return leaveToAnother(at: now) }
        if reach == .everyRun { self.turn?.stopReach = .everyRun }
        guard !turn.isStopping else { return [] }
        self.turn?.stop = .due
        self.turn?.stopReach = reach
        self.turn?.look.isAwaited = false
        if let found = turn.look.found { return say(found) + advance(at: now) }
        return advance(at: now)
    }

    /// Reopens the turn of a run whose bubble has ended but which may still
    /// be at work: unsent messages wait until its end is known.
    private mutating func goesBack(to run: RunID, at now: Instant) {
        guard let last = [place, link.earlier].compactMap(\.self).first(where: { $0.run == run }) else { return }
        if let next = turn, next.run != run, next.state == .held {
            turn = nil
            waiting.insert(Waiting(run: next.run, prompt: next.prompt), at: 0)
        }
        guard turn == nil else { return }
        turn = OppiTurn(run, PicturePrompt(asked[run]?.text ?? ""), .accepted, isAdopted: true, at: now)
        if asked[run] == nil { asked.remember(run, "", sentAt: last.sentAt) }
    }

    mutating func lookUp(_ run: RunID, at now: Instant) -> [Order] {
        guard turn?.run != run else {
            turn?.look.isAwaited = true
            asked.wants(run)
            return advance(at: now)
        }
        if waiting.contains(where: { $0.run == run }) { return [.observed([.lookedUp(run, .waits)])] }
        guard link.isUp, place != nil, asked[run] != nil else { return [.observed([.lookedUp(run, .unknown)])] }
        asked.wants(run)
        return [.call(.trace(of: run))]
    }

    mutating func kept(_ isKept: Bool, at now: Instant) -> [Order] {
        guard case .keeping(let place) = home else { return [] }
        home = .kept(place)
        guard !isKept else { return advance(at: now) }
        if let index = waiting.firstIndex(where: { $0.run == place.steer && !$0.mayHaveLeft }) {
            waiting[index].comesAfter = true
            asked.steers.remove(waiting[index].run)
            return [.note("a message waits for the end of the run: it could not be written down")] + advance(at: now)
        }
        guard turn?.state == .held else { return advance(at: now) }
        let sentence =
            "The bridge could not write down where this chat is at the agent, so the message was not sent. "
            + "Is the disk full?"
        return refuse(.notSent(sentence: sentence)) + advance(at: now)
    }

    // MARK: Time

    mutating func timePassed(at now: Instant) -> [Order] {
        let expired = dialogs.takeExpired(at: link.hostTime(now))
        var orders = cancel(expired.unanswered) + aside(expired.ended)
        switch way {
        case .waiting(let until) where until <= now: way = .absent
        case .dialling(let until) where until <= now: orders += dropSocket("its stream did not open in time", at: now)
        case .greeting(let until) where until <= now: orders += dropSocket("its stream did not greet", at: now)
        case .live where turn == nil:
            if let since = link.idleSince, since + Self.idleLimit <= now {
                orders += [.close(reason: "nothing to do"), .follow]
                leaveSocket()
                way = .absent
            }
        case .absent, .asking, .dialling, .greeting, .subscribing, .live, .waiting: break
        }
        for request in requests.takeExpired(at: now) { orders += overdue(request, at: now) }
        if let due = decoder?.nextDeadline, due <= now { orders += heard(decoder?.deadlineHit(at: now) ?? [], at: now) }
        return orders + looksAgainForOthers(at: now) + watch(at: now) + advance(at: now)
    }
}
