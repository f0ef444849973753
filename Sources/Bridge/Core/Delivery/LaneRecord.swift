package import Vocabulary

/// Facts about a lane that a restart keeps.
package struct LaneRecord: Hashable, Sendable {
    /// A call that was stored, perhaps tried, and never answered.
    package struct UnansweredCall: Hashable, Sendable {
        package var name: PostName
        package var key: IdempotencyKey
        /// Number of the body in this place, from 1.
        package var form: Int
        /// The moment of the first try, as far as it is known.
        package var triedAt: Instant?

        package init(name: PostName, key: IdempotencyKey, form: Int = 1, triedAt: Instant? = nil) {
            self.name = name
            self.key = key
            self.form = form
            self.triedAt = triedAt
        }
    }

    /// A post that was never tried.
    package struct WaitingPost: Hashable, Sendable {
        package var post: Post
        package var since: Instant
        package var withoutInteraction: Bool
        package var form: Int
    }

    package var address: LaneAddress
    package var message: MessageID?
    /// Epoch of the deltas to come: one more than that of the last life.
    package var epoch: Int
    /// Number of deltas sent, for the pace.
    package var deltas: Int
    /// End of the text that was sent, in UTF-8 bytes, including the unanswered delta.
    package var streamed: Int
    /// Unanswered calls in the order they were stored. They go first, unchanged.
    package var unanswered: [UnansweredCall]
    /// Nothing more goes out but whole messages.
    package var ended: Bool
    /// Waiting posts in order, behind the unanswered calls. Progress is not among them.
    package var waiting: [WaitingPost] = []
    package var bubbleIsLost = false
    package var previewIsOver = false
    package var windowIsOpen = true
    package var isAbandoned = false
    package var isClosing = false

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

    package var waitingPosts: [Post] { waiting.map(\.post) }

    /// The text that waits, never tried.
    package var waitingText: String {
        waiting.reduce(into: "") { text, entry in if case .text(let piece) = entry.post { text += piece } }
    }
}

/// A delta as it was stored before its first try.
package struct StoredDelta: Hashable, Sendable {
    package var key: IdempotencyKey
    /// Nil if the text was sealed, and can no longer be opened.
    package var text: String?
    /// End in the streamed text, in UTF-8 bytes.
    package var endOffset: Int
    package var isAnswered: Bool

    package init(key: IdempotencyKey, text: String?, endOffset: Int, isAnswered: Bool) {
        self.key = key
        self.text = text
        self.endOffset = endOffset
        self.isAnswered = isAnswered
    }
}

extension LaneRecord {
    /// Completes the times of first tries: the journal knows when each call was stored, even if this record does not.
    package mutating func learn(_ keptAt: [IdempotencyKey: Instant]) {
        for index in unanswered.indices where unanswered[index].triedAt == nil {
            unanswered[index].triedAt = keptAt[unanswered[index].key]
        }
    }

    /// Deltas are stored by themselves, so this record may be older than the last of them. A lane has one call in flight: a later delta
    /// proves that the calls which this record has as unanswered were answered.
    package mutating func catchUp(with stored: [StoredDelta]) {
        for delta in stored where delta.endOffset > streamed {
            unanswered = []
            take(delta.endOffset - streamed)
            streamed = delta.endOffset
            deltas += 1
        }
        let answered = Set(stored.filter(\.isAnswered).map(\.key))
        unanswered.removeAll { $0.name.isText && answered.contains($0.key) }
        if let last = stored.last, !last.isAnswered, last.endOffset == streamed, !ended, unanswered.isEmpty {
            unanswered.append(UnansweredCall(name: .text(endOffset: last.endOffset), key: last.key))
        }
    }

    /// Removes bytes of waiting text that were tried since.
    private mutating func take(_ bytes: Int) {
        var left = bytes
        while left > 0, let index = waiting.firstIndex(where: { $0.post.kind == .text }) {
            guard case .text(let text) = waiting[index].post else { return }
            if text.utf8.count > left {
                waiting[index].post = .text(String(text.utf8.dropFirst(left)) ?? "")
                return
            }
            left -= text.utf8.count
            waiting.remove(at: index)
        }
    }
}

