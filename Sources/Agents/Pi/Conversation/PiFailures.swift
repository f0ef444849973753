import Vocabulary

/// What is wrong with the process.
struct PiFailures {
    /// Why it is to be killed, as soon as the event is dealt with.
    var doom: String?
    /// New for each event.
    var random: UInt64 = 0
    /// The pauses between starts that fail.
    private var backOff = BackOff.link

    mutating func forget() { backOff.succeeded() }

    /// Nil: it was tried often enough.
    mutating func next() -> Duration? {
        var random = SeededGenerator(seed: random)
        let pause = backOff.next(using: &random)
        return backOff.failures < PiChat.startTries ? pause : nil
    }
}
