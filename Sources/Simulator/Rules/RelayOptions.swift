package struct RelayOptions: Sendable, Hashable {
    package struct BucketShape: Sendable, Hashable {
        package var capacity: Double
        package var refillPerSecond: Double

        package init(capacity: Double, refillPerSecond: Double) {
            self.capacity = capacity
            self.refillPerSecond = refillPerSecond
        }
    }

    package struct Socket: Sendable, Hashable {
        /// Effect of a second connection on the first. The documentation does not name it and
        /// knows only that both can exist (relay.md#delivery-ack-replay).
        package enum Newcomer: Sendable, Hashable { case replaces, joins }

        /// 25 s, because the reference bridge cannot live with the documented 30 s (relay.md#where-the-sources-disagree).
        package var pingMilliseconds: Int64 = 25_000
        package var pongMilliseconds: Int64 = 10_000
        package var missedPongLimit = 3
        package var resendMilliseconds: Int64 = 5_000
        /// Number of waiting updates that go out at a time.
        package var window = 256
        package var newcomer = Newcomer.replaces
        package var connectionLimit = 16
        /// The documentation names 4001 only; these codes are ours.
        package var replacedCode = 4000
        package var revokedCode = 4003
        /// A file of 1.5 MiB is 2 MiB in base64 (relay.md#size-limits); a longer message ends the connection.
        package var messageLimit = 4 << 20
        /// Number of requests to the bridge. Beyond it the oldest are forgotten.
        package var requestLimit = 1_000
        /// Bytes of kept answers.
        package var answerLimit = 64 << 20

        package init() {}
    }

    /// Treatment of the approvals that a bridge requests (relay.md#requestapproval).
    package struct Cards: Sendable, Hashable {
        /// Life of a card whose bridge names none.
        package var lifetimeMilliseconds: Int64 = 5 * 60_000
        package var longestLifetimeMilliseconds = 30 * 60_000
        /// Whether the relay accepts `expires_in_ms`. A strict one refuses fields that it does not know; only the RFC has this one.
        package var knowsLifetime = true
        /// `reason` of an expired card. No document names the word.
        package var expiryReason = "expired"
        /// Number of cards in an hour; further ones are denied at once. Nil if only the bucket limits them.
        package var hourlyLimit: Int?
        package var limitReason = "limit"

        package init() {}
    }

    /// The two forms of pairing that the sources describe (relay.md#pairing-the-shipping-form, relay.md#pairing-the-documented-form, D1).
    package enum PairingForm: Sendable, Hashable { case shipping, documented }

    package var socket = Socket()
    package var cards = Cards()
    /// Form of the answers, or nil for that of the bridge's request. A request in both forms gets the shipping one.
    package var pairingForm: PairingForm?
    package var pairingLifetimeMilliseconds: Int64 = 120_000
    package var pairingLimit = 256
    /// A bridge runs in the same process and needs no socket.
    package var hasBridgeInside = false
    package var bridgeToken = "inst_Simulator0000001:s_test_0123456789abcdefghijklmnopqrstuv"
    package var installation = "inst_Simulator0000001"
    package var userToken = "usr_test_0123456789abcdefghijklmnop"
    package var user = "usr_simulator"
    /// Seed of the ids: a run with the same seed reads the same.
    package var seed: UInt64 = 1
    /// relay.md#buckets.
    package var buckets: [String: BucketShape] = [
        "msg": BucketShape(capacity: 30, refillPerSecond: 10),
        "delta": BucketShape(capacity: 200, refillPerSecond: 100),
        "task": BucketShape(capacity: 60, refillPerSecond: 30),
        "approval": BucketShape(capacity: 10, refillPerSecond: 2),
        "memory": BucketShape(capacity: 60, refillPerSecond: 20),
        "default": BucketShape(capacity: 30, refillPerSecond: 10),
    ]
    /// Whether deviations of the sample connectors are accepted with a warning instead of refused.
    package var acceptsSamples = false
    package var followUpWindowMilliseconds: Int64 = 30 * 60_000
    /// Time after which a deleted session is forgotten (relay.md#rest).
    package var deletionGraceMilliseconds: Int64 = 24 * 3_600_000
    package var ringEvents = 256
    /// Whether events are kept for judges, which need even those that the ring has lost; they call `takeAllPhoneEvents`.
    package var keepsAllEvents = false
    package var ringMilliseconds: Int64 = 5 * 60_000
    package var keyLifetimeMilliseconds: Int64 = 24 * 3_600_000
    /// Number of kept keys, the newest (and up to 1,024 more).
    package var keyLimit = 16_384
    /// Bytes of kept keys, bodies and answers.
    package var keyByteLimit = 64 << 20
    /// Number of breaches kept one by one; pending updates have a limit of their own.
    package var breachLimit = 10_000
    /// Number of kept decided approvals, the newest.
    package var approvalLimit = 1_000
    package var memoryLimit = 1_000
    /// Number of phones, revoked ones included.
    package var deviceLimit = 256
    package var announcedFileLimit = 10_000
    /// Number of bridge calls kept for watchers.
    package var callLogLimit = 0
    package var updateLimit = 10_000
    /// Age at which updates are dropped while no bridge is connected, or nil to keep them (relay.md#where-the-sources-disagree).
    package var updateLifetimeMilliseconds: Int64?

    package init() {}
}

extension RelayOptions {
    /// The same options with random tokens of the same forms, known to this process alone: for a relay in
    /// front of a real agent, which anyone with the fixed tokens above could command.
    package func withSecretTokens(using random: inout some RandomNumberGenerator) -> RelayOptions {
        var options = self
        options.bridgeToken = "\(installation):s_test_\(Self.secret(32, using: &random))"
        options.userToken = "usr_test_\(Self.secret(26, using: &random))"
        return options
    }

    private static func secret(_ length: Int, using random: inout some RandomNumberGenerator) -> String {
        let characters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
        return String((0..<length).map { _ in characters[Int(random.next(upperBound: UInt(characters.count)))] })
    }

    /// Buckets for load tests, so wide that no call is refused.
    package var withoutLimits: RelayOptions {
        var options = self
        options.buckets = options.buckets.mapValues { _ in
            BucketShape(capacity: 1_000_000_000, refillPerSecond: 1_000_000_000)
        }
        return options
    }
}
