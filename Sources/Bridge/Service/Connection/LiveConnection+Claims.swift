import BridgeCore
import Locking
import Vocabulary

// Messages that another bridge with this token may have taken (`Claim`).
extension LiveConnection {
    /// Takes up the mark of this state directory. The bits are new at the directory's first start, in a copy, and after each start of the machine:
    /// a clone of a running machine is a copy that only its next start reveals. After a start alone, messages from before it are still marked.
    /// A stored open keeps its bytes.
    func takeUpMark(_ settings: [String: [UInt8]]) {
        let (now, wall) = (clock.now, clock.wallMilliseconds)
        var mark: StateMark?
        if let place = condition.withLock({ $0.arriving.place }) {
            let known = MarkRecord.mark(in: settings)
            let own = MarkRecord.mark(known, at: place.name, start: place.start, wall: wall) {
                UInt32(truncatingIfNeeded: place.random.next())
            }
            if own != known { journal.submit([MarkRecord.entry(of: own)], .synced, done: nil) }
            mark = StateMark(bits: own.bits, since: MarkRecord.moment(own.since, now: now, wall: wall))
        }
        let other = MarkRecord.other(in: settings, now: now, wall: wall)
        condition.withLock { $0.arriving.mark = mark }
        runner?.tell { bridge, _ in bridge.use(mark: mark, known: other) }
    }

    func seen(_ other: OtherBridge, by turn: TurnID) {
        let entry = MarkRecord.entry(of: other, now: clock.now, wall: clock.wallMilliseconds)
        journal.submit([entry], .written, done: nil)
        tell(.anotherBridge(name, turn, messages: other.messages))
    }

    /// True if another bridge answers the message, so that the refusal is no fault.
    func isAnothers(_ attempt: CallAttempt, _ refusal: RelayRefusal) -> Bool {
        attempt.isMarked && refusal.isFinal && refusal.code == .idempotencyConflict
    }
}
