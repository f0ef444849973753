package import BridgeModel

/// What is known of a lane after a restart.
package struct LaneRecord: Hashable, Sendable {
    /// A call that was stored, perhaps tried, and never answered.
    package struct UnansweredCall: Hashable, Sendable {
        package var name: PostName
        package var key: IdempotencyKey

        package init(name: PostName, key: IdempotencyKey) {
            self.name = name
            self.key = key
        }
    }

    package var address: LaneAddress
    package var message: MessageID?
    /// Of the deltas to come: one more than that of the last life.
    package var epoch: Int
    /// How many deltas were sent, for the pace.
    package var deltas: Int
    /// Where the text that was sent ends, in UTF-8 bytes, the unanswered delta included.
    package var streamed: Int
    /// In the order they were stored. They go first, as they were.
    package var unanswered: [UnansweredCall]
    /// Nothing goes out any more but whole messages.
    package var ended: Bool

    package init(
        address: LaneAddress, message: MessageID?, epoch: Int, deltas: Int = 0, streamed: Int = 0,
        unanswered: [UnansweredCall] = [], ended: Bool = false
    ) {
        self.address = address
        self.message = message
        self.epoch = epoch
        self.deltas = deltas
        self.streamed = streamed
        self.unanswered = unanswered
        self.ended = ended
    }
}

extension Lane {
    /// What a journal that keeps all that is stored would know now.
    var record: LaneRecord {
        var unanswered: [LaneRecord.UnansweredCall] = []
        if let frozen, frozen.attempts > 0, frozen.tried.kind.durability != nil {
            switch frozen.payload {
            case .fresh(let value):
                if let key = value.key { unanswered.append(.init(name: frozen.name, key: key)) }
            case .stored(let key): unanswered.append(.init(name: frozen.name, key: key))
            }
        }
        queue.forEach { if case .stored(let call) = $0.content { unanswered.append(call) } }
        var message: MessageID?
        if case .known(let known) = bubble { message = known }
        return LaneRecord(
            address: address, message: message, epoch: epoch + 1, deltas: pace.count, streamed: streamed,
            unanswered: unanswered, ended: isEnded && endSince == nil)
    }

    /// The process died, and all that the turn had posted comes back from the journal: what was tried and stored goes
    /// again as it was, and only then the new epoch begins. Progress is not stored.
    mutating func restart(at now: Instant) {
        let unanswered = record.unanswered
        frozen = nil
        if state != .gone { state = isAbandoned ? .gone : .idle }
        queue.removeAll { entry in
            if case .stored = entry.content { return true }
            return entry.kind == .taskProgress
        }
        for call in unanswered.reversed() where state != .gone {
            queue.insertFirst(LaneQueue.Entry(content: .stored(call), kind: call.name.kind, since: now))
            if call.name == .end { endSince = now }
        }
        epoch += 1
        deltas = 0
        updates = 0
        pace = LanePace(count: pace.count)
    }
}
