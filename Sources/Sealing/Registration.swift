package import BridgeModel

/// Makes this bridge known to the relay as a device, after each connect (relay.md#device-identity): a relay that has lost it, or
/// has another key of it, would have phones wrap their keys for a device that does not exist.
struct Registration: Sendable {
    private static let firstPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    enum State: Hashable, Sendable {
        /// The link is down. Can go to: `underWay`, when it is up.
        case idle
        /// Can go to: `waiting`, `done`; `idle` when the link is lost.
        case underWay
        /// Can go to: `underWay`, when it is time; `idle` when the link is lost.
        case waiting(until: Instant)
        /// Or refused for good: not again on this link. Can go to: `idle`, `underWay` with the next link.
        case done
    }

    private(set) var state = State.idle
    /// As the relay named it, now or in an earlier process.
    private(set) var deviceID: DeviceID?
    private var pause = Self.firstPause

    init(deviceID: DeviceID?) { self.deviceID = deviceID }

    var retryAt: Instant? { if case .waiting(let moment) = state { moment } else { nil } }
    func isDue(at now: Instant) -> Bool { retryAt.map { $0 <= now } ?? false }

    mutating func begin() { state = .underWay }

    mutating func linkDown() {
        state = .idle
        pause = Self.firstPause
    }

    /// Whether the name is another one. An answer to a link that is gone still says what this bridge is called.
    mutating func registered(as device: DeviceID) -> Bool {
        if state == .underWay { state = .done }
        pause = Self.firstPause
        defer { deviceID = device }
        return deviceID != device
    }

    mutating func failed(_ told: Duration?, at now: Instant) {
        guard state == .underWay else { return }
        state = .waiting(until: now + max(told ?? .zero, pause))
        pause = min(pause * 2, Self.longestPause)
    }

    mutating func refused() {
        if state == .underWay { state = .done }
    }
}

extension KeyRing {
    /// The relay's socket is open.
    package mutating func linkUp(at now: Instant, using random: some SecretRandom) {
        register(at: now)
        grants.linkUp()
        grantOwed(at: now, using: random)
    }

    package mutating func linkDown() {
        registration.linkDown()
        grants.linkDown()
    }

    mutating func register(at now: Instant) {
        registration.begin()
        order(.register(publicKey: publicKey))
    }

    package mutating func registrationAnswered(_ answer: KeyCallAnswer<RegistrationReceipt>, at now: Instant) {
        switch answer {
        case .delivered(let receipt):
            if receipt.keyChanged { order(.tell(.registeredAnew)) }
            if registration.registered(as: receipt.device) { changed(at: now) }
        case .later(let told): registration.failed(told, at: now)
        case .refused:
            registration.refused()
            order(.tell(.registrationRefused))
        }
    }
}
