import AgentKit
import JSONReading
import Vocabulary

/// One chat's session at the server: a socket that follows it at full while a turn of ours is there, REST where frames were missed.
///
/// States of its home (where it lives at the server):
/// - `unknown`: Can transition to `making` (there is a prompt).
/// - `making`: a session is being made. Can transition to `keeping`, `unknown` (refused).
/// - `keeping`: the fact is being written. Can transition to `kept`.
/// - `kept`: Can transition to `keeping` (the next prompt), `unknown` (the server has no such session any more).
///
/// States of the way:
/// - `absent`: Can transition to `asking` (a turn is out: REST first, because subscribing at full starts an agent), `dialling` (a prompt
///   is to be sent).
/// - `asking`: the server is asked for what was missed. Can transition to `dialling` (the session is active), `absent`, `waiting`.
/// - `dialling`, `greeting`, `subscribing`: Can transition to the next of them and at last to `live`; `waiting` (lost, or too late).
/// - `live`: Can transition to `subscribing` (a gap), `waiting` (lost, or deaf), `absent` (idle, or the session ended).
/// - `waiting`: Can transition to `absent`.
///
/// Invariants:
/// - A prompt is written under one `clientTurnId`, its run's name. Where it is not known whether it arrived the trace is looked at
///   first; what cannot be known is said, never tried.
/// - A durable frame is decoded once and in order: none without the one before it, unless the ring has lost that; then the end of the run
///   is read from the trace, whose text is the whole.
/// - Each request has a deadline.
struct OppiChat {
    enum Order: Hashable {
        case open
        case close(reason: String)
        case send([UInt8])
        case call(Call)
        /// Read these for the message of that run; answered by `loaded`.
        case load(RunID, [MessageFile])
        /// Answered by `kept`.
        case keep(OppiPlace)
        /// Nothing is to be found of the chat by the next process.
        case forget
        case observed([Observation])
        case note(String)
        /// At the level of notifications, on the main stream.
        case follow
        /// Permissions were left to others that may be of our run.
        case list
        /// What the run asks that is being stopped, behind the stop: the server does not end it before that is decided.
        case denyAll
        /// The server has as many sessions as it takes: one at rest is to be stopped, none of these. Answered by `madeRoom`.
        case makeRoom(without: Set<String>)
    }

    /// Over REST.
    enum Call: Hashable {
        case makeSession
        case events(since: Int)
        case trace(of: RunID)
        /// What another client's run came to, that ended under this number.
        /// `others`: the run that was shown and whose end is looked for.
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
        /// `isAnswered`: from `connected` on, frames come without a gap.
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
        /// Written behind the answer to a dialog.
        case dialog(String, OppiFrames.DialogAnswer)
        case model(RunID, ModelChoice), level(RunID, LevelChoice, String)
    }

    /// A message that waits for its turn, or goes into the run that is going.
    struct Waiting: Hashable {
        var run: RunID
        var prompt: PicturePrompt
        var isSteering = false
        /// It was written as a part of a run, and how that came out is not known.
        var mayHaveLeft = false
        /// It waits for the end of the run.
        var comesAfter = false

        mutating func restsAfterLoss() {
            isSteering = false
            comesAfter = true
        }

        /// The run has ended: this may join the next one, unless it was in that already.
        mutating func comesNext() {
            isSteering = false
            comesAfter = mayHaveLeft
        }
    }

    static let openLimit = Duration.seconds(15)
    /// It may take seconds to start an agent.
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
    /// Nil: where the numbers are is not known.
    var decoder: OppiDecoder?
    var requests: OppiRequests<Request>
    var link = Link()
    var dialogs = OppiDialogs()
    var model = OppiModel()

    /// When the server is asked, or asked again, how the run of another client is.
    struct OthersLook {
        var backOff = BackOff(first: .seconds(1), longest: .seconds(8))
        var due: Instant?
        /// The number of the end that may be followed by another attempt.
        var end: Int?
    }

