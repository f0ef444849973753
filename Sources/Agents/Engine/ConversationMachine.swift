package import AgentKit
import JSONReading
import Links
package import Vocabulary

/// A machine of the host for an agent with one child a chat, in any dialect. A chat with something to do has a child, as far as the
/// host has places.
///
/// - The agent session finds a chat, the channel its child; a channel number is used once.
/// - An idle child whose session can be loaded again gives its place up when the host wants it.
/// - Facts: `session:<agent session>` is the agent's session, `folder:<agent session>` the child's folder.
/// - The link always counts as up: each chat has a child of its own, and reports its faults in that chat.
package struct ConversationMachine<D: Dialect>: AgentMachine {
    package typealias Settings = D.Settings

    private enum Awaited {
        case kept(AgentSession, Place)
        case walk(AgentSession, Int)
    }

    private var dialect: D
    private let parser = FrameParser()
    private var chats = ChildChats<D>(mark: "")
    private var children = Children()
    private var works: [WorkID: Awaited] = [:]
    private var loads = FileLoads()
    private var side = SideChild<D>()
    /// Children of earlier bridges that are not known to have ended.
    private var pastProcesses: [ProcessName] = []
    private static var processLimit: Int { 2_000 }
    /// The connection that `doctor` examines.
    private let checksConnection: String?
    private var sleepWatch = SleepWatch()
    private var strayLines = StrayLines()

    package init(_ settings: D.Settings) { self.init(settings, checkOf: nil) }

    /// `connection`: the one that `doctor` examines.
    package init(_ settings: D.Settings, checkOf connection: String?) {
        dialect = D(settings)
        checksConnection = connection
    }

    package var heldBytes: Int { chats.heldBytes }
    package var nextDeadline: Instant? {
        [chats.nextDeadline, loads.nextDeadline, side.nextDeadline].compactMap(\.self).min()
    }

    // MARK: The course

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        chats = ChildChats(mark: String(now.wallMilliseconds, radix: 36))
        pastProcesses = Array(past.processes.prefix(Self.processLimit))
        for (session, place) in KeptPlaces.read(past.facts) { chats.remember(place, of: session) }
        var gone: [Observation] = []
        for turn in past.turns {
            let receivedAt = now.wallMilliseconds - (now.now - turn.receivedAt).nanoseconds / 1_000_000
            for run in turn.runs where run.text != nil || dialect.habits.again != .never {
                let remembered = Prompts.Remembered(run, of: turn, receivedAt: receivedAt)
                chats.change(turn.session, dialect) { $0.prompts.remember(remembered) }
            }
            // The questions ended with the children that asked them.
            gone += turn.questions.map { id in
                let event = RunEvent.questionSettled(QuestionSettlement(id: id, .cancelled))
                return .signal(RunSignal(run: nil, session: turn.session, event: event))
            }
        }
        return [.state(.up(version: dialect.program, scopes: nil)), .observed(gone + [.linkBack])]
    }

    package mutating func check(_ now: Occasion) -> [AgentOrder] {
        guard let checksConnection else { return [.done] }
        return side.examine(for: checksConnection, dialect, on: ChannelID(0), now)
    }

    package mutating func use(_ settings: D.Settings, _ now: Occasion) -> [AgentOrder] {
        let changed = D(settings)
        if changed.terms != dialect.terms {
            for session in chats.awake.keys { chats.change(session, dialect) { $0.way.endsAfterTurn = true } }
        }
        dialect = changed
        return []
    }

    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        let handedBack = chats.awake.keys.sorted().flatMap { session in change(session, now) { $0.handsBack() } }
        let closing: [AgentOrder] = children.all.map { channel in
            let chat = children.session(on: channel).flatMap { chats.awake[$0] }
            // An orphan finishes its turn without the bridge.
            let isLeftToWork = dialect.habits.finishesAlone && chat?.prompts.turn != nil
            return .close(channel, isLeftToWork ? .input : .child(atOnce: false))
        }
        return handedBack + closing + side.shutDown()
    }

    // MARK: Commands

    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        sleepWatch.saw(now.now, wallMilliseconds: now.wallMilliseconds)
        switch command {
        case .send(_, let session, let run, let message):
            let (prompt, leftOut) = PicturePrompt.of(message, for: dialect.name, room: dialect.habits.pictureRoom)
            let said: [AgentOrder] = leftOut.isEmpty ? [] : [.observed([.filesLeftOut(run, leftOut)])]
            if prompt.isNothing {
                return said + [.observed([.sendAnswered(asked: run, PicturePrompt.nothingLeft)])]
            }
            return said
                + change(session, now) {
                    $0.seat.phoneSession = message.session
                    return $0.send(run, prompt, in: message.folder, now)
                }
        case .abort(let session, let run, _):
            loads.drop(run)
            return change(session, now) { $0.abort(run, now) + $0.advance(now) }
        case .lookUp(let session, let run): return change(session, now) { $0.lookUp(run, now) }
        case .resolve(let approval, _, let decision, let scope, let isUnanswered, let shown, let wordsFollow):
            guard let session = chats.awake.first(where: { $0.value.asks.holds(approval) })?.key else {
                let unknown = ApprovalSettlement(id: approval, outcome: .unknown)
                return [.observed([.signal(RunSignal(run: nil, session: nil, event: .approvalSettled(unknown)))])]
            }
            return change(session, now) {
                $0.resolve(
                    approval, decision, scope, isUnanswered: isUnanswered, wordsFollow: wordsFollow, shown: shown, now)
                    + $0.advance(now)
            }
        case .answer(let question, let session, let answer, let shown):
            return change(session, now) { $0.answer(question, answer, shown: shown, now) + $0.advance(now) }
        case .release(let session, let isDeleted):
            return change(session, now) { $0.release(isDeleted: isDeleted, now) }
        }
    }

    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        if case .schedule = query { return [.replied(id, .hasNoSchedules(dialect.name))] }
        guard let session = chats.awake.filter({ $0.value.isOpen }).keys.min() else {
            return side.list(id, dialect, now) { children.next() }
        }
        return change(session, now) { $0.list(id, now) }
    }

    // MARK: The channels

    package mutating func received(
        _ line: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        guard let frame = dialect.parse(line, capacity: capacity, with: parser) else {
            if let words = strayLines.note(of: dialect.name, at: now.now) { orders.append(.note(.words(words))) }
            return
        }
        if side.isOn(channel) {
            orders += side.received(frame, dialect, now)
        } else if let session = children.session(on: channel) {
            orders += change(session, now) { $0.received(frame, of: line, now) }
        }
    }

    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        if side.isOn(channel) { return side.happened(event, dialect, now) }
        guard let session = children.session(on: channel) else { return [] }
        switch event {
        case .spawned: return change(session, now) { $0.spawned(now) }
        case .waits(let running, let chats):
            return change(session, now) { $0.awaitsPlace(running: running, behind: chats) }
        case .wanted: return giveUpPlace(of: session, on: channel, now)
        case .skipped(let bytes): return change(session, now) { $0.skipped(bytes, now) }
        case .exited(let end, let lastWords):
            return died(session, on: channel, end.words(lastWords), hasRun: true, now)
        case .failed(let message, _): return died(session, on: channel, message, hasRun: false, now)
        case .opened, .heard, .refused, .closed: return []
        }
    }

    private mutating func died(
        _ session: AgentSession, on channel: ChannelID, _ words: String, hasRun: Bool, _ now: Occasion
    ) -> [AgentOrder] {
        children.ended(channel)
        return change(session, now) { $0.died(words, hasRun: hasRun, now) }
    }

    /// The child may have got work since the host learned that it is idle.
    private mutating func giveUpPlace(
        of session: AgentSession, on channel: ChannelID, _ now: Occasion
    ) -> [AgentOrder] {
        guard let chat = chats.awake[session], chat.hasSession, !chat.mayLeave else {
            return change(session, now) { $0.leave(now) }
        }
        return [.idle(channel, false)]
    }

    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        switch loads.finished(work, result, at: now.now) {
        case .foreign: break
        case .more(let orders): return orders
        case .loaded(let loaded):
            guard let session = holder(of: loaded.run) else { return [] }
            return change(session, now) { $0.loaded(loaded, now) }
        case .unreadable(let run, let sentence):
            guard let session = holder(of: run) else { return [] }
            return change(session, now) { $0.leavesOut(run, .notSent(sentence: sentence), now) }
        }
        switch works.removeValue(forKey: work) {
        case .kept(let session, let place):
            let isKept = if case .done = result { true } else { false }
            return change(session, now) { $0.kept(place, isKept, now) }
        case .walk(let session, let number):
            return change(session, now) { $0.finished(result, ofWalk: number, now) }
        case nil: return []
        }
    }

    private func holder(of run: RunID) -> AgentSession? {
        chats.awake.first { $0.value.prompts.isHeld(run) }?.key
    }

    // MARK: Time

    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        if sleepWatch.notices(at: now.now, wallMilliseconds: now.wallMilliseconds, due: nextDeadline) { wakeUp(now) }
        var orders = side.timePassed(dialect, now) + loads.timePassed(at: now.now)
        let due = chats.awake.filter { $0.value.nextDeadline.map { $0 <= now.now } ?? false }.keys.sorted()
        for session in due { orders += change(session, now) { $0.timePassed(now) } }
        return orders
    }

    package mutating func slept(_ now: Occasion) -> [AgentOrder] {
        if sleepWatch.hears(at: now.now) { wakeUp(now) }
        return []
    }

    private mutating func wakeUp(_ now: Occasion) {
        side.slept(now)
        for session in chats.awake.keys { chats.change(session, dialect) { $0.slept(now) } }
    }

    // MARK: Orders

    private mutating func change(
        _ session: AgentSession, _ now: Occasion, _ change: (inout ChildChat<D>) -> [ChildChat<D>.Order]
    ) -> [AgentOrder] {
        let past = pastProcesses
        let orders = chats.change(session, dialect) { chat in
            chat.pastProcesses = past
            return change(&chat)
        }
        let translated = orders.flatMap { translate($0, of: session) } + tellAsks(session, now)
        let idle = tellIdle(session)
        // No frame goes to a child whose place the host may give away.
        if case .idle(_, true)? = idle.first { return translated + idle }
        return idle + translated
    }

    private mutating func tellIdle(_ session: AgentSession) -> [AgentOrder] {
        guard let chat = chats.awake[session], chat.hasSession, let channel = children.channel(of: session),
            children.isIdle(channel, chat.mayLeave)
        else { return [] }
        return [.idle(channel, chat.mayLeave)]
    }

    /// Reports a child that waits for a person or works in the background: chats that wait for its place name it.
    private mutating func tellAsks(_ session: AgentSession, _ now: Occasion) -> [AgentOrder] {
        guard let chat = chats.awake[session], let channel = children.channel(of: session) else { return [] }
        func wall(_ moment: Instant) -> Int64 {
            now.wallMilliseconds - (now.now - moment).nanoseconds / 1_000_000
        }
        var waiting: WaitingChat?
        if let phone = chat.seat.phoneSession {
            if let since = chat.asks.waitsSince {
                waiting = WaitingChat(phone, since: wall(since))
            } else if let work = chat.background {
                waiting = WaitingChat(phone, since: now.wallMilliseconds, work: work)
            }
        }
        guard children.asks(channel, waiting) else { return [] }
        return [.asks(channel, waiting)]
    }

    private mutating func translate(_ order: ChildChat<D>.Order, of session: AgentSession) -> [AgentOrder] {
        switch order {
        case .start(let plan): return [.open(children.begin(session), .child(plan))]
        case .write(let frame): return children.channel(of: session).map { [.send($0, frame)] } ?? []
        case .closeInput: return children.channel(of: session).map { [.close($0, .input)] } ?? []
        case .kill:
            guard let channel = children.channel(of: session) else { return [] }
            children.ended(channel)
            return [.close(channel, .child(atOnce: true))]
        case .keep(let place):
            return [.work(work(.kept(session, place)), .keep(KeptPlaces.facts(place, of: session)))]
        case .forget: return [.work(children.nextWork(), .keep(KeptPlaces.forgotten(session)))]
        case .work(let work, let walk): return [.work(self.work(.walk(session, walk)), work)]
        case .load(let run, let files): return loads.begin(run, files)
        case .observed(let observations):
            let folder = chats.awake[session]?.home.folder ?? dialect.folder
            return [.observed(observations.map { $0.filesBelow(folder) })]
        case .replied(let query, let reply): return [.replied(query, reply)]
        case .note(let words): return [.note(.words(words))]
        }
    }

    private mutating func work(_ awaited: Awaited) -> WorkID {
        let work = children.nextWork()
        works[work] = awaited
        return work
    }
}

