package import Vocabulary

/// Registers this bridge as a device at the relay, after each connect (relay.md#device-identity). With a relay that lost the
/// device, or has another key of it, phones would wrap their keys for a device that does not exist.
struct Registration: Sendable {
    enum State: Hashable, Sendable {
        /// The link is down. Can go to: `underWay`, when it is up.
        case idle
        /// Can go to: `waiting`, `done`; `idle` when the link is lost.
        case underWay
        /// Can go to: `underWay`, when it is time; `idle` when the link is lost.
        case waiting(until: Instant)
        /// Registered, or refused for good on this link. Can go to: `idle`, `underWay` with the next link.
        case done
    }

    private(set) var state = State.idle
    /// Id from the relay, now or in an earlier process.
    private(set) var deviceID: DeviceID?
    /// Whether the relay has named the id on this link.
    private(set) var isCertain = false
    /// Number of the newest call.
    private(set) var number = 0
    /// Earlier calls were for another device or another installation.
    private var firstOfUse = 1
    /// Whether the bridge registers. Without it phones find no device here to seal for.
    var isWanted = true
    private var backOff = BackOff(first: .seconds(1), longest: .seconds(60))

    init(deviceID: DeviceID?) { self.deviceID = deviceID }

    var retryAt: Instant? { if isWanted, case .waiting(let moment) = state { moment } else { nil } }
    func isDue(at now: Instant) -> Bool { retryAt.map { $0 <= now } ?? false }

    mutating func begin() {
        number += 1
        state = .underWay
    }

    mutating func forget() {
        (deviceID, isCertain) = (nil, false)
        firstOfUse = number + 1
        if state != .idle { state = .done }
    }

    func isOfUse(_ number: Int) -> Bool { number >= firstOfUse }

    mutating func linkDown() {
        (state, isCertain) = (.idle, false)
        backOff.succeeded()
    }

    /// Whether the id changed. An answer to a lost link still names the bridge's id.
    mutating func registered(as device: DeviceID) -> Bool {
        if state == .underWay { (state, isCertain) = (.done, true) }
        backOff.succeeded()
        defer { deviceID = device }
        return deviceID != device
    }

    mutating func failed(_ told: Duration?, at now: Instant) {
        guard state == .underWay else { return }
        state = .waiting(until: now + max(told ?? .zero, backOff.next()))
    }

    mutating func refused() {
        if state == .underWay { state = .done }
    }
}

extension KeyRing {
    /// The relay's socket is open.
    package mutating func linkUp(at now: Instant, using random: some SecretRandom) {
        if registration.isWanted { register(at: now) }
        grants.linkUp(at: now)
        grantOwed(at: now, using: random)
    }

    package mutating func linkDown() {
        registration.linkDown()
        grants.linkDown()
    }

    /// If the configuration says `off`, this bridge does not register.
    package mutating func registers(_ isWanted: Bool, at now: Instant) {
        guard registration.isWanted != isWanted else { return }
        registration.isWanted = isWanted
        if isWanted, grants.isUp, registration.state == .idle { register(at: now) }
    }

    mutating func register(at now: Instant) {
        registration.begin()
        order(.register(publicKey: publicKey, number: registration.number))
    }

    package mutating func registrationAnswered(
        _ number: Int, _ answer: KeyCallAnswer<RegistrationReceipt>, at now: Instant
    ) {
        guard registration.isOfUse(number) else { return }
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
