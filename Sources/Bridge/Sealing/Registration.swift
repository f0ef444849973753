package import Vocabulary

/// Makes this bridge known to the relay as a device, after each connect (relay.md#device-identity): a relay that has lost it, or
/// has another key of it, would have phones wrap their keys for a device that does not exist.
struct Registration: Sendable {
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
    /// The relay has said so on this link.
    private(set) var isCertain = false
    /// Of the newest call.
    private(set) var number = 0
    /// Calls before it were for another device or another installation.
    private var firstOfUse = 1
    /// False: phones are to find no device here that they could seal for.
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

    /// Whether the name is another one. An answer to a link that is gone still says what this bridge is called.
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
        grants.linkUp()
        grantOwed(at: now, using: random)
    }

    package mutating func linkDown() {
        registration.linkDown()
        grants.linkDown()
    }

    /// Where the configuration says `off`, this bridge does not make itself known.
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