/// Lines of children that are no records: one note in each window, which counts those since the note before.
private struct StrayLines {
    private static let window = Duration.seconds(10)

    private var until: Instant?
    private var count = 0

    mutating func note(of name: String, at now: Instant) -> String? {
        count += 1
        guard until.map({ $0 <= now }) ?? true else { return nil }
        defer { (until, count) = (now + Self.window, 0) }
        if count == 1 { return "\(name) wrote a line that is no record" }
        return "\(name) wrote \(count) lines that are no records"
    }
}

/// Places of sessions as facts of the journal.
private enum KeptPlaces {
    private static let sessions = "session:"
    private static let folders = "folder:"

    static func read(_ facts: [Fact]) -> [(AgentSession, Place)] {
        let values = Dictionary(facts.map { ($0.name, $0.value) }) { first, _ in first }
        return facts.filter { $0.name.hasPrefix(sessions) }.compactMap { fact in
            guard let native = fact.value else { return nil }
            let session = AgentSession(String(fact.name.dropFirst(sessions.count)))
            let folder = values[folders + session.text] ?? nil
            return (session, Place(native: text(native), folder: folder.map(text)))
        }
    }

    static func facts(_ place: Place, of session: AgentSession) -> [Fact] {
        let folder = place.folder.map { [Fact(folders + session.text, Array($0.utf8))] } ?? []
        return [Fact(sessions + session.text, place.native.map { Array($0.utf8) })] + folder
    }

    static func forgotten(_ session: AgentSession) -> [Fact] {
        [Fact(sessions + session.text, nil), Fact(folders + session.text, nil)]
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension Prompts.Remembered {
    /// A run that an earlier process of the bridge had handed over, or was about to.
    init(_ run: EarlierTurn.Run, of turn: EarlierTurn, receivedAt: Int64) {
        sought = Sought(run.id, text: run.text, notBefore: receivedAt)
        prompt = run.text.map {
            PicturePrompt($0, hadFiles: run.hadFiles, model: run.model, level: run.level)
        }
        folder = run.folder
        isStopped = turn.isStopping
    }
}
