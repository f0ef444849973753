package import AgentKit
import Locking
package import Vocabulary

/// Carries one machine: its channels, its work and its timer, with no decision of its own.
///
/// - Events come from any thread and are handled one at a time, with the current time. Orders are carried out in the order of their
///   making, outside the lock, by the first thread that finds no other doing so.
/// - All that a socket or a child still says after the machine has closed its channel is dropped, by its number.
/// - The machine has its past before its first command.
/// - Each work and each query is answered once, by its deadline; works beyond the bounds of `WorkTable` are refused.
/// - The reading clock stands while reading is paused, so its deadlines wait as well (`ReadingClock`).
/// - A machine that keeps a deadline in the past is called again after `leastPause`, not at once.
/// - After `shutDown` no command is handled and no channel is opened; `isClosed` once nothing is open or being written.
package final class AgentRunner<Machine: AgentMachine & ~Copyable>: AgentLink {
    enum Phase { case running, closing, stopped }

    private static var leastPause: Duration { .milliseconds(100) }

    final class State {
        var machine: Machine
        var phase = Phase.running
        /// Commands that came before the machine had its past, or nil once it has.
        var early: [AgentCommand]? = []
        var channels = ChannelTable()
        var seats = Seats()
        var works = WorkTable()
        var queries = QueryTable()
        /// Orders of the current frame. The hot path reuses one array for all frames.
        var fresh: [AgentOrder] = []
        var steps: [AgentStep] = []
        var isPerforming = false
        var wake: Instant?
        /// Time of the last alarm.
        var rang: Instant?
        var pressure = Pressure()
        var reading = ReadingClock()
        var random: SeededGenerator
        /// Processes of this agent in the journal (`AgentLink.processes`).
        var processes: Set<ProcessName> = []

        init(_ machine: consuming sending Machine, random: SeededGenerator) {
            self.machine = machine
            self.random = random
        }
    }

    let state: Locked<State>
    let edges: AgentEdges
    let outlets: AgentOutlets
    let kept: KeptFacts
    let complaints = Locked(ComplaintLimit())
    let settings: @Sendable () -> Machine.Settings?

    package init(
        _ machine: consuming sending Machine, edges: AgentEdges, outlets: AgentOutlets,
        settings: @escaping @Sendable () -> Machine.Settings?
    ) {
        state = Locked(State(machine, random: SeededGenerator(seed: edges.random.next())))
        self.edges = edges
        self.outlets = outlets
        self.settings = settings
        kept = KeptFacts(edges.kind)
    }

    // MARK: For the service

    package func begin(_ past: AgentPast) {
        let past = kept.past(past.facts, turns: past.turns)
        state.withLock { $0.processes.formUnion(past.processes) }
        if !past.turns.isEmpty { complaints.withLock { $0.prompted() } }
        let mayPerform = state.withLock { state in
            guard state.phase != .stopped else { return false }
            let early = state.early ?? []
            state.early = nil
            var orders = state.machine.begin(past, occasion(state))
            if state.phase == .running {
                for command in early { orders += state.machine.command(command, occasion(state)) }
            }
            return collect(orders, state)
        }
        if mayPerform { perform() }
        forgetDead(past.processes)
    }

    package func check() { tell { machine, now in machine.check(now) } }
    package func slept() { tell { machine, now in machine.slept(now) } }

    @discardableResult
    package func command(_ command: AgentCommand) -> Bool {
        complaints.withLock { $0.prompted() }
        let (isTaken, mayPerform) = state.withLock { state in
            guard state.phase == .running else { return (false, false) }
            guard state.early == nil else {
                state.early?.append(command)
                return (true, false)
            }
            return (true, collect(state.machine.command(command, occasion(state)), state))
        }
        if mayPerform { perform() }
        return isTaken
    }

    package func query(_ query: AgentQuery, completion: @escaping @Sendable (AgentReply) -> Void) {
        let mayPerform = state.withLock { state in
            guard state.phase == .running else {
                state.steps.append(.answer(completion, .refused(message: "the bridge stops")))
                return takesTurn(state)
            }
            let id = state.queries.add(completion, at: edges.clock.now)
            return collect(state.machine.query(query, as: id, occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    package func renew() {
        guard let new = settings() else { return }
        tell { machine, now in machine.use(new, now) }
    }

    package func shutDown() {
        let mayPerform = state.withLock { state in
            guard state.phase == .running else { return false }
            state.phase = .closing
            return collect(state.machine.shutDown(occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    package var isClosed: Bool {
        state.withLock { $0.channels.isEmpty && !$0.works.isWriting && $0.steps.isEmpty && !$0.isPerforming }
    }

    package func stop() {
        edges.alarm.stop()
        let (lines, unanswered, waiting) = state.withLock { state in
            state.phase = .stopped
            return (state.channels.leave(), state.queries.leave(), state.seats.leave())
        }
        for ticket in waiting { edges.places?.leave(ticket) }
        for line in lines { line.cut() }
        for completion in unanswered { completion(.refused(message: "the bridge stops")) }
    }

    package var processes: [ProcessName] { state.withLock { Array($0.processes) } }

    // MARK: Back-pressure

    package var heldBytes: Int { state.withLock { $0.pressure.heldBytes + $0.machine.heldBytes } }

    package func holdReading(_ isHeld: Bool) {
        let mayPerform = state.withLock { state in
            state.pressure.isHeld = isHeld
            return collect([], state)
        }
        if mayPerform { perform() }
    }

    private func pauseOrResume(_ state: State) {
        guard state.pressure.concernsChannels else { return }
        for id in state.channels.ids {
            guard let channel = state.channels[id] else { continue }
            let mustPause = channel.mayPause && state.pressure.mustPause
            guard mustPause != channel.isPaused, let line = state.channels.line(channel.number) else { continue }
            state.channels[id]?.isPaused = mustPause
            line.pauseReading(mustPause)
        }
        state.pressure.isPausing = state.channels.ids.contains { state.channels[$0]?.isPaused == true }
        state.reading.stands(state.pressure.isPausing, at: edges.clock.now)
    }

    // MARK: Events

    private func occasion(_ state: State) -> Occasion {
        let now = edges.clock.now
        return Occasion(
            now: now, wallMilliseconds: edges.clock.wallMilliseconds, random: state.random.next(),
            read: state.reading.time(at: now))
    }

    func tell(_ event: (inout Machine, Occasion) -> [AgentOrder]) {
        let mayPerform = state.withLock { state in
            guard state.phase != .stopped else { return false }
            return collect(event(&state.machine, occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    func happened(_ event: ChannelEvent, on number: Int) {
        let mayPerform = state.withLock { state in
            guard state.phase != .stopped, let id = state.channels.channel(number) else { return false }
            return collect(state.machine.happened(event, on: id, occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    func received(_ frame: [UInt8], on number: Int) {
        let mayPerform = state.withLock { state in
            guard state.phase != .stopped, let id = state.channels.channel(number) else { return false }
            let now = occasion(state)
            frame.withUnsafeBytes {
                state.machine.received($0, capacity: frame.capacity, on: id, now, into: &state.fresh)
            }
            state.pressure.heldBytes += frame.count
            for index in state.fresh.indices { take(state.fresh[index], state) }
            state.fresh.removeAll(keepingCapacity: true)
            return collect([], state)
        }
        if mayPerform { perform() }
    }

    func ended(_ number: Int, _ event: ChannelEvent) {
        let mayPerform = state.withLock { state in
            guard let (id, unanswered) = state.channels.ended(number), state.phase != .stopped else { return false }
            refuse(unanswered, WorkFailure(.unreachable, "the channel has ended", mayHaveLanded: true), state)
            return collect(state.machine.happened(event, on: id, occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    func written(_ work: WorkID, on number: Int) {
        let mayPerform = state.withLock { state in
            guard let id = state.channels.channel(number),
                let index = state.channels[id]?.telling.firstIndex(of: work)
            else { return false }
            state.channels[id]?.telling.remove(at: index)
            return collect(state.machine.finished(work, .done, occasion(state)), state)
        }
        if mayPerform { perform() }
    }

    func finished(_ ticket: Int, _ result: WorkResult) {
        let (undoing, mayPerform) = state.withLock { state -> (Work?, Bool) in
            switch state.works.finished(ticket) {
            case .inTime(let id) where state.phase != .stopped:
                return (nil, collect(state.machine.finished(id, result, occasion(state)), state))
            case .late(let undoing): return (undoing, false)
            case .inTime, nil: return (nil, false)
            }
        }
        if let undoing, case .done = result { edges.work.carryOut(undoing) { _ in } }
        if mayPerform { perform() }
    }

    private func rang() {
        let mayPerform = state.withLock { state in
            state.wake = nil
            guard state.phase != .stopped else { return false }
            let now = occasion(state)
            state.rang = now.now
            let late = WorkFailure(.timedOut, "no answer in time", mayHaveLanded: true)
            var orders: [AgentOrder] = []
            for work in state.works.expired(at: now.now) {
                orders += state.machine.finished(work, .failed(late), now)
            }
            for completion in state.queries.expired(at: now.now) {
                state.steps.append(.answer(completion, .refused(message: "the agent did not answer in time")))
            }
            return collect(orders + state.machine.timePassed(now), state)
        }
        if mayPerform { perform() }
    }

    // MARK: Orders

    /// True if this thread must carry the orders out.
    private func collect(_ orders: [AgentOrder], _ state: State) -> Bool {
        for order in orders { take(order, state) }
        pauseOrResume(state)
        if state.works.mayStart {
            for start in state.works.starts(at: edges.clock.now) { state.steps.append(.start(start)) }
        }
        return takesTurn(state)
    }

    func takesTurn(_ state: State) -> Bool {
        guard !state.isPerforming else { return false }
        state.isPerforming = true
        return true
    }

    /// Binds each order to the number that its channel id has now: a later order may reuse the id.
    private func take(_ order: AgentOrder, _ state: State) {
        switch order {
        case .open(let id, let channel): open(id, channel, state)
        case .send(let id, let frame, let telling):
            guard let channel = state.channels[id], !channel.isInputClosed else {
                return refuse([telling].compactMap(\.self), WorkFailure(.unreachable, "the channel is closed"), state)
            }
            if let telling { state.channels[id]?.telling.append(telling) }
            state.steps.append(.send(channel.number, id, frame, telling))
        case .close(let id, .input):
            guard let channel = state.channels[id] else { return }
            state.channels[id]?.isInputClosed = true
            state.steps.append(.close(channel.number, .input))
        case .close(let id, let closing): close(id, closing, state)
        case .idle(let id, let isIdle):
            if let channel = state.channels[id] { state.steps.append(.idle(channel.number, isIdle)) }
        case .asks(let id, let chat):
            if let channel = state.channels[id] { state.steps.append(.asks(channel.number, chat)) }
        case .mayPause(let id, let mayPause): state.channels[id]?.mayPause = mayPause
        case .work(let id, let work):
            if !state.works.add(id, work) { refuse([id], WorkFailure(.full, "too much is under way"), state) }
        case .replied(let id, let reply):
            if let completion = state.queries.remove(id) { state.steps.append(.answer(completion, reply)) }
        case .readSettings: state.steps.append(.readSettings)
        case .cover(let secret): state.steps.append(.cover(secret))
        case .observed(let observations): state.steps.append(.tell(.observed(observations)))
        case .state(let news): state.steps.append(.tell(.state(news)))
        case .note(let note): state.steps.append(.tell(.note(note)))
        case .finding(let finding): state.steps.append(.tell(.finding(finding)))
        case .done: state.steps.append(.tell(.done))
        }
    }

    private func open(_ id: ChannelID, _ channel: Channel, _ state: State) {
        // The end of the bridge would have to wait for a channel that opens now.
        guard state.phase == .running else { return }
        if state.channels[id] != nil { close(id, .child(atOnce: true), state) }
        state.steps.append(.open(state.channels.opens(id, channel), id, channel))
    }

    private func close(_ id: ChannelID, _ closing: Closing, _ state: State) {
        guard let channel = state.channels[id] else { return }
        refuse(state.channels.closed(id), WorkFailure(.unreachable, "the channel was closed"), state)
        state.steps.append(.close(channel.number, closing))
    }

    /// A refusal is a step of its own, because the machine hears it between two events.
    private func refuse(_ works: [WorkID], _ failure: WorkFailure, _ state: State) {
        for work in works { state.steps.append(.refuse(work, failure)) }
    }

    func perform() {
        var carriedOut = 0
        while true {
            let steps = state.withLock { state in
                state.pressure.heldBytes -= carriedOut
                carriedOut = state.pressure.heldBytes
                // Without a step no byte is held.
                if state.steps.isEmpty { state.pressure.heldBytes = 0 }
                pauseOrResume(state)
                let steps = state.steps
                state.steps = []
                if steps.isEmpty {
                    state.isPerforming = false
                    setAlarm(state)
                }
                return steps
            }
            guard !steps.isEmpty else { return }
            for step in steps { carryOut(step) }
        }
    }

    private func setAlarm(_ state: State) {
        var moment = state.machine.nextDeadline
        if let next = state.machine.nextReadingDeadline.flatMap({ state.reading.moment(of: $0) }) {
            moment = min(next, moment ?? next)
        }
        // Asked after every frame: most machines have neither a work nor a query open.
        if let next = state.works.nextDeadline { moment = min(next, moment ?? next) }
        if let next = state.queries.nextDeadline { moment = min(next, moment ?? next) }
        // A machine that leaves a deadline in the past is defective, and must not take a whole core.
        if let rang = state.rang, let met = moment, met <= rang { moment = rang + Self.leastPause }
        guard moment != state.wake, state.phase != .stopped else { return }
        state.wake = moment
        edges.alarm.set(moment) { [weak self] in self?.rang() }
    }
}
