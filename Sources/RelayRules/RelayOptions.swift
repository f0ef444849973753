package struct RelayOptions: Sendable, Hashable {
    package struct BucketShape: Sendable, Hashable {
        package var capacity: Double
        package var refillPerSecond: Double

        package init(capacity: Double, refillPerSecond: Double) {
            self.capacity = capacity
            self.refillPerSecond = refillPerSecond
        }
    }

    package var bridgeToken = "inst_Simulator0000001:s_test_0123456789abcdefghijklmnopqrstuv"
    package var installation = "inst_Simulator0000001"
    package var userToken = "usr_test_0123456789abcdefghijklmnop"
    package var user = "usr_simulator"
    /// Ids are drawn from it, so that a run reads the same every time.
    package var seed: UInt64 = 1
    /// Relay sheet 11.1.
    package var buckets: [String: BucketShape] = [
        "msg": BucketShape(capacity: 30, refillPerSecond: 10),
        "delta": BucketShape(capacity: 200, refillPerSecond: 100),
        "task": BucketShape(capacity: 60, refillPerSecond: 30),
        "approval": BucketShape(capacity: 10, refillPerSecond: 2),
        "default": BucketShape(capacity: 30, refillPerSecond: 10),
    ]
    package var refusesEmptyPlaceholder = true
    package var followUpWindowMilliseconds: Int64 = 30 * 60_000
    package var approvalLifetimeMilliseconds: Int64 = 5 * 60_000
    package var ringEvents = 256
    package var ringMilliseconds: Int64 = 5 * 60_000
    package var keyLifetimeMilliseconds: Int64 = 24 * 3_600_000
    /// Breaches, pending updates and finished approvals beyond these are no longer kept one by one.
    package var breachLimit = 10_000
    package var updateLimit = 10_000

    package init() {}
}
