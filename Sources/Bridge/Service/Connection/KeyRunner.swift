import Locking
import RelayProtocol
package import Sealing
package import Vocabulary

/// Runner of `KeyRing`: locks, tells it the event, unlocks, and carries out its orders.
///
/// One thread at a time carries orders out, in the order they were made; a thread that finds another at this leaves its orders to it. A save is
/// handed on and answered later, so that no thread of a socket waits for the disk.
package final class KeyRunner: Sendable {
    package struct Edges: Sendable {
        package var http: any HTTPClient
        package var clock: any Clock
        package var alarm: any Alarm
        /// Source of keys and nonces.
        package var secrets: any SecretRandom
        /// Relay of the next call, read at each call since the token may have changed; nil without a connection.
        package var relay: @Sendable () -> RelayAddress?
        /// Writes both files and calls back: with true once the disk has them, with false if it cannot. Jobs come one at a time.
        package var save: @Sendable (StoredKeyRing, @escaping @Sendable (Bool) -> Void) -> Void
        package var callLimit = Duration.seconds(10)
        /// Name of this machine on the phone.
        package var label: String?

        package init(
            http: any HTTPClient, clock: any Clock, alarm: any Alarm, secrets: any SecretRandom,
            relay: @escaping @Sendable () -> RelayAddress?,
            save: @escaping @Sendable (StoredKeyRing, @escaping @Sendable (Bool) -> Void) -> Void
        ) {
            self.http = http
            self.clock = clock
            self.alarm = alarm
            self.secrets = secrets
            self.relay = relay
            self.save = save
        }
    }

    private struct State {
        var ring: KeyRing
        var orders: [KeyRingOrder] = []
        var isPerforming = false
        var wake: Instant?
    }

    private let state: Locked<State>
    private let edges: Edges
    private let handle: @Sendable (KeyRingOrder) -> Void

    /// `handle` receives the orders about updates, turns and people, in order.
    package init(_ ring: KeyRing, edges: Edges, handle: @escaping @Sendable (KeyRingOrder) -> Void) {
        state = Locked(State(ring: ring))
        self.edges = edges
        self.handle = handle
    }

    package func tell(_ event: (inout KeyRing, Instant, any SecretRandom) -> Void) {
        let mayPerform = state.withLock { state in
            event(&state.ring, edges.clock.now, edges.secrets)
            return collect(&state)
        }
        if mayPerform { perform() }
    }

    /// Tells an event that leads to no order. The caller may hold other locks.
    package func note(_ event: (inout KeyRing) -> Void) { state.withLock { event(&$0.ring) } }

    package func ask<Answer: Sendable>(_ question: (borrowing KeyRing) -> Answer) -> Answer {
        state.withLock { question($0.ring) }
    }

    package func stop() { edges.alarm.stop() }

    // MARK: Orders

    /// True if the calling thread must carry the orders out.
    private func collect(_ state: inout State) -> Bool {
        state.orders += state.ring.takeOrders()
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
                    setAlarm(&state)
                }
                return orders
            }
            guard !orders.isEmpty else { return }
            for order in orders { carryOut(order) }
        }
    }

    private func setAlarm(_ state: inout State) {
        let moment = state.ring.nextWake
        guard moment != state.wake else { return }
        state.wake = moment
        edges.alarm.set(moment) { [weak self] in
            self?.state.withLock { $0.wake = nil }
            self?.tell { ring, now, secrets in ring.timePassed(at: now, using: secrets) }
        }
    }

    private func carryOut(_ order: KeyRingOrder) {
        switch order {
        case .save(let stored, let revision):
            edges.save(stored) { [weak self] isSaved in
                self?.tell { ring, now, secrets in
                    if isSaved {
                        ring.saved(revision, at: now, using: secrets)
                    } else {
                        ring.notSaved(revision, at: now)
                    }
                }
            }
        case .register(let publicKey, let number):
            let body = KeyRingCalls.registration(publicKey: publicKey, label: edges.label)
            post(KeyRingCalls.registrationPath, body, expecting: .device) { ring, answer, now, _ in
                ring.registrationAnswered(number, KeyCallAnswer<RegistrationReceipt>(answer), at: now)
            }
        case .grant(let grant):
            guard let path = grant.path else {
                return tell { ring, now, secrets in
                    ring.grantAnswered(grant.number, .refused, at: now, using: secrets)
                }
            }
            post(path, grant.body, expecting: .nothing) { ring, answer, now, secrets in
                ring.grantAnswered(grant.number, KeyCallAnswer<GrantReceipt>(answer), at: now, using: secrets)
            }
        case .acknowledge, .letGo, .keyReady, .chatGranted, .tell: handle(order)
        }
    }

    private func post(
        _ path: String, _ body: [UInt8], expecting expected: RelayDecoder.Expected,
        answered: @escaping @Sendable (inout KeyRing, RelayAnswer, Instant, any SecretRandom) -> Void
    ) {
        guard let relay = edges.relay() else {
            let nobody = RelayAnswer(.unknown(reason: "the connection is closed"))
            return tell { ring, now, secrets in answered(&ring, nobody, now, secrets) }
        }
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + path, headers: relay.headers, body: body, timeout: edges.callLimit)
        edges.http.send(request) { [weak self] result in
            guard let self else { return }
            let answer = RelayDecoder.answer(to: result, expecting: expected, wall: edges.clock.wallMilliseconds)
            tell { ring, now, secrets in answered(&ring, answer, now, secrets) }
        }
    }
}
