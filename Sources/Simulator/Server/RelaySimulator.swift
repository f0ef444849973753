package import LocalServer
import Locking
package import RelayRules

/// The relay to develop against: the rules of `RelayRules` behind a real socket, with faults on demand.
///
/// The simulator is a public tool and knows no bridge in particular. One lock protects the rules. Every change is
/// published inside that lock to the phones on the event stream: replay and live meet without a hole or a
/// repeat. Subscribers in the same process hear of it after the lock, in order.
package final class RelaySimulator: Sendable {
    package struct Settings: Sendable {
        package var listen = "127.0.0.1:0"
        package var relay = RelayOptions()
        /// Delay of every answer, as from a distant relay.
        package var answerDelayMilliseconds = 0
        package var allowsOtherMachines = false
        /// Host names for clients, besides `localhost` and numeric addresses.
        package var names: [String] = []
        /// Store of the state, or nil to keep it in memory alone.
        package var store: StateStore?
        /// Receives a sentence when the relay fails to come up after a restart, and when it succeeds later.
        package var trouble: @Sendable (String) -> Void = { _ in }

        package init() {}
    }

    package struct UserMessage: Hashable, Sendable {
        package var session: String
        package var interaction: String
        package var message: String
    }

    let settings: Settings
    let clock: SimulatorClock
    let state: Locked<SimulatorState>
    let server = Locked<LocalServer?>(nil)
    let keeper: StateKeeper?

    package convenience init(settings: Settings = Settings(), clock: SimulatorClock = .system) {
        self.init(settings, clock, Relay(options: Self.options(settings)))
    }

    /// Continues a stored state.
    package convenience init(
        settings: Settings, clock: SimulatorClock = .system, state: [UInt8]
    ) throws(RelayStateFault) {
        var relay = try Relay(state: state, options: Self.options(settings))
        // The writer may have been killed before it stored the last ids.
        relay.skipNamesInDoubt()
        self.init(settings, clock, relay)
    }

    private init(_ settings: Settings, _ clock: SimulatorClock, _ relay: Relay) {
        self.settings = settings
        self.clock = clock
        keeper = settings.store.map { StateKeeper($0, clock: clock) }
        state = Locked(SimulatorState(relay: relay))
    }

    private static func options(_ settings: Settings) -> RelayOptions {
        var options = settings.relay
        options.callLogLimit = max(options.callLogLimit, watchedCalls)
        return options
    }

    /// Listens until `stop`. A stopped simulator can start again and still knows everything.
    package func start() throws(LocalServerError) {
        try listen(on: settings.listen)
        state.withLock { $0.isRunning = true }
        keepTime(second: 1)
    }

    func listen(on address: String) throws(LocalServerError) {
        var serverSettings = LocalServer.Settings()
        serverSettings.allowsOtherMachines = settings.allowsOtherMachines
        serverSettings.names = settings.names
        serverSettings.refusal = { [weak self] in self?.refusal(status: $0, $1) ?? .text($0, $1) }
        let new = try LocalServer(listen: address, settings: serverSettings) { request in
            self.answer(request)
        }
        try new.start()
        server.withLock { $0 = new }
    }

    /// Stops listening and writes the state. Returns nil, or the reason and remedy if the write failed.
    @discardableResult
    package func stop() -> String? {
        state.withLock { $0.isRunning = false }
        let last = server.withLock { server in
            defer { server = nil }
            return server
        }
        last?.stop()
        return keeper?.saveNow(self)
    }

    /// `http://127.0.0.1:8787`, without a slash at the end.
    package var baseURL: String { server.withLock { $0 }?.baseURL ?? "" }
    /// Address for bridges: `ws://127.0.0.1:8787/v1/bridge/ws`.
    package var socketURL: String { "ws" + baseURL.dropFirst("http".count) + "/v1/bridge/ws" }
    /// The page that behaves like the phone, with the user's token in a part that no server sees.
    package var phoneURL: String { PhonePage.url(base: baseURL, userToken: userToken) }
    package var port: Int { server.withLock { $0 }?.port ?? 0 }
    package var bridgeToken: String { settings.relay.bridgeToken }
    package var userToken: String { settings.relay.userToken }

    /// Runs the relay's own deadlines once a second. Every fifteenth time, idle phones receive a comment.
    private func keepTime(second: Int) {
        clock.after(1_000) { [weak self] in
            guard let self, state.withLock({ $0.isRunning }) else { return }
            let now = clock.now()
            change(isTick: true) { state in
                state.relay.tick(at: now)
                if second % 15 == 0 { state.comment() }
            }
            keepTime(second: second + 1)
        }
    }

    // MARK: - In the same process

    /// The user writes. A missing session is made.
    @discardableResult
    package func userSends(text: String, session: String? = nil) -> UserMessage {
        let now = clock.now()
        return change { state in
            let sent = state.relay.userSends(text: text, session: session, at: now)
            return UserMessage(session: sent.session, interaction: sent.interaction, message: sent.message)
        }
    }

    /// The user presses Stop. Without an interaction it means the whole session.
    package func userStops(session: String, interaction: String? = nil) {
        let now = clock.now()
        change { $0.relay.userStops(session: session, interaction: interaction, at: now) }
    }

    /// The user decides: `approve`, `approve_always` or `deny`. False if no such approval is open.
    @discardableResult
    package func decide(approval: String, decision: String) -> Bool {
        let now = clock.now()
        return change { $0.relay.userDecides(approval: approval, decision, at: now) }
    }

    /// Calls the handler for each event that the phone would see, in order, one at a time. It runs on the thread that
    /// caused the event, often the server's, and must not block; it may call the simulator. A handler that falls behind by
    /// more than the relay's ring misses events that the ring has dropped, like a phone.
    package func onEvent(_ handler: @escaping @Sendable (PhoneEvent) -> Void) {
        state.withLock { $0.subscribe(events: handler) }
    }

    /// Calls the handler for each update that waits for the bridge, once. The update is pending until it is acknowledged.
    package func onUpdate(_ handler: @escaping @Sendable (PendingUpdate) -> Void) {
        state.withLock { $0.subscribe(updates: handler) }
        announce()
    }

    /// Sets a bridge in the same process in place of one on a socket. The handler answers the phone's requests, a type such
    /// as `models.list.req` with its fields, by the members of the answer; both are JSON objects.
    package func onQuestion(_ handler: @escaping @Sendable (_ type: String, _ fields: [UInt8]) -> String) {
        state.withLock { $0.questionHandler = handler }
    }

    package func acknowledge(upTo update: String) { change { $0.relay.acknowledge(upTo: update) } }

    package func plan(_ fault: Fault) { change { $0.relay.plan(fault) } }

    package var breaches: [Breach] { state.withLock { $0.relay.breaches } }
    /// Deviations of samples that a strict relay refuses, once for each method.
    package var warnings: [Warning] { state.withLock { $0.relay.warnings } }
    package var tally: Tally { state.withLock { $0.relay.tally } }
    package var pendingApprovals: [PhoneApproval] { state.withLock { $0.relay.pendingApprovals } }
    package var sessions: [PhoneSession] { state.withLock { $0.relay.sessions } }
    /// Pairing polls that are held back now.
    package var waitingPollCount: Int { state.withLock { $0.waitingPolls.count } }
    /// Phones on the event stream now.
    package var readerCount: Int { state.withLock { $0.readerCount } }

    // MARK: - Changes

    /// Every change of the relay passes through here, and all listeners hear of it.
    ///
    /// A tick changes the relay only if one of its deadlines has passed.
    @discardableResult
    func change<Result: Sendable>(isTick: Bool = false, _ body: (inout SimulatorState) -> Result) -> Result {
        let now = clock.now()
        let (result, orders, rest, isChanged) = state.withLock { state in
            let before = isTick ? state.relay.sizes : []
            let result = body(&state)
            state.answerWaitingPolls(at: now)
            state.answerWaitingViews(at: now)
            state.relay.tellStanding(at: now)
            state.publish()
            state.carryOutSocketInstructions()
            return (
                result, state.takeEdgeOrders(), state.tellWatchers(at: now), !isTick || before != state.relay.sizes
            )
        }
        if isChanged { keeper?.changed(self) }
        if let rest { lookAtBuckets(after: rest) }
        announce()
        if !orders.isEmpty { carryOut(orders) }
        return result
    }

    private func announce() {
        var next = state.withLock { $0.nextAnnouncement(continuing: false) }
        while let announcement = next {
            for event in announcement.events { for handler in announcement.eventHandlers { handler(event) } }
            for update in announcement.updates { for handler in announcement.updateHandlers { handler(update) } }
            next = state.withLock { $0.nextAnnouncement(continuing: true) }
        }
    }
}
