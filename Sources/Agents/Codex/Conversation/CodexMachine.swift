package import AgentKit
import JSONReading
import Links
package import Vocabulary

/// The link to one app-server of Codex (codex.md): the bridge's own, which outlives it and is rejoined, or a configured one.
///
/// `LinkLife` has the states. The own server's program reports its version before its socket is dialled. `greeting` waits for the
/// answer to `initialize`, then for the account.
///
/// Invariants:
/// - The link counts as up while a person has to mend something (`CodexTrouble`): messages are refused with the remedy, and each of
///   them starts another look.
/// - Request numbers of both sides belong to one connection and end with it.
/// - Facts: `thread:<agent session>` is the chat's place, kept before its first prompt; `server` is the mark of the own server's
///   start; `stopped:<agent session>` holds requests that a Stop still owes.
/// - The reading clock times silence, requests, held decisions and all waits of chats; the host's clock times the handshake,
///   redials, a server's start and repairs by a person.
/// - The own server is ended only to be started again, and only while no turn continues.
package struct CodexMachine: AgentMachine {
    package typealias Settings = CodexSettings

    /// Step of the handshake.
    enum Awaited { case initialize, account }

    enum Purpose: Hashable {
        case initialize, account
        case models(QueryID)
        /// Efforts of the models, for prompts that need them.
        case efforts
        /// Threads of the server, then the status of each: whether turns continue in it.
        case loaded, working
        case chat(AgentSession, CodexChat.Request)
    }

    /// Purpose of a work.
    enum Errand: Hashable {
        case version, ended, logStart, logEnd
        case keepServer, servers
        case lock(String)
        /// A work whose result does not matter.
        case aside
        case keep(AgentSession)
    }

    static let mainChannel = ChannelID(1)
    static let serverChannel = ChannelID(2)
    static let answerLimit = Duration.seconds(30)
    /// An idle server sends nothing: requests have deadlines and silent turns are probed instead.
    static let silence = Duration.seconds(365 * 86_400)
    static let effortsLimit = Duration.seconds(10)
    static let lookAgain = Duration.seconds(60)
    static let joinPause = Duration.seconds(2)
    static let lookLimit = Duration.seconds(25)
    static let unknownVersion = "unknown"
    static let threadFact = "thread:"
    /// Requests that a Stop still owes.
    static let stoppedFact = "stopped:"
    static let serverFact = "server"

    var settings: CodexSettings
    let parser = FrameParser()
    var life = LinkLife<Awaited, Void>()
    var server = CodexServer()
    var requests = CodexRequests<Purpose>()
    var chats = CodexChats()
    /// Efforts from this connection, or nil until a message needs them.
    var efforts: CodexEfforts?
    var mind = Mind()
    var works = Works()
    var check: CodexCheck?
    var orders: [AgentOrder] = []

    /// The current trouble, the messages that wait for a look at it, and reports about it.
    struct Mind {
        var trouble: CodexTrouble?
        /// Messages that wait for the look.
        var waiting: [Waiting] = []
        var lookUntil: Instant?
        var nextLook: Instant?
        var decisions = CodexHeldDecisions()
        /// The core knows that the agent is there.
        var isAnnounced = false
        var version = ""
        var unknown = UnknownTally()
        var report = UnknownReport()
    }

    struct Waiting {
        var session: AgentSession
        var prompt: CodexPrompt
    }

    struct Works {
        private var errands: [WorkID: Errand] = [:]
        private var count = 0

        mutating func add(_ errand: Errand) -> WorkID {
            count += 1
            errands[WorkID(count)] = errand
            return WorkID(count)
        }
        mutating func take(_ id: WorkID) -> Errand? { errands.removeValue(forKey: id) }
        func has(_ errand: Errand) -> Bool { errands.values.contains(errand) }
    }

    package init(_ settings: CodexSettings) { self.settings = settings }

    /// The machine of `doctor`'s check.
    init(_ settings: CodexSettings, checkOf connection: String) {
        self.settings = settings
        check = CodexCheck(settings, connection: connection)
    }

    package var heldBytes: Int {
        chats.heldBytes + mind.waiting.reduce(0) { $0 + $1.prompt.heldBytes }
    }
    package var nextDeadline: Instant? {
        if let check { return check.nextDeadline }
        return [life.nextDeadline, mind.lookUntil, mind.nextLook].compactMap(\.self).min()
    }
    package var nextReadingDeadline: Instant? {
        guard check == nil else { return nil }
        var moments = [life.nextSilence, requests.nextDeadline, chats.nextDeadline]
        if life.isLive {
            moments.append(mind.decisions.nextDeadline)
            if chats.areIdle { moments.append(server.rest.nextLook) }
        }
        return moments.compactMap(\.self).min()
    }

    // MARK: The course

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        for fact in past.facts {
            if fact.name == Self.serverFact {
                server.startedWith = fact.value.map { String(decoding: $0, as: UTF8.self) }
            } else if fact.name.hasPrefix(Self.threadFact), let place = fact.value.flatMap({ CodexPlace($0, parser) }) {
                chats.remember(place, of: AgentSession(String(fact.name.dropFirst(Self.threadFact.count))))
            }
        }
        for fact in past.facts where fact.name.hasPrefix(Self.stoppedFact) {
            let session = AgentSession(String(fact.name.dropFirst(Self.stoppedFact.count)))
            guard let record = fact.value, chats.knows(session) else {
                work(.aside, .keep([Fact(fact.name, nil)]))
                continue
            }
            let parser = parser
            change(session, now) { chat in
                chat.cleanUps.restore(record, parser, wall: now.wallMilliseconds)
                return []
            }
        }
        // `past.processes` still lists ended ones. Start times count from the boot; the newest process is the one to join.
        server.name = past.processes.max { $0.startTicks < $1.startTicks }
        if past.processes.count > 1 { work(.servers, .look(at: past.processes)) }
        for turn in past.turns {
            change(turn.session, now) { chat in
                chat.adoptAsks(of: turn)
                for run in turn.runs { chat.adopt(run, of: turn, at: now.read) }
                return []
            }
        }
        dial(now)
        return takeOrders()
    }

    package mutating func check(_ now: Occasion) -> [AgentOrder] { check?.begin(at: now.now) ?? [.done] }

    /// A running server keeps its old settings until it is idle.
    package mutating func use(_ settings: CodexSettings, _ now: Occasion) -> [AgentOrder] {
        guard settings != self.settings else { return [] }
        let isElsewhere = settings.socketPlan != self.settings.socketPlan
        self.settings = settings
        if isElsewhere || !life.hasSocket {
            drop("the configuration of Codex was changed", .atOnce, now)
        } else {
            restartIfOutdated(now)
        }
        return takeOrders()
    }

    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        if check != nil { return check?.shutDown() ?? [] }
        if life.hasSocket { orders.append(.close(Self.mainChannel, .socket(code: 1000, reason: "bridge stops"))) }
        _ = life.leave(at: now.now)
        return takeOrders()
    }

    // MARK: Commands

    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        switch command {
        case .send(_, let session, let run, let message):
            let (prompt, leftOut) = CodexPrompt.of(message, as: run, readsFiles: settings.readsFiles)
            if !leftOut.isEmpty { orders.append(.observed([.filesLeftOut(run, leftOut)])) }
            if message.holdsFilesAlone, prompt.images.isEmpty {
                orders.append(.observed([.sendAnswered(asked: run, PicturePrompt.nothingLeft)]))
                return takeOrders()
            }
            if let answer = CodexPrompt.answer(to: message.choice) {
                orders.append(.observed([.modelAnswered(run, message.choice, answer)]))
            }
            send(session, prompt, now)
        case .abort(let session, let run, let reach):
            if let index = mind.waiting.firstIndex(where: { $0.prompt.run == run }) {
                mind.waiting.remove(at: index)
                orders.append(.observed([.abortAnswered(run)]))
            } else {
                change(session, now) { $0.abort(run, reach: reach, at: now.read) }
            }
        case .lookUp(let session, let run):
            if mind.waiting.contains(where: { $0.prompt.run == run }) {
                orders.append(.observed([.lookedUp(run, .waits)]))
            } else {
                change(session, now) { $0.lookUp(run, at: now.read) }
            }
        case .resolve(let approval, _, let decision, _, let isUnanswered, let shown, _):
            if let session = chats.holder(of: approval) {
                change(session, now) {
                    $0.resolve(approval, decision, isUnanswered: isUnanswered, shown: shown, at: now.read)
                }
            } else {
                hold(decision, isUnanswered: isUnanswered, on: approval, shown: shown, now)
            }
        case .answer(let question, let session, let answer, let shown):
            change(session, now) { $0.answer(question, answer, shown: shown, at: now.read) }
        // The thread itself stays with Codex.
        case .release(let session, let isDeleted):
            change(session, now) { $0.release(isDeleted: isDeleted, at: now.read) }
        }
        return takeOrders()
    }

    private mutating func send(_ session: AgentSession, _ prompt: CodexPrompt, _ now: Occasion) {
        guard mind.trouble != nil else {
            change(session, now) { $0.send(prompt, at: now.read) }
            return
        }
        mind.waiting.append(Waiting(session: session, prompt: prompt))
        look(now)
    }

    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        if case .schedule = query { return [.replied(id, .hasNoSchedules("Codex"))] }
        guard life.isLive else { return [.replied(id, .refused(message: "Codex cannot be reached"))] }
        ask(.models(id), "model/list", CodexFrames.none, for: Self.answerLimit, now)
        return takeOrders()
    }

    // MARK: The channels

    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        if check != nil {
            orders +=
                parser.parse(frame, capacity: capacity).flatMap(CodexMessage.init)
                .flatMap { check?.received($0) } ?? []
            return
        }
        guard channel == Self.mainChannel else { return }
        _ = life.heard(read: now.read)
        if let message = parser.parse(frame, capacity: capacity).flatMap(CodexMessage.init) {
            take(message, frame, now)
        } else {
            mind.unknown.countMalformed()
        }
        if let news = mind.report.news(mind.unknown, at: now.now) { self.orders.append(.note(.unknown(news))) }
        orders += takeOrders()
    }

    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        if check != nil { return check?.happened(event, on: channel, at: now.now) ?? [] }
        if channel == Self.mainChannel { happenedToMain(event, now) } else { happenedToServer(event, now) }
        return takeOrders()
    }

    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        if check != nil { return check?.finished(result, at: now.now) ?? [] }
        let isDone = if case .done = result { true } else { false }
        switch works.take(work) {
        case .version: versionIs(result, now)
        case .ended: serverHasEnded(now)
        case .logStart: logStartIs(result)
        case .logEnd: logEndIs(result, now)
        case .keepServer:
            if isDone { openServer() } else { serverIsNotKept(now) }
        case .servers: serversAre(result)
        case .lock(let path): lockIs(path, result, now)
        case .keep(let session): change(session, now) { $0.kept(isDone, at: now.read) }
        case .aside, nil: break
        }
        return takeOrders()
    }

    // MARK: Time

    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        if check != nil { return check?.timePassed(at: now.now) ?? [] }
        let due = [nextDeadline, nextReadingDeadline.map(now.moment(ofReading:))].compactMap(\.self).min()
        if life.noticesSleep(at: now.now, wallMilliseconds: now.wallMilliseconds, due: due) { wakeUp(now) }
        watch(now)
        for purpose in requests.takeExpired(at: now.read) { overdue(purpose, now) }
        for session in chats.due(at: now.read) {
            change(session, now) { $0.timePassed(at: now.read, random: now.random) }
        }
        if let due = mind.lookUntil, due <= now.now { concludeLook(now) }
        if let due = mind.nextLook, due <= now.now { look(now) }
        if life.isLive { settleOverdue(now) }
        restartIfOutdated(now)
        return takeOrders()
    }

    package mutating func slept(_ now: Occasion) -> [AgentOrder] {
        if life.hearsOfSleep(at: now.now) { wakeUp(now) }
        return takeOrders()
    }

    // MARK: Orders

    mutating func takeOrders() -> [AgentOrder] {
        defer { orders = [] }
        letOthersStart()
        return orders
    }

    mutating func work(_ errand: Errand, _ work: Work) { orders.append(.work(works.add(errand), work)) }

    mutating func ask(_ purpose: Purpose, _ method: String, _ params: [UInt8], for limit: Duration, _ now: Occasion) {
        let id = requests.add(purpose, for: limit, at: now.read)
        orders.append(.send(Self.mainChannel, CodexFrames.request(id, method, params)))
    }
}

