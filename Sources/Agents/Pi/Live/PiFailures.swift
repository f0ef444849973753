import BridgeModel

/// What is wrong with the process.
struct PiFailures {
    /// Why it is to be killed, as soon as the event is dealt with.
    var doom: String?
    /// New for each event.
    var random: UInt64 = 0
    /// Starts that failed in a row.
    private var count = 0
    private var backOff = BackOff()

    mutating func forget() {
        backOff = BackOff()
        count = 0
    }

    /// Nil: it was tried often enough.
    mutating func next() -> Duration? {
        count += 1
        guard count < PiChat.startTries else { return nil }
        var random = SeededGenerator(seed: random)
        return backOff.next(using: &random)
    }
}
