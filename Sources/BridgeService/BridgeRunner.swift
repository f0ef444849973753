package import BridgeCore
package import BridgeModel
import Locking
import RelayProtocol

/// The other half of the machine `Bridge`: takes the lock, calls one method, leaves the lock, and does what the orders say.
///
/// Events may come from any thread. Orders are carried out in the order they were made, by whichever thread finds nobody
/// else at it; so a call's answer leads to the lane's next call on the HTTP client's own thread, without a hop.
package final class BridgeRunner: Sendable {
    package struct Edges: Sendable {
        package var http: any HTTPClient
        package var clock: any Clock
        package var alarm: any Alarm
        package var random: any RandomSource
        package var store: any Store

        package init(
            http: any HTTPClient, clock: any Clock, alarm: any Alarm, random: any RandomSource, store: any Store
        ) {
            self.http = http
            self.clock = clock
            self.alarm = alarm
            self.random = random
            self.store = store
        }
    }

    private final class State {
        var bridge: Bridge
        var orders: [BridgeOrder] = []
        var isPerforming = false
        /// What the alarm was set to last.
        var wake: Instant?

        init(_ bridge: consuming sending Bridge) { self.bridge = bridge }
    }

    private let state: Locked<State>
    private let edges: Edges
    private let relay: RelayAddress
    private let observe: @Sendable (BridgeOrder) -> Void
    private let answered: @Sendable (CallAttempt, RelayAnswer) -> Void

    /// `observe` hears every order that is not a relay call, in order; `answered` every answer of the relay.
    package init(
        settings: BridgeSettings, relay: RelayAddress, edges: Edges, observe: @escaping @Sendable (BridgeOrder) -> Void,
        answered: @escaping @Sendable (CallAttempt, RelayAnswer) -> Void = { _, _ in }
    ) {
        state = Locked(State(Bridge(settings: settings)))
        self.edges = edges
        self.relay = relay
        self.observe = observe
        self.answered = answered
    }

    /// Tells the bridge what happened, and does what it wants.
    package func tell(_ event: (inout Bridge, Instant) -> Void) {
        let now = edges.clock.now
        let mayPerform = state.withLock { state in
            event(&state.bridge, now)
            return collect(state)
        }
        if mayPerform { perform() }
    }

    package func ask<Answer: Sendable>(_ question: (borrowing Bridge) -> Answer) -> Answer {
        state.withLock { question($0.bridge) }
    }

    package func stop() { edges.alarm.stop() }

    // MARK: Orders

    /// True for the one thread that has to carry them out.
    private func collect(_ state: State) -> Bool {
        if state.bridge.hasOrders { state.orders += state.bridge.takeOrders() }
        guard !state.isPerforming else { return false }
        state.isPerforming = true
        return true
    }

    private func perform() {
        while true {
            let orders = state.withLock { state in
                let orders = state.orders
                state.orders = []
                if orders.isEmpty {
                    state.isPerforming = false
                    // Set while the lock is held: else an older moment could take the place of a newer one.
                    setAlarm(state)
                }
                return orders
            }
            guard !orders.isEmpty else { return }
            for order in orders { carryOut(order) }
        }
    }

    private func setAlarm(_ state: State) {
        let moment = state.bridge.nextWake
        guard moment != state.wake else { return }
        state.wake = moment
        edges.alarm.set(moment) { [weak self] in
            self?.state.withLock { $0.wake = nil }
            self?.tell { bridge, now in bridge.timePassed(at: now) }
        }
    }

    private func carryOut(_ order: BridgeOrder) {
        guard case .attempt(let attempt) = order else { return observe(order) }
        guard case .fresh(let call) = attempt.payload else {
            return answer(attempt, RelayAnswer(.unknown(reason: "the stored call is not in memory")))
        }
        let body = RelayEncoder.body(of: call)
        if let durability = attempt.durability, let key = call.key {
            // Intent goes to disk, with key and exact bytes, before the wire.
            let record = StoredRecord(turn: attempt.turn, name: key.text, bytes: body, durability: durability)
            do { try edges.store.save(record) } catch {
                return answer(attempt, RelayAnswer(.unknown(reason: "the call could not be stored: \(error)")))
            }
        }
        let request = HTTPRequest(
            method: "POST", url: relay.url(of: call), headers: relay.headers, body: body)
        let expected = RelayDecoder.expected(of: call)
        edges.http.send(request) { [self] result in
            let answer = RelayDecoder.answer(to: result, expecting: expected, wall: edges.clock.wallMilliseconds)
            self.answer(attempt, answer)
        }
    }

    private func answer(_ attempt: CallAttempt, _ answer: RelayAnswer) {
        answered(attempt, answer)
        var random = RandomAdapter(source: edges.random)
        tell { bridge, now in bridge.answered(attempt.call, with: answer, at: now, using: &random) }
    }
}

/// Where the relay is and who we are there.
package struct RelayAddress: Sendable, Hashable {
    package var baseURL: String
    let headers: [HTTPHeader]

    package init(baseURL: String, token: String) {
        self.baseURL = baseURL.hasSuffix("/") ? String(baseURL.dropLast()) : baseURL
        headers = [
            HTTPHeader("Authorization", "Bearer \(token)"), HTTPHeader("Content-Type", "application/json"),
        ]
    }

    func url(of call: RelayCall) -> String { baseURL + RelayEncoder.path(of: call) }
}

private struct RandomAdapter: RandomNumberGenerator {
    let source: any RandomSource
    mutating func next() -> UInt64 { source.next() }
}

/// Records for as long as the process lives: what replays need, since a replay is simply begun again.
package final class MemoryStore: Store {
    private let records = Locked<[TurnID: [StoredRecord]]>([:])

    package init() {}

    package func save(_ record: StoredRecord) { records.withLock { $0[record.turn, default: []].append(record) } }

    package func load() -> [StoredRecord] {
        records.withLock { $0.values.flatMap { Dictionary($0.map { ($0.name, $0) }) { $1 }.values } }
            .sorted { ($0.turn, $0.name) < ($1.turn, $1.name) }
    }

    package func remove(turn: TurnID) { records.withLock { $0[turn] = nil } }
}
