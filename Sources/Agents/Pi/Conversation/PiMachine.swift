package import AgentKit
import JSONReading
import Links
package import Vocabulary

/// pi as a machine of the host: a child for each chat that has something to do, while the host has a place for it.
///
/// - A chat is found by its agent session, a child by its channel; a channel number is used once.
/// - An idle child whose session can be loaded again gives its place up where the host wants it.
/// - Facts: `session:<agent session>` is the path of its session file, `folder:<agent session>` where it works.
/// - The link counts as up from the beginning: each chat has a process of its own, and what is wrong with one is said in that chat.
package struct PiMachine: AgentMachine {
    package typealias Settings = PiSettings

    private static let factPrefix = "session:"
    private static let folderPrefix = "folder:"

    private var settings: PiSettings
    private let parser = FrameParser()
    private var chats = PiChats(mark: "")
    private var children = PiChildren()
    private var keeping: [WorkID: AgentSession] = [:]
    private var loads = FileLoads()
    private var list = PiModelList()
    private var check: PiCheck?
    private var sleepWatch = SleepWatch()

    package init(_ settings: PiSettings) { self.settings = settings }

    /// For `doctor`.
    init(_ settings: PiSettings, checkOf connection: String) {
        self.settings = settings
        check = PiCheck(settings, connection: connection)
    }

    package var heldBytes: Int { chats.heldBytes }
    package var nextDeadline: Instant? {
        [chats.nextDeadline, loads.nextDeadline, list.nextDeadline, check?.nextDeadline].compactMap(\.self).min()
    }

    // MARK: The course

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        chats = PiChats(mark: String(now.wallMilliseconds, radix: 36))
        let facts = Dictionary(past.facts.map { ($0.name, $0.value) }) { first, _ in first }
        for fact in past.facts where fact.name.hasPrefix(Self.factPrefix) {
            let session = AgentSession(String(fact.name.dropFirst(Self.factPrefix.count)))
            let folder = facts[Self.folderPrefix + session.text] ?? nil
            if let file = fact.value {
                let place = PiChats.Place(
                    file: String(decoding: file, as: UTF8.self),
                    folder: folder.map { String(decoding: $0, as: UTF8.self) })
                chats.remember(place, of: session)
            }
        }
        var gone: [Observation] = []
        for turn in past.turns {
            let receivedAt = now.wallMilliseconds - (now.now - turn.receivedAt).nanoseconds / 1_000_000
            for run in turn.runs {
                let question = run.text.map { PiQuestion(text: $0, notBefore: receivedAt) }
                chats.change(turn.session) { $0.remember(question, of: run.id) }
            }
            // They ended with the processes that asked them.
            gone += turn.questions.map { id in
                let event = RunEvent.questionSettled(QuestionSettlement(id: id, .cancelled))
                return .signal(RunSignal(run: nil, session: turn.session, event: event))
            }
        }
        return [.state(.up(version: settings.program, scopes: nil)), .observed(gone + [.linkBack])]
    }

    package mutating func check(_ now: Occasion) -> [AgentOrder] { check?.begin(at: now.now) ?? [.done] }

    package mutating func use(_ settings: PiSettings, _ now: Occasion) -> [AgentOrder] {
        self.settings = settings
        return []
    }

    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        children.all.map { .close($0, .child(atOnce: false)) }
    }

    // MARK: Commands

    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        sleepWatch.saw(now.now, wallMilliseconds: now.wallMilliseconds)
        switch command {
        case .send(_, let session, let run, let message):
            let (prompt, leftOut) = PicturePrompt.of(message, for: "pi", room: PiSettings.pictureRoom)
            let said: [AgentOrder] = leftOut.isEmpty ? [] : [.observed([.filesLeftOut(run, leftOut)])]
            if prompt.isNothing {
                return said + [.observed([.sendAnswered(asked: run, PicturePrompt.nothingLeft)])]
            }
            return said
                + change(session, now) {
                    $0.seat.phoneSession = message.session
                    return $0.send(run, prompt, in: message.folder, wallMilliseconds: now.wallMilliseconds, at: now.now)
                }
        case .abort(let session, let run, _):
            loads.drop(run)
            return change(session, now) { $0.abort(run, at: now.now) }
        case .lookUp(let session, let run): return change(session, now) { $0.lookUp(run, at: now.now) }
        case .resolve(let approval, _, let decision, _, let isUnanswered, let shown):
            guard let session = chats.awake.first(where: { $0.value.holds(approval) })?.key else {
                let unknown = ApprovalSettlement(id: approval, outcome: .unknown)
                return [.observed([.signal(RunSignal(run: nil, session: nil, event: .approvalSettled(unknown)))])]
            }
            return change(session, now) {
                $0.resolve(approval, decision, isUnanswered: isUnanswered, shown: shown)
            }
        case .answer(let question, let session, let answer, let shown):
            return change(session, now) { $0.answer(question, answer, shown: shown) }
        case .release(let session, let isDeleted):
            return change(session, now) { $0.release(isDeleted: isDeleted, at: now.now) }
        }
    }

    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        if case .schedule = query { return [.replied(id, .hasNoSchedules("pi"))] }
        let ready = chats.awake.filter { $0.value.process == .ready }.keys.min()
        guard let session = ready else {
            return list.ask(id, settings.checkPlan, at: now.now) { children.next() }
        }
        return change(session, now) { $0.models(id, at: now.now) }
    }

    // MARK: The channels

    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        guard let root = PiLine.parse(frame, capacity: capacity, with: parser) else {
            orders.append(.note(.words("pi wrote a line that is no record")))
            return
        }
        if check != nil {
            orders += check?.received(root) ?? []
            return
        }
        if list.isOn(channel) {
            orders += list.received(root)
            return
        }
        guard let session = children.session(on: channel) else { return }
        orders += change(session, now) { $0.received(root, at: now.now) }
    }

    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        if check != nil { return check?.happened(event) ?? [] }
        if list.isOn(channel) { return list.happened(event) }
        guard let session = children.session(on: channel) else { return [] }
        switch event {
        case .spawned: return change(session, now) { $0.spawned(at: now.now) }
        case .waits(let running, let chats):
            return change(session, now) { $0.awaitsPlace(running: running, behind: chats) }
        case .wanted: return giveUpPlace(of: session, on: channel, now)
        case .skipped(let bytes): return change(session, now) { $0.skipped(bytes, at: now.now) }
        case .exited(let end, let lastWords):
            return ended(session, on: channel, end.words(lastWords), hasRun: true, now)
        case .failed(let message, _): return ended(session, on: channel, message, hasRun: false, now)
        case .opened, .heard, .refused, .closed: return []
        }
    }

    private mutating func ended(
        _ session: AgentSession, on channel: ChannelID, _ words: String, hasRun: Bool, _ now: Occasion
    ) -> [AgentOrder] {
        children.ended(channel)
        return change(session, now) { $0.ended(words, hasRun: hasRun, at: now.now) }
    }

    /// It may have got something to do since it was called idle.
    private mutating func giveUpPlace(
        of session: AgentSession, on channel: ChannelID, _ now: Occasion
    ) -> [AgentOrder] {
        guard let chat = chats.awake[session], chat.process == .ready, !chat.mayLeave else {
            return change(session, now) { $0.leave(at: now.now) }
        }
        return [.idle(channel, false)]
    }

    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        switch loads.finished(work, result, at: now.now) {
        case .foreign: break
        case .more(let orders): return orders
        case .loaded(let loaded):
            guard let session = chats.awake.first(where: { $0.value.isToWrite(loaded.run) })?.key else { return [] }
            return change(session, now) { $0.loaded(loaded, at: now.now) }
        case .unreadable(let run, let sentence):
            guard let session = chats.awake.first(where: { $0.value.isToWrite(run) })?.key else { return [] }
            return change(session, now) { $0.leavesOut(run, .notSent(sentence: sentence), at: now.now) }
        }
        guard let session = keeping.removeValue(forKey: work) else { return [] }
        let isKept = if case .done = result { true } else { false }
        return change(session, now) { $0.kept(isKept, at: now.now) }
    }

    // MARK: Time

    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        let hasSlept = sleepWatch.notices(at: now.now, wallMilliseconds: now.wallMilliseconds, due: nextDeadline)
        if hasSlept { wakeUp(at: now.now) }
        var orders = (check?.timePassed(at: now.now) ?? []) + list.timePassed(at: now.now)
        orders += loads.timePassed(at: now.now)
        let due = chats.awake.filter { $0.value.nextDeadline.map { $0 <= now.now } ?? false }.keys.sorted()
        for session in due { orders += change(session, now) { $0.timePassed(at: now.now) } }
        return orders
    }

    package mutating func slept(_ now: Occasion) -> [AgentOrder] {
        if sleepWatch.hears(at: now.now) { wakeUp(at: now.now) }
        return []
    }

    private mutating func wakeUp(at now: Instant) {
        list.slept(at: now)
        for session in chats.awake.keys { chats.change(session) { $0.slept(at: now) } }
    }

    // MARK: Orders

    private mutating func change(
        _ session: AgentSession, _ now: Occasion, _ change: (inout PiChat) -> [PiChat.Order]
    ) -> [AgentOrder] {
        let orders = chats.change(session) { chat in
            chat.failures.random = now.random
            return change(&chat)
        }
        let translated = orders.flatMap { translate($0, of: session) } + tellAsks(session, now)
        let idle = tellIdle(session)
        // Nothing is written to a child whose place the host may give away.
        if case .idle(_, true)? = idle.first { return translated + idle }
        return idle + translated
    }

    private mutating func tellIdle(_ session: AgentSession) -> [AgentOrder] {
        guard let chat = chats.awake[session], chat.process == .ready, let channel = children.channel(of: session),
            children.isIdle(channel, chat.mayLeave)
        else { return [] }
        return [.idle(channel, chat.mayLeave)]
    }

    /// While it waits for a person its place is held for nothing.
    private mutating func tellAsks(_ session: AgentSession, _ now: Occasion) -> [AgentOrder] {
        guard let chat = chats.awake[session], let channel = children.channel(of: session) else { return [] }
        let since = chat.dialogs.waitsSince
        guard children.asks(channel, since != nil), let phone = chat.seat.phoneSession else { return [] }
        let waiting = since.map { since in
            WaitingChat(phone, since: now.wallMilliseconds - (now.now - since).nanoseconds / 1_000_000)
        }
        return [.asks(channel, waiting)]
    }

    private mutating func translate(_ order: PiChat.Order, of session: AgentSession) -> [AgentOrder] {
        switch order {
        case .start(let file):
            let plan = settings.plan(file: file, in: chats.awake[session]?.home.folder)
            return [.open(children.begin(session), .child(plan))]
        case .write(let frame): return children.channel(of: session).map { [.send($0, frame)] } ?? []
        case .closeInput: return children.channel(of: session).map { [.close($0, .input)] } ?? []
        case .kill:
            guard let channel = children.channel(of: session) else { return [] }
            children.ended(channel)
            return [.close(channel, .child(atOnce: true))]
        case .keep(let file):
            let work = children.nextWork()
            keeping[work] = session
            let folder = chats.awake[session]?.home.folder
            let place = folder.map { [Fact(Self.folderPrefix + session.text, Array($0.utf8))] } ?? []
            return [.work(work, .keep([Fact(Self.factPrefix + session.text, Array(file.utf8))] + place))]
        case .forget:
            let facts = [Fact(Self.factPrefix + session.text, nil), Fact(Self.folderPrefix + session.text, nil)]
            return [.work(children.nextWork(), .keep(facts))]
        case .load(let run, let files): return loads.begin(run, files)
        case .observed(let observations):
            let folder = chats.awake[session]?.home.folder ?? settings.folder
            return [.observed(observations.map { $0.filesBelow(folder) })]
        case .replied(let query, let reply): return [.replied(query, reply)]
        case .note(let words): return [.note(.words(words))]
        }
    }
}
