package import BridgeCore
import Links
import Locking
import RelayProtocol
package import Vocabulary

/// Runner of the machine `Bridge`: takes the lock, calls one method, leaves the lock, and carries out the orders.
///
/// Events may come from any thread. One thread at a time carries orders out, in the order they were made; a thread that finds another at this
/// leaves its orders to it. So the relay's answer to a call starts the lane's next call on the HTTP client's own thread, without a hop.
///
/// With a journal, a call's first try and a message to the agent leave the bridge after the journal has stored them; the journal's own thread hands
/// them on.
package final class BridgeRunner: Sendable {
    package struct Edges: Sendable {
        package var http: any HTTPClient
        package var clock: any Clock
        package var alarm: any Alarm
        package var random: any RandomSource
        package var journal: (any TurnJournal)?
        /// Sealer of turns, or nil if this bridge seals none.
        package var sealer: TurnSealer?
        /// Timeout of one whole call to the relay; a call that takes longer has an unknown outcome.
        package var callLimit: Duration
        /// Looks at the folders of messages, or nil to pass folders on as configured.
        package var folders: (any FolderPort)?
        /// Sink of metrics, or nil if the endpoint is disabled.
        package var meter: Meter?
        /// Entries to write in one job with the end of a turn.
        package var besideEnd: (@Sendable (TurnID, TurnOutcome) -> [JournalEntry])?

        package init(
            http: any HTTPClient, clock: any Clock, alarm: any Alarm, random: any RandomSource,
            journal: (any TurnJournal)? = nil, callLimit: Duration = .seconds(10)
        ) {
            self.http = http
            self.clock = clock
            self.alarm = alarm
            self.random = random
            self.journal = journal
            self.callLimit = callLimit
        }
    }

    private enum Work {
        case order(BridgeOrder)
        case whenKept(@Sendable (JournalFailure?) -> Void)
    }

    private struct State: ~Copyable {
        var bridge: Bridge
        var work: [Work] = []
        var isPerforming = false
        /// Moment that the alarm was last set to.
        var wake: Instant?
        /// Turns whose newest record could not be written, and why.
        var notKept: [TurnID: JournalFailure] = [:]
        /// Calls that an earlier process stored and got no answer to.
        var storedCalls: [IdempotencyKey: StoredCall] = [:]
        var storedBytes = 0

        init(_ bridge: consuming sending Bridge) { self.bridge = bridge }

        /// Clears the note of a turn that was closed meanwhile, which needs no record.
        mutating func note(_ turn: TurnID, notKept failure: JournalFailure?) {
            notKept[turn] = bridge.turn(turn) == nil ? nil : failure
        }

        mutating func forget(_ key: IdempotencyKey) {
            if let call = storedCalls.removeValue(forKey: key) { storedBytes -= call.heldBytes }
        }
    }

    private let state: Locked<State>
    let edges: Edges
    private let relay: Locked<RelayAddress>
    private let callLimit: Locked<Duration>
    private let observe: @Sendable (BridgeOrder) -> Void
    private let answered: @Sendable (CallAttempt, RelayAnswer) -> Void
    let unwritable: @Sendable (JournalFailure) -> Void

    /// `observe` receives every order that is not a relay call, in order; `answered` every answer of the relay; `unwritable` every
    /// failure of the journal that is not about one call alone.
    package init(
        settings: BridgeSettings, relay: RelayAddress, edges: Edges, agentPresent: Bool = true,
        observe: @escaping @Sendable (BridgeOrder) -> Void,
        answered: @escaping @Sendable (CallAttempt, RelayAnswer) -> Void = { _, _ in },
        unwritable: @escaping @Sendable (JournalFailure) -> Void = { _ in }
    ) {
        state = Locked(
            State(Bridge(settings: settings, agentPresent: agentPresent, isJournaled: edges.journal != nil)))
        self.edges = edges
        self.relay = Locked(relay)
        callLimit = Locked(edges.callLimit)
        self.observe = observe
        self.answered = answered
        self.unwritable = unwritable
    }

    /// Gives the bridge its events, and carries out its orders.
    package func tell(_ event: (inout Bridge, Instant) -> Void) {
        let mayPerform = state.withLock { state in
            // Read the clock under the lock: two threads could otherwise report their times in the wrong order.
            event(&state.bridge, edges.clock.now)
            return collect(&state)
        }
        if mayPerform { perform() }
    }

    /// Tells an event likewise, and calls `whenKept` once every change it made would survive a power cut.
    package func tell(
        _ event: (inout Bridge, Instant) -> Void, whenKept: @escaping @Sendable (JournalFailure?) -> Void
    ) {
        let mayPerform = state.withLock { state in
            event(&state.bridge, edges.clock.now)
            let mayPerform = collect(&state)
            state.work.append(.whenKept(whenKept))
            return mayPerform
        }
        if mayPerform { perform() }
    }

    package func ask<Answer: Sendable>(_ question: (borrowing Bridge) -> Answer) -> Answer {
        state.withLock { question($0.bridge) }
    }

    /// True if no turn is open and every order has been carried out, so that the last turn's end has been observed too.
    package var isAtRest: Bool { ask { $0.openTurns == 0 } && hasCarriedOut }
    /// No order waits or is under way.
    package var hasCarriedOut: Bool { state.withLock { !$0.isPerforming && $0.work.isEmpty } }

    /// Remembers the bodies that a restored bridge asks for by their keys.
    package func remember(_ calls: [StoredCall]) {
        state.withLock { state in
            for call in calls {
                state.forget(call.key)
                state.storedCalls[call.key] = call
                state.storedBytes += call.heldBytes
            }
        }
    }

    /// Bytes held here and in the journal, for the memory ledger.
    package var heldBytes: HeldBytes {
        state.withLock { state in
            var held = HeldBytes()
            (held.lanes, held.texts) = (state.bridge.heldInLanes, state.bridge.heldTexts)
            held.storedCalls = state.storedBytes
            held.journal = edges.journal?.heldBytes ?? 0
            return held
        }
    }

    package var relayAddress: RelayAddress { relay.withLock { $0 } }

    package func use(token: Secret) {
        relay.withLock { $0 = RelayAddress(baseURL: $0.baseURL, token: token.text) }
    }

    /// Sets the timeout of later calls.
    package func use(callLimit limit: Duration) { callLimit.withLock { $0 = limit } }

    package func stop() { edges.alarm.stop() }

    // MARK: Orders

    /// True if the calling thread must carry the orders out.
    private func collect(_ state: inout State) -> Bool {
        if state.bridge.hasOrders {
            for order in state.bridge.takeOrders() { state.work.append(.order(order)) }
        }
        guard !state.isPerforming else { return false }
        state.isPerforming = true
        return true
    }

    private func perform() {
        while true {
            let work = state.withLock { state in
                let work = state.work
                state.work = []
                if work.isEmpty {
                    state.isPerforming = false
                    // Set the alarm under the lock: an older moment could otherwise replace a newer one.
                    setAlarm(&state)
                }
                return work
            }
            guard !work.isEmpty else { return }
            carryOut(work)
        }
    }

    /// A record and the call or command that waits for it are one job of the journal: neither is of use without the other.
    private func carryOut(_ work: [Work]) {
        var index = work.startIndex
        while index < work.endIndex {
            defer { index += 1 }
            guard case .order(.keep(let kept, let durability)) = work[index], index + 1 < work.endIndex else {
                carryOut(work[index])
                continue
            }
            switch work[index + 1] {
            case .order(.attempt(let attempt)) where attempt.turn == kept.record.id && attempt.isSavedFirst:
                index += 1
                attemptCall(attempt, keeping: (kept.record, durability))
            case .order(.commandToKeep(let number, let command)):
                index += 1
                pass(command, number, keeping: kept.record)
            case .order, .whenKept: carryOut(work[index])
            }
        }
    }

    private func setAlarm(_ state: inout State) {
        let moment = state.bridge.nextWake
        guard moment != state.wake else { return }
        state.wake = moment
        edges.alarm.set(moment) { [weak self] in
            self?.state.withLock { $0.wake = nil }
            self?.tell { bridge, now in bridge.timePassed(at: now) }
        }
    }

    private func carryOut(_ work: Work) {
        switch work {
        case .order(.attempt(let attempt)): attemptCall(attempt)
        case .order(.commandToKeep(let number, let command)): pass(command, number)
        case .order(.owe(let obligation, let since)): keep(obligation, since)
        case .order(.fulfilled(let obligation)):
            edges.journal?.submit([OwedRecord.entry(of: obligation)], .written, done: nil)
        case .order(.turnClosed(let turn, let outcome)):
            state.withLock { $0.notKept[turn] = nil }
            let beside = edges.besideEnd?(turn, outcome) ?? []
            edges.journal?.submit(
                beside + [.closed(turn, outcome: outcome.rawValue, wall: edges.clock.wallMilliseconds)], .written,
                done: nil)
            observe(.turnClosed(turn, outcome))
        case .order(.keep(let kept, let durability)): keep(kept.record, durability)
        case .order(.keepHome(let chat, let home)): keep(home, of: chat)
        case .order(let order): observe(order)
        case .whenKept(let done):
            guard let journal = edges.journal else { return done(nil) }
            settle(in: journal, done)
        }
    }

    /// Writes failed records again in the same job: an empty job that succeeds would say nothing about them.
    private func settle(in journal: any TurnJournal, _ done: @escaping @Sendable (JournalFailure?) -> Void) {
        let records = state.withLock { state in state.notKept.keys.compactMap { state.bridge.record(of: $0) } }
        journal.submit(records.flatMap { entries(of: $0) }, .synced) { [weak self] failure in
            guard let self, failure == nil else { return done(failure) }
            for record in records { wereKept(record.parts, of: record.id) }
            let (left, isNew) = state.withLock { state in
                for record in records { state.notKept[record.id] = nil }
                return (state.notKept.values.first, state.notKept.keys.contains { state.bridge.record(of: $0) != nil })
            }
            // Another record failed while this job was under way.
            if isNew { return settle(in: journal, done) }
            done(
                left.map { _ in
                    JournalFailure(.conflict, "a record is written together with the call that it waits for")
                })
        }
    }

    private func keep(_ record: TurnRecord, _ durability: Durability) {
        edges.journal?.submit(entries(of: record), durability) { [weak self] in self?.kept(record, $0) }
    }

    /// A record that failed to write stays due until the next save.
    private func kept(_ record: TurnRecord, _ failure: JournalFailure?) {
        state.withLock { $0.note(record.id, notKept: failure) }
        guard let failure else { return wereKept(record.parts, of: record.id) }
        unwritable(failure)
        tell { bridge, _ in bridge.wasNotKept(record.id) }
    }

    private func wereKept(_ parts: KeptParts, of turn: TurnID) {
        guard let last = parts.pending.last?.number else { return }
        state.withLock { $0.bridge.partsWereKept(of: turn, through: last) }
    }

    /// The record and its pending parts as one job, so that neither is stored without the other.
    private func entries(of record: TurnRecord) -> [JournalEntry] {
        let bytes = RecordEnvelope.bytes(
            of: record, now: edges.clock.now, wall: edges.clock.wallMilliseconds, sealer: edges.sealer)
        let parts = record.parts.pending.map { part in
            JournalEntry.part(
                record.id, number: part.number,
                content: RecordEnvelope.bytes(
                    of: part, isSealed: record.opening.sealing.isSealed, sealer: edges.sealer))
        }
        return parts + [.turn(record.id, record: bytes, place: record.place)]
    }

    /// Stores the command before its first byte leaves (DESIGN.md#a-runs-journey), then asks the bridge again: a Stop may have come meanwhile.
    private func pass(_ command: AgentCommand, _ number: CommandNumber, keeping record: TurnRecord? = nil) {
        let kept: @Sendable () -> Void = { [self] in tell { bridge, now in bridge.commandKept(number, at: now) } }
        guard let journal = edges.journal else { return kept() }
        var entries = record.map { self.entries(of: $0) } ?? []
        guard case .send(let turn, _, let run, let message) = command else {
            // A person's decision leaves even if its record could not be written.
            return journal.submit(entries, entries.isEmpty ? .written : .synced) { [self] failure in
                if let record { self.kept(record, failure) }
                kept()
            }
        }
        entries.append(.event(turn, "handed over as run \(run)", wall: edges.clock.wallMilliseconds))
        journal.submit(entries, .synced) { [self] failure in
            if let record { self.kept(record, failure) }
            guard let failure else { return passOn(number, in: message.folder) }
            if record == nil { unwritable(failure) }
            tell { bridge, now in bridge.commandNotKept(number, sentence: Self.notSentSentence(failure), at: now) }
        }
    }

    // MARK: Calls

    private func attemptCall(_ attempt: CallAttempt, keeping kept: (record: TurnRecord, Durability)? = nil) {
        switch attempt.payload {
        case .fresh(let call):
            guard let body = body(of: call, attempt) else {
                if let kept { keep(kept.record, kept.1) }
                return
            }
            guard let journal = edges.journal, attempt.isSavedFirst, let key = call.key,
                var durability = attempt.durability
            else { return send(attempt, RelayEncoder.path(of: call), body, RelayDecoder.expected(of: call)) }
            // Intent goes to disk, with key and exact bytes, before the wire.
            let stored = StoredCall(
                turn: attempt.turn, key: key, name: RecordEnvelope.bytes(of: attempt.name),
                path: RelayEncoder.path(of: call), body: body, endOffset: attempt.name.endOffset,
                wall: edges.clock.wallMilliseconds)
            if kept?.1 == .synced { durability = .synced }
            let record = kept?.record
            journal.submit((record.map { entries(of: $0) } ?? []) + [.call(stored)], durability) { [self] failure in
                if let record { state.withLock { $0.note(record.id, notKept: failure) } }
                guard let failure else {
                    if let record { wereKept(record.parts, of: record.id) }
                    return send(attempt, stored.path, body, RelayDecoder.expected(of: call))
                }
                let keyIsTaken = failure.code == .conflict
                if !keyIsTaken { unwritable(failure) }
                tell { bridge, now in
                    if let record { bridge.wasNotKept(record.id) }
                    bridge.couldNotSave(attempt.call, keyIsTaken: keyIsTaken, at: now)
                }
            }
        case .stored(let key):
            guard let stored = state.withLock({ $0.storedCalls[key] }) else {
                return answer(attempt, RelayAnswer(.unknown(reason: "the stored call is not in the journal")))
            }
            send(attempt, stored.path, stored.body, attempt.name.makesMessage ? .message : .nothing)
        }
    }

    private func send(_ attempt: CallAttempt, _ path: String, _ body: [UInt8], _ expected: RelayDecoder.Expected) {
        let begun = edges.clock.now
        if attempt.name.isText, attempt.attempt == 1 { edges.meter?.sentText(after: begun - attempt.since) }
        if attempt.isMarked { tell { bridge, now in bridge.openLeft(attempt.turn, at: now) } }
        let relay = relayAddress
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + path, headers: relay.headers, body: body,
            timeout: callLimit.withLock { $0 })
        let completion: @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void = { [self] result in
            let answer = RelayDecoder.answer(to: result, expecting: expected, wall: edges.clock.wallMilliseconds)
            note(attempt, answer, begun)
            self.answer(attempt, answer)
        }
        guard attempt.isFollowed else { return edges.http.send(request, completion: completion) }
        edges.http.send(request, meanwhile: { [self] in prepareNext(behind: attempt.call) }, completion: completion)
    }

    /// Makes the body of the next call while the relay works on this one.
    private func prepareNext(behind call: CallID) {
        guard let next = state.withLock({ $0.bridge.callAhead(behind: call) }),
            let body = Self.body(of: next.call, next.seal, edges.sealer)
        else { return }
        state.withLock { $0.bridge.keep(body, of: next.call, behind: call) }
    }

    /// Seals the call's body once; each later try sends these bytes. Nil if it could not be sealed, and the call is not made.
    private func body(of call: RelayCall, _ attempt: CallAttempt) -> [UInt8]? {
        if let body = attempt.body { return body }
        let made = Self.body(of: call, attempt.seal, edges.sealer)
        guard attempt.seal != nil else { return made }
        guard let made else {
            tell { bridge, now in bridge.couldNotSeal(attempt.call, at: now) }
            return nil
        }
        return state.withLock { $0.bridge.keepSealed(made, of: attempt.call) }
    }

    private static func body(of call: RelayCall, _ seal: CallSeal?, _ sealer: TurnSealer?) -> [UInt8]? {
        guard let seal else { return RelayEncoder.body(of: call) }
        return sealer?.seal(call, under: seal).map { RelayEncoder.body(of: call, sealed: $0) }
    }

    private func note(_ attempt: CallAttempt, _ answer: RelayAnswer, _ begun: Instant) {
        guard let journal = edges.journal, let key = attempt.payload.key else { return }
        let milliseconds = (edges.clock.now - begun).nanoseconds / 1_000_000
        let entry = CallTry(
            turn: attempt.turn, key: key, attempt: attempt.attempt, result: answer.outcome.words,
            isDelivered: answer.outcome.isDelivered, request: answer.request, milliseconds: Int(milliseconds),
            wall: edges.clock.wallMilliseconds)
        journal.submit([.tried(entry)], .written, done: nil)
    }

    private func answer(_ attempt: CallAttempt, _ answer: RelayAnswer) {
        answered(attempt, answer)
        if let meter = edges.meter, attempt.name == .open, answer.outcome.isDelivered { tell(meter, of: attempt.turn) }
        var random = RandomAdapter(source: edges.random)
        tell { bridge, now in bridge.answered(attempt.call, with: answer, at: now, using: &random) }
        // Drop the stored body after any answer, unless the same call is tried again.
        if case .stored(let key) = attempt.payload {
            state.withLock { state in if !state.bridge.isPending(attempt.call) { state.forget(key) } }
        }
    }

    /// The histogram counts messages alone: a mirrored run has no sender who waits.
    private func tell(_ meter: Meter, of turn: TurnID) {
        let opening = state.withLock { $0.bridge.turn(turn)?.opening }
        if let opening, opening.message != nil { meter.opened(after: edges.clock.now - opening.receivedAt) }
    }
}