    /// What the chat knows of the server.
    struct Link {
        /// The main socket is live.
        var isUp = false
        /// 1970 on the server's clock.
        var epoch = Instant.zero
        /// Losses of this chat's socket in a row.
        var losses = BackOff(
            first: .milliseconds(250), .milliseconds(750), .seconds(2), longest: .seconds(4))
        /// Tries in a row to make a session that came to nothing, and when the next is due.
        var failedHomes = 0
        var homeDue: Instant?
        /// As an earlier process left it.
        var earlier: OppiPlace?
        /// The session is active, and running, as far as the server said last.
        var isActive = false
        var isBusy = false
        /// Its run is being stopped, and it takes no prompt.
        var isStopping = false
        /// Why it was not activated: the server's limits. And the sessions that were stopped for it.
        var lacksPlace: String?
        var stopped: Set<String> = []
        /// Its session is being stopped for another chat.
        var givesPlace = false
        /// Since when there has been nothing to do.
        var idleSince: Instant?
        /// For how long the bridge did not read, in all. The host's clock is ahead of the reading clock by this.
        private var unread: Duration?
        /// When it read again, by the reading clock, and for how long it had not.
        private var resumedAt: Instant?
        private var pause = Duration.zero
        /// Permissions that a tool waits for whose questions are open already.
        var asksFirst: Set<ApprovalID> = []
        /// The newer dialect, as any answer says.
        var isHead = false
        /// A permission came while it was not known whose run is going.
        var hasLeftPermissions = false
        var decoders = 0
        /// Of another client, and shown when the chat's socket was lost: its end is read from the trace.
        var others: RunID? { didSet { if others != oldValue { othersLook = OthersLook() } } }
        /// Whatever REST says, its session has ended.
        var othersAreOver = false
        var othersLook = OthersLook()
        /// The person does not have the chat any more.
        var ending: Ending?

        /// The reading clock stands during a pause: each event of that time adds its part to it.
        mutating func isUnread(_ total: Duration, at read: Instant) {
            defer { unread = total }
            guard let known = unread, total > known else { return }
            if resumedAt != read { pause = .zero }
            (resumedAt, pause) = (read, pause + (total - known))
        }

        /// How old a frame may be that is read at that moment of the reading clock.
        func age(ofFrame read: Instant) -> Duration {
            resumedAt.map { read - $0 < .seconds(2) } == true ? pause : .zero
        }

        /// A moment of the reading clock on the host's.
        func hostTime(_ read: Instant) -> Instant { read + (unread ?? .zero) }
    }

    enum Ending { case left, forgotten }

    /// `mark` is in the names of runs that no prompt began: another process of the bridge must not give the same ones.
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

    /// Its place is all that is to be known of it.
    var isAtRest: Bool {
        switch home {
        case .kept, .unknown:
            way == .absent && turn == nil && waiting.isEmpty && dialogs.isEmpty && !asked.hasWishes
                && link.others == nil && link.othersLook.due == nil
        case .making, .keeping: false
        }
    }

    /// What concerns the session comes on this chat's own socket.
    var hearsForItself: Bool { way == .live || way == .subscribing(isAnswered: true) }

    /// A run of ours is going, as far as is known.
    var isAtOurRun: Bool {
        guard let turn, turn.isTaken else { return false }
        return decoder?.runningRun.map { $0 == turn.run } ?? true
    }

    /// Runs of others are counted: no two of them have one name.
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

    /// A run of an earlier process.
    mutating func adopt(_ run: EarlierTurn.Run, isTaken: Bool, isStopping: Bool, at now: Instant) -> [Order] {
        let (run, text, hadFiles, model, level) = (run.id, run.text, run.hadFiles, run.model, run.level)
        asked.remember(run, text ?? "", sentAt: place?.run == run || place?.steer == run ? place?.sentAt : nil)
        // Its place is kept before a prompt is written: with another run in it, this one never left.
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

    /// Its files are not to be had, so that it is not written.
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

    /// Its bubble is over, and it may go on at the server: what has not left waits until that is known.
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
