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
        /// What a second connection does to the first. The documentation does not say; it only knows that both can be (relay.md#delivery-ack-replay).
        package enum Newcomer: Sendable, Hashable { case replaces, joins }

        /// 25 s, because the reference bridge cannot live with the documented 30 s (relay.md#where-the-sources-disagree).
        package var pingMilliseconds: Int64 = 25_000
        package var pongMilliseconds: Int64 = 10_000
        package var missedPongLimit = 3
        package var resendMilliseconds: Int64 = 5_000
        /// Of the updates that wait only so many go out at a time.
        package var window = 256
        package var newcomer = Newcomer.replaces
        package var connectionLimit = 16
        /// The documentation names 4001 only; these are ours.
        package var replacedCode = 4000
        package var revokedCode = 4003
        /// A file of 1.5 MiB is 2 MiB in base64 (relay.md#size-limits); a longer message ends the connection.
        package var messageLimit = 4 << 20
        /// The oldest requests to the bridge beyond these are forgotten.
        package var requestLimit = 1_000
        /// So many bytes of answers are kept.
        package var answerLimit = 64 << 20

        package init() {}
    }

    /// What the relay makes of the approvals that a bridge asks for (relay.md#requestapproval).
    package struct Cards: Sendable, Hashable {
        /// The life of a card whose bridge names none.
        package var lifetimeMilliseconds: Int64 = 5 * 60_000
        package var longestLifetimeMilliseconds = 30 * 60_000
        /// False: `expires_in_ms` is refused, as a strict relay refuses a field that it does not know. The RFC alone has it.
        package var knowsLifetime = true
        /// The `reason` of a card that expires. No document names the word.
        package var expiryReason = "expired"
        /// So many cards in an hour: what is beyond is denied at once. Nil: as many as the bucket gives.
        package var hourlyLimit: Int?
        package var limitReason = "limit"

        package init() {}
    }

    /// The two forms of pairing that the sources describe (relay.md#pairing-the-shipping-form, relay.md#pairing-the-documented-form, D1).
    package enum PairingForm: Sendable, Hashable { case shipping, documented }

    package var socket = Socket()
    package var cards = Cards()
    /// Nil: in the form that the bridge asked in; if it asked in both, the shipping one.
    package var pairingForm: PairingForm?
    package var pairingLifetimeMilliseconds: Int64 = 120_000
    package var pairingLimit = 256
    /// A bridge in the same process needs no socket to be there.
    package var hasBridgeInside = false
    package var bridgeToken = "inst_Simulator0000001:s_test_0123456789abcdefghijklmnopqrstuv"
    package var installation = "inst_Simulator0000001"
    package var userToken = "usr_test_0123456789abcdefghijklmnop"
    package var user = "usr_simulator"
    /// Ids are drawn from it, so that a run reads the same every time.
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
    /// Whether what the sample connectors do against the documented rules is accepted with a warning, instead of refused.
    package var acceptsSamples = false
    package var followUpWindowMilliseconds: Int64 = 30 * 60_000
    /// A deleted session is gone for good after this (relay.md#rest).
    package var deletionGraceMilliseconds: Int64 = 24 * 3_600_000
    package var ringEvents = 256
    /// For judges, which must hear of what the ring has lost too; they take it with `takeAllPhoneEvents`.
    package var keepsAllEvents = false
    package var ringMilliseconds: Int64 = 5 * 60_000
    package var keyLifetimeMilliseconds: Int64 = 24 * 3_600_000
    /// Of the keys so many are kept, the newest (and up to 1,024 more).
    package var keyLimit = 16_384
    /// And no more than so many bytes of keys, bodies and answers.
    package var keyByteLimit = 64 << 20
    /// Breaches beyond these are no longer kept one by one; pending updates have a limit of their own.
    package var breachLimit = 10_000
    /// Of the approvals that are decided so many are kept, the newest.
    package var approvalLimit = 1_000
    package var memoryLimit = 1_000
    /// Of phones, those that were revoked among them.
    package var deviceLimit = 256
    package var announcedFileLimit = 10_000
    /// How many bridge calls are kept for watchers.
    package var callLogLimit = 0
    package var updateLimit = 10_000
    /// Updates older than this are dropped while no bridge is connected; nil: kept (relay.md#where-the-sources-disagree).
    package var updateLifetimeMilliseconds: Int64?

    package init() {}
}

extension RelayOptions {
    /// With random tokens of the same forms, known to this process alone: for a relay with a real agent behind it, to which
    /// anyone with the fixed tokens above could write.
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

    /// Buckets so wide that nothing is refused, for load.
    package var withoutLimits: RelayOptions {
        var options = self
        options.buckets = options.buckets.mapValues { _ in
            BucketShape(capacity: 1_000_000_000, refillPerSecond: 1_000_000_000)
        }
        return options
    }
}