extension CodexPrompt {
    /// The prompt, and the files that Codex does not take. `readsFiles`: the server runs on this computer.
    fileprivate static func of(
        _ message: UserMessage, as run: RunID, readsFiles: Bool
    ) -> (prompt: CodexPrompt, leftOut: [MissingFile]) {
        let place = readsFiles ? "Codex takes" : "a server on another computer takes no files; Codex takes"
        let rules = FileRules(
            picturesAlone: "\(place) pictures alone (PNG, JPEG, GIF, WebP)", fileLimit: 0,
            pictureLimit: readsFiles ? .max : 0, room: .max)
        let (taken, leftOut) = rules.sort(message.files)
        let text = PromptText.noting(message.missing + leftOut, behind: message.prompt)
        var prompt = CodexPrompt(
            run: run, text: text, images: taken.map(\.path), model: model(of: message.choice),
            level: message.level, folder: message.folder)
        prompt.steers = message.steers && taken.isEmpty
        return (prompt, leftOut)
    }

    static func model(of choice: ModelChoice) -> String? {
        switch choice {
        case .unchanged, .own(nil): nil
        case .own(let model?), .named(let model): model
        }
    }

    /// A turn names its model, which stays for later turns.
    fileprivate static func answer(to choice: ModelChoice) -> ModelAnswer? {
        switch choice {
        case .unchanged: nil
        case .own(nil): .refused(message: "Codex does not say which model was its own")
        case .own, .named: .set(before: nil)
        }
    }
}
