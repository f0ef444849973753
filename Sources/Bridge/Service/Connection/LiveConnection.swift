import AgentKit
package import BridgeCore
import Links
import Locking
import RelayProtocol
import Sealing
package import Vocabulary

/// One connection: an installation at the relay, an agent, and the decisions between them.
///
/// An update is acknowledged once what it changed is durable: a message when its turn is in the journal, a stop and a decision when the turns
/// they changed are (relay.md#delivery-ack-replay).
package final class LiveConnection: Sendable {
    package struct Condition: Sendable {
        package var relayIsUp = false
        package var agentIsUp = false
        package var relayWasUp = false
        package var agentWasUp = false
        package var isReady = false
        var relayUpSince: Instant?
        /// Remedy of the loss that is about to be reported.
        var relayRemedy: String?
        var chores = Chores()
        var journalIsBroken = false
        var reported = Reported()
        var isClosingTurns = false
        /// Batches of observations from the agent; every sixteenth checks the memory ledger.
        var observed: UInt = 0
        var sleep = SuspendWatch()
        var arriving = Arriving()
        /// True once the links have said goodbye: no other token opens them again.
        var isClosing = false
        /// Settings of the bridge's own chats that the journal could not store yet.
        var unkeptChats: [String: [UInt8]?] = [:]
        /// Chats that know why their messages wait, and since when.
        var toldWhy: [SessionID: Instant] = [:]
        /// Answer that something other than the relay gave to the last call.
        var interference: ForeignAnswer?
    }

    package let name: ConnectionName
    package var hasToken: Bool { token.withLock { $0.token != nil } }
    let clock: any Clock
    let journal: any TurnJournal
    let mirroring: Locked<Mirroring>
    let loose: LooseCalls
    let agentSession: @Sendable (SessionID) -> AgentSession
    let tell: @Sendable (LiveEvent) -> Void
    let condition = Locked(Condition())
    let gate: Locked<MemoryGate>
    let token: Locked<TokenState>
    private let missingToken: String?
    private let links = Locked(Links())

    private struct Links {
        var runner: BridgeRunner?
        var relay: LinkRunner<RelayLink>?
        var agent: (any AgentLink)?
        var keys: LiveKeys?
        var files: LiveFiles?
        var notices: LiveNotices?
    }

    package init(_ parts: Parts, tell: @escaping @Sendable (LiveEvent) -> Void) {
        name = parts.name
        clock = parts.runner.clock
        journal = parts.journal
        gate = Locked(MemoryGate(limit: parts.memoryLimit))
        missingToken = parts.missingToken
        condition.withLock { $0.arriving.place = parts.statePlace }
        token = Locked(TokenState(token: parts.missingToken == nil ? parts.relay.token : nil))
        mirroring = Locked(Mirroring(parts.mirror, deletedChats: parts.deletedChats, hasHomes: parts.hasRunsOfItsOwn))
        agentSession = parts.agentSession
        self.tell = tell
        let links = links
        let heard = Locked<(@Sendable (RelayAnswer, Bool) -> Void)?>(nil)
        let address: @Sendable () -> RelayAddress? = { links.withLock { $0.runner }?.relayAddress }
        let ringing = Locked<(@Sendable (KeyRingOrder) -> Void)?>(nil)
        let keys = parts.keys.map { keys in
            LiveKeys(
                keys, http: parts.runner.http, clock: parts.runner.clock, callLimit: parts.runner.callLimit,
                relay: address, hears: { order in ringing.withLock { $0 }?(order) })
        }
        loose = LooseCalls(parts.runner, keys, relay: address) { answer, isSame in
            heard.withLock { $0 }?(answer, isSame)
        }
        let notices = LiveNotices(parts, keys, tell) { links.withLock { $0.runner } }
        var edges = parts.runner
        edges.sealer = keys?.turnSealer
        if notices != nil { edges.besideEnd = { [weak self] in self?.lastEntries(of: $0, $1) ?? [] } }
        let runner = BridgeRunner(
            settings: parts.bridge, relay: parts.relayAddress, edges: edges, agentPresent: false,
            observe: { [weak self] in self?.obey($0) },
            answered: { [weak self] in self?.answered($0, $1) },
            unwritable: { [weak self] in self?.journalFails($0) })
        let relay = LinkRunner(RelayLink(parts.relay), edges: parts.relayLink) { [weak self] in self?.relaySays($0) }
        let agent = parts.agent { [weak self] in self?.agentSays($0) }
        let connection = parts.name
        let files = LiveFiles(parts.files, loose, keys, journal: journal, clock: clock) { tell(.note(connection, $0)) }
        links.withLock {
            $0 = Links(runner: runner, relay: relay, agent: agent, keys: keys, files: files, notices: notices)
        }
        ringing.withLock { $0 = { [weak self] in self?.keysSay($0) } }
        heard.withLock { $0 = { [weak self] in self?.looselyAnswered($0, $1) } }
    }

    var runner: BridgeRunner? { links.withLock { $0.runner } }
    var relay: LinkRunner<RelayLink>? { links.withLock { $0.relay } }
    var agent: (any AgentLink)? { links.withLock { $0.agent } }
    var files: LiveFiles? { links.withLock { $0.files } }
    package var notices: LiveNotices? { links.withLock { $0.notices } }
    package var keys: LiveKeys? { links.withLock { $0.keys } }
    package var state: Condition { condition.withLock { $0 } }
    package func ask<Answer: Sendable>(_ question: (borrowing Bridge) -> Answer) -> Answer? { runner?.ask(question) }

    // MARK: Start and end

    /// Takes up what an earlier process left, then connects both ways.
    package func start() throws {
        lookAtLocalTime()
        // Stop before anything is restored: nothing may go out without a token.
        if let missingToken {
            stopped(missingToken, "Run: sophon-bridge pair, or set SOPHON_BOT_TOKEN.", .tokenRefused)
        }
        agent?.begin(try restore())
        if missingToken == nil { relay?.tell { link, now in link.start(at: now) } }
    }

    /// Takes no new updates, and nothing more from the agent; pending deliveries continue.
    package func closeLinks() {
        condition.withLock { $0.isClosing = true }
        runner?.tell { bridge, _ in bridge.handsOverNoMore() }
        relay?.tell { link, now in link.shutDown(at: now) }
        agent?.shutDown()
    }

    /// True while the agent has not confirmed every abort and denial.
    package var owesAgent: Bool { runner?.ask { $0.owesAgent } ?? false }

    /// True if nothing is in flight and the links have said goodbye.
    package var isQuiet: Bool {
        // The agent first: its last words make orders of the bridge.
        agent?.isClosed ?? true && relay?.isClosed ?? true && runner?.ask { $0.isIdle } ?? true
            && runner?.hasCarriedOut ?? true
    }

    package func stop() {
        relay?.stop()
        agent?.stop()
        runner?.stop()
        keys?.stop()
        notices?.stop()
        files?.viewer?.stop()
    }

    /// Restores the journal's turns, and returns what the agent's link must know of them.
    private func restore() throws -> AgentPast {
        var past = AgentPast()
        guard let runner else { return past }
        let contents = try journal.load()
        let restoring = JournalRestoring(contents, clock: clock, sealer: keys?.turnSealer)
        for fault in restoring.faults { tell(.note(name, fault)) }
        restoreChats(contents.settings)
        takeUpMark(contents.settings)
        defer { installationIsTakenUp() }
        let isElsewhere = takeUpInstallation(contents.settings)
        files?.viewer?.restore(contents.settings, isElsewhere: isElsewhere)
        runner.remember(restoring.storedCalls)
        let models = ModelRecord.restored(contents.settings)
        past.facts = contents.settings.map { Fact($0.key, $0.value) }
        notices?.restore(contents.settings, restoring.turns.map(\.record.opening))
        if !isElsewhere {
            mirroring.withLock { mirroring in
                for opening in restoring.turns.map(\.record.opening) where !opening.isMirrored {
                    mirroring.isAtHome(opening.agentSession, in: opening.session)
                }
            }
        }
        runner.tell { bridge, now in
            bridge.remember(tasks: restoring.cards)
            for owed in restoring.owed { bridge.restore(owed.obligation, since: owed.since) }
            if isElsewhere { return }
            for (name, value) in contents.settings {
                if let known = HomeRecord.home(name: name, value: value) { bridge.restore(known.home, of: known.chat) }
            }
            for (session, chosen) in models { bridge.restore(chosen, of: session) }
            for turn in restoring.turns {
                bridge.restore(turn.record, deltas: turn.deltas, keptAt: turn.keptAt, at: now)
            }
            for turn in restoring.unreadable { bridge.end(turn, at: now) }
            for opening in restoring.openings { begin(opening, on: &bridge, at: now) }
            for stop in contents.stops {
                bridge.stopped(
                    session: stop.session, interaction: stop.interaction,
                    made: stop.made.map { RelayMoment(wallMilliseconds: $0, instant: now) }, reach: stop.reach,
                    at: now)
            }
            bridge.restored(at: now)
        } whenKept: { [weak self] _ in
            self?.keysAreRestored()
        }
        let asks = runner.ask { $0.figures(at: clock.now).asks }
        condition.withLock { $0.reported.unanswered.restore(asks) }
        past.turns = restoring.turns.map { turn in
            EarlierTurn(turn.record, models: models, folder: runner.folder(of: turn.record))
        }
        notices?.look()
        if isElsewhere {
            abandon(restoring, contents.settings)
            return past
        }
        let count = restoring.turns.count + restoring.openings.count + restoring.unreadable.count
        if count > 0 { tell(.restored(name, turns: count)) }
        return past
    }

    /// Ends every running turn with a line, at the agent too. The links must stay until `turnsAreClosed`: a refusal of an approval is
    /// stored before the agent receives it.
    package func closeTurns() {
        condition.withLock { $0.isClosingTurns = true }
        runner?.tell { bridge, now in
            bridge.closeAll(at: now)
        } whenKept: { [weak self] _ in
            self?.condition.withLock { $0.isClosingTurns = false }
        }
    }

    package var turnsAreClosed: Bool { !state.isClosingTurns }

    // MARK: The relay's link

    private func relaySays(_ order: RelayLink.Order) {
        switch order {
        case .update(let update): take(update)
        case .request(let request): answer(request)
        case .ready(let installation):
            let wasUp = condition.withLock { state in
                defer { (state.relayIsUp, state.relayWasUp, state.relayUpSince) = (true, true, clock.now) }
                return state.relayWasUp
            }
            tell(.relayConnected(name, installation: installation, isReconnect: wasUp))
            keys?.tell { ring, now, secrets in ring.linkUp(at: now, using: secrets) }
            tellIfReady()
        case .lost(let reason, let retryAt):
            keys?.tell { ring, _, _ in ring.linkDown() }
            let remedy = condition.withLock { state in
                defer { state.relayRemedy = nil }
                (state.relayIsUp, state.relayUpSince) = (false, nil)
                return state.relayRemedy
            }
            tell(
                .relayLost(
                    name, reason: reason, retryIn: retryAt - clock.now, remedy: remedy.map { LinkRemedy($0) }))
        // The remedy comes just before the loss that it belongs to.
        case .note(.remedy(let remedy)): condition.withLock { $0.relayRemedy = remedy }
        case .note(.full(let waiting)): tell(.note(name, "\(waiting) updates wait to be stored; no more are taken"))
        case .note(.unknown(let tally)): tell(.unknownFrames(name, link: "relay", tally))
        case .stop(let stop):
            if stop.kind == .installationRevoked { runner?.tell { bridge, now in bridge.installationRevoked(at: now) } }
            stopped(stop.message, stop.remedy, stop.exitCode)
        case .dial, .send, .ping, .close: break
        }
    }

    /// Reports each reason once until the journal works again: a disk that fills up shows itself in more than one way.
    func journalFails(_ failure: JournalFailure) {
        let isNews = condition.withLock { state in
            state.journalIsBroken = true
            return state.reported.failures.insert(failure.code).inserted
        }
        if isNews { tell(.journalFailed(name, failure)) }
    }

    func acknowledge(_ update: RelayUpdate) {
        relay?.tell { link, now in link.acknowledge(update, at: now) }
    }

    // MARK: The agent's link

    private func agentSays(_ event: AgentLinkEvent) {
        switch event {
        case .observed(let observations): observe(observations)
        case .state(.up(let version, let scopes)):
            runner?.tell { bridge, _ in bridge.agentNeeds(nil) }
            let wasUp = condition.withLock { state in
                defer { (state.agentIsUp, state.agentWasUp) = (true, true) }
                return state.agentWasUp
            }
            tell(.agentConnected(name, version: version, scopes: scopes, isReconnect: wasUp))
            tellIfReady()
        case .state(.waiting(let reason, let retryAt, let remedy)):
            condition.withLock { $0.agentIsUp = false }
            runner?.tell { bridge, _ in bridge.agentNeeds(remedy?.words) }
            tell(.agentLost(name, reason: reason, retryIn: retryAt - clock.now, remedy: remedy))
        case .note(.remedy(let remedy)): tell(.remedy(name, .agent, remedy))
        case .note(.unknown(let tally)): tell(.unknownFrames(name, link: "agent", tally))
        case .note(.complaint(let words)): tell(.note(name, words))
        case .note(.words(let words)): tell(.note(name, keys?.hasHeldKey == true ? AgentNote.own(words) : words))
        // Findings are for `doctor`.
        case .finding, .done: break
        }
    }

    private func tellIfReady() {
        let isNews = condition.withLock { state in
            guard state.relayIsUp, state.agentIsUp, !state.isReady else { return false }
            state.isReady = true
            return true
        }
        if isNews { tell(.ready(name)) }
    }

    // MARK: The bridge's orders

    private func obey(_ order: BridgeOrder) {
        switch order {
        case .command(let command): pass(command)
        case .fetch(let turn, let attachments): fetch(attachments, for: turn)
        case .dropFiles(let turn): files?.fetcher?.drop(turn)
        case .filesTouched(let session, let sealing, let touched):
            files?.viewer?.touched(touched, in: session, sealing)
        case .turnClosed(let turn, let outcome):
            tell(.turnEnded(name, turn, outcome))
            notices?.carryOn()
            endFarewell()
        case .connectionStopped(let code):
            // The link may learn of the revocation later, or never, since this refusal closes it.
            if code == .installationRevoked {
                runner?.tell { bridge, now in bridge.installationRevoked(at: now) }
            }
            stopped("The relay refused this bridge's calls (\(code)).", "Pair again: sophon-bridge pair", .tokenRefused)
        case .turnNote(let turn, let note):
            tell(.turnNote(name, turn, note))
            if note == .askUnanswered { tellOfUnanswered() }
        case .deliveryNote(let note, let turn, let post): tell(.deliveryNote(name, note, turn, post))
        case .turnOpened(let opening):
            tell(.turnBegan(name, opening.id, opening.session))
            notices?.began(opening)
        case .anotherBridge(let turn, let other): seen(other, by: turn)
        case .stuck(let turn): isStuck(turn)
        case .keyTaken(let turn, let session, let key): keys?.began(turn, under: key, in: session)
        case .keyLeft(_, let session, let key): keys?.ended(under: key, in: session)
        case .keepModel(let session, let chosen): keep(chosen, of: session)
        case .attempt, .keep, .keepHome, .commandToKeep, .owe, .fulfilled: break
        }
    }

    /// A message that the closing link does not take is left to the next process.
    private func pass(_ command: AgentCommand) {
        if case .send(_, let session, _, let message) = command {
            mirroring.withLock { $0.isAtHome(session, in: message.session) }
        }
        guard agent?.command(command) == false, case .send(_, _, let run, _) = command else { return }
        runner?.tell { bridge, now in bridge.sendAnswered(.neverLeft, run: run, at: now) }
    }

    private func answered(_ attempt: CallAttempt, _ answer: RelayAnswer) {
        judge(answer)
        if gate.withLock({ $0.isClosed }) { heedMemory() }
        guard case .refused(let refusal) = answer.outcome, !isAnothers(attempt, refusal) else { return }
        tell(.callFailed(name, attempt.turn, attempt.name, refusal, answer.request))
        forgetChat(of: attempt.turn, after: refusal)
    }

    /// A call without a turn can be the first to learn that the relay refuses the token.
    private func looselyAnswered(_ answer: RelayAnswer, _ hasSameToken: Bool) {
        judge(answer)
        guard hasSameToken, case .refused(let refusal) = answer.outcome, RetryPolicy.isOfToken(refusal) else { return }
        obey(.connectionStopped(refusal.code))
    }

    /// Reports interference when it begins, when it changes, and when the relay itself answers again. A call without any answer
    /// says nothing about it.
    private func judge(_ answer: RelayAnswer) {
        if answer.foreign == nil, case .unknown = answer.outcome, answer.request == nil { return }
        let (now, wall) = (clock.now, clock.wallMilliseconds)
        let isNews = condition.withLock { state in
            if let date = answer.date { state.arriving.relayClock.answered(date, at: now, wall: wall) }
            defer { state.interference = answer.foreign }
            return state.interference != answer.foreign
        }
        if isNews { tell(.interference(name, answer.foreign)) }
    }
}