extension Lane {
    /// The record that a journal of everything stored would hold now.
    var record: LaneRecord {
        var unanswered: [LaneRecord.UnansweredCall] = []
        if let frozen, frozen.attempts > 0, frozen.tried.kind.durability != nil {
            switch frozen.payload {
            case .fresh(let value):
                if let key = value.key {
                    unanswered.append(frozen.unanswered(key))
                }
            case .stored(let key): unanswered.append(frozen.unanswered(key))
            }
        }
        var record = LaneRecord(
            address: address, message: nil, epoch: keys.epoch + 1, deltas: preview.deltas, streamed: preview.streamed)
        if case .known(let known, _) = bubble { record.message = known }
        queue.forEach { entry in
            switch entry.content {
            case .stored(let call): unanswered.append(call)
            case .text: record.wait(.text(entry.text), entry)
            case .post(.taskProgress): break
            case .post(let post): record.wait(post, entry)
            }
        }
        record.unanswered = unanswered
        record.ended = end == .taken
        record.bubbleIsLost = bubble == .lost
        record.previewIsOver = preview.isOver
        record.windowIsOpen = isWindowOpen
        record.isAbandoned = isAbandoned || state == .gone
        record.isClosing = isClosing
        return record
    }

    /// A call is about to be tried for the first time and could not be stored: a record made now would miss it.
    var isBetweenRecords: Bool {
        guard let frozen else { return false }
        return frozen.attempts == 0 && frozen.tried.kind.durability != nil
    }

    /// Calls that were stored and not answered go first, unchanged; the new epoch begins behind them.
    init(restoring record: LaneRecord, windowEnds: Instant, at now: Instant) {
        self.init(record.address, windowEnds: windowEnds, epoch: record.epoch)
        preview = LanePreview(deltas: record.deltas, streamed: record.streamed, isOver: record.previewIsOver)
        if record.ended { end = .taken }
        isWindowOpen = record.windowIsOpen
        if record.isClosing { close() }
        if let message = record.message { bubble = .known(message, since: nil) }
        if record.bubbleIsLost { bubble = .lost }
        for call in record.unanswered {
            queue.append(
                LaneQueue.Entry(content: .stored(call), kind: call.name.kind, since: now, form: call.form))
            switch call.name {
            case .open: if bubble == .none { bubble = .awaited }
            case .text(let endOffset): preview.reached(endOffset)
            case .end: end = .waits(since: now)
            case .taskStarted, .taskProgress, .taskEnded, .approval, .message: break
            }
        }
        for entry in record.waiting { wait(entry, at: now) }
        if record.isAbandoned { abandon() }
    }

    private mutating func wait(_ entry: LaneRecord.WaitingPost, at now: Instant) {
        switch entry.post {
        case .text(let text):
            _ = queue.append(text: text, since: now)
            return
        case .open: if bubble == .none { bubble = .awaited }
        case .end: end = .waits(since: now)
        case .taskStarted, .taskProgress, .taskEnded, .approval, .message: break
        }
        queue.append(
            LaneQueue.Entry(
                content: .post(entry.post), kind: entry.post.kind, since: now,
                withoutInteraction: entry.withoutInteraction, form: entry.form))
    }
}

extension Lane.Frozen {
    fileprivate func unanswered(_ key: IdempotencyKey) -> LaneRecord.UnansweredCall {
        LaneRecord.UnansweredCall(name: name, key: key, form: tried.form, triedAt: firstTried)
    }
}

extension LaneRecord {
    fileprivate mutating func wait(_ post: Post, _ entry: LaneQueue.Entry) {
        waiting.append(
            WaitingPost(
                post: post, since: entry.since, withoutInteraction: entry.withoutInteraction, form: entry.form))
    }
}
