import Vocabulary

/// The posts of one lane that were never tried, in order.
///
/// Bounds: neighbouring texts form one entry, a task has one progress, and all other posts count against `LaneBounds`. `Delivery`
/// bounds the bytes of all lanes together, and has the oldest payloads cut (`cutOldest`).
struct LaneQueue: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        enum Content: Hashable, Sendable {
            /// The text itself is in `Entry.text`, where it can grow in place.
            case text
            indirect case post(Post)
            /// A call from before a restart.
            case stored(LaneRecord.UnansweredCall)
        }

        var content: Content
        var kind: PostKind
        var text = ""
        var since: Instant
        /// The window was closed when it was posted.
        var withoutInteraction = false
        /// Number of the body in this place, from 1.
        var form = 1
        /// Key of a tool's card, which has one body in its place. The key is made when the card is posted: its turn may come much
        /// later, and then the lane has no time to lose.
        var key: IdempotencyKey?

        var bytes: Int {
            let payload = if case .post(let post) = content { post.payloadBytes } else { 0 }
            return HeldBytes.entryCost + text.utf8.count + payload
        }
    }

    private var entries: [Entry] = []
    private var head = 0
    /// Number of entries of each rank.
    private var ranks = [Int](repeating: 0, count: DeliveryRank.allCases.count)
    private(set) var textBytes = 0
    /// Bytes of all entries, counted as for `HeldBytes`.
    private(set) var bytes = 0

    var count: Int { entries.count - head }

    var isEmpty: Bool { head == entries.count }

    /// The kind of the first post, and the moment from which it waits.
    var firstKind: (kind: PostKind, since: Instant)? {
        isEmpty ? nil : (entries[head].kind, entries[head].since)
    }

    /// The first post, if its key was made when it was posted: it can no longer change.
    var firstFixed: (post: Post, entry: Entry, key: IdempotencyKey)? {
        guard !isEmpty, let key = entries[head].key, case .post(let post) = entries[head].content else { return nil }
        return (post, entries[head], key)
    }

    /// The first call, if it comes from before a restart.
    var firstStored: LaneRecord.UnansweredCall? {
        guard !isEmpty, case .stored(let call) = entries[head].content else { return nil }
        return call
    }

    /// The first post cannot go out before its turn has a key.
    var startsWithSecret: Bool { !isEmpty && entries[head].needsKey }

    var startsFixed: Bool { !isEmpty && entries[head].key != nil }

    func waiting(_ rank: DeliveryRank) -> Int { ranks[Int(rank.rawValue)] }

    /// The rank of the most urgent post.
    var mostUrgent: DeliveryRank? {
        for rank in DeliveryRank.allCases where waiting(rank) > 0 { return rank }
        return nil
    }

    /// True if the text joined the last waiting one.
    mutating func append(text: String, since: Instant) -> Bool {
        textBytes += text.utf8.count
        if let last = entries.indices.last, last >= head, entries[last].kind == .text,
            case .text = entries[last].content
        {
            entries[last].text += text
            bytes += text.utf8.count
            return true
        }
        append(Entry(content: .text, kind: .text, text: text, since: since))
        return false
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.bytes
        ranks[Int(entry.kind.rank.rawValue)] += 1
    }

    mutating func insertFirst(_ entry: Entry) {
        if head > 0 {
            head -= 1
            entries[head] = entry
        } else {
            entries.insert(entry, at: 0)
        }
        bytes += entry.bytes
        ranks[Int(entry.kind.rank.rawValue)] += 1
    }

    mutating func removeFirst() -> Entry? {
        guard !isEmpty else { return nil }
        let entry = entries[head]
        head += 1
        ranks[Int(entry.kind.rank.rawValue)] -= 1
        textBytes -= entry.text.utf8.count
        bytes -= entry.bytes
        if head == entries.count {
            entries.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 32 && head * 2 >= entries.count {
            entries.removeSubrange(..<head)
            head = 0
        } else {
            // The array must not hold on to the entry that was taken out, or its text would be copied when it grows.
            entries[head - 1].content = .text
            entries[head - 1].text = ""
        }
        return entry
    }

    /// Takes out the first text, or as many whole characters of its beginning as fit into `bytes`. Nil if the next post is no text, or
    /// comes from before a restart.
    mutating func removeText(bytes: Int) -> (text: String, since: Instant)? {
        guard !isEmpty, entries[head].content == .text else { return nil }
        let since = entries[head].since
        guard entries[head].text.utf8.count > bytes else { return removeFirst().map { ($0.text, since) } }
        let text = entries[head].text
        let end = text.endOfCharacters(within: bytes)
        let beginning = String(text[..<end])
        entries[head].text = String(text[end...])
        textBytes -= beginning.utf8.count
        self.bytes -= beginning.utf8.count
        return (beginning, since)
    }

    /// Joins a later progress of the same task to the waiting one. False if none waits.
    mutating func join(_ progress: TaskProgress) -> Bool {
        guard waiting(.progress) > 0 else { return false }
        for index in entries[head...].indices.reversed() {
            guard case .post(.taskProgress(var earlier)) = entries[index].content, earlier.task == progress.task else {
                continue
            }
            earlier.label = progress.label ?? earlier.label
            earlier.percent = progress.percent ?? earlier.percent
            earlier.partialResult = progress.partialResult ?? earlier.partialResult
            bytes -= entries[index].bytes
            entries[index].content = .post(.taskProgress(earlier))
            bytes += entries[index].bytes
            return true
        }
        return false
    }

    mutating func removeProgress(of task: TaskID) {
        guard waiting(.progress) > 0 else { return }
        removeAll { entry in
            if case .post(.taskProgress(let progress)) = entry.content { progress.task == task } else { false }
        }
    }

    /// The task of the next post, if that begins or changes a card.
    var firstTask: TaskID? {
        guard !isEmpty, case .post(let post) = entries[head].content else { return nil }
        return switch post {
        case .taskStarted(let start): start.task
        case .taskProgress(let progress): progress.task
        case .open, .text, .taskEnded, .approval, .end, .message: nil
        }
    }

    /// True if the card was not made yet, and will not be.
    mutating func removeStart(of task: TaskID) -> Bool {
        guard waiting(.taskStart) > 0 else { return false }
        let before = count
        removeAll { entry in
            if case .post(.taskStarted(let start)) = entry.content { start.task == task } else { false }
        }
        return count < before
    }

    /// Removes all that follows a card that was not made.
    mutating func removeTask(_ task: TaskID) {
        removeAll { entry in
            switch entry.content {
            case .post(.taskProgress(let progress)): progress.task == task
            case .post(.taskEnded(let end)): end.task == task
            case .stored(let call): call.name == .taskEnded(task)
            case .post, .text: false
            }
        }
    }

    mutating func removeTexts() {
        guard waiting(.text) > 0 else { return }
        removeAll { $0.content == .text }
    }

    mutating func removeAll(where unwanted: (Entry) -> Bool) {
        var kept: [Entry] = []
        for entry in entries[head...] where !unwanted(entry) {
            // Two texts that have become neighbours form one entry.
            if entry.content == .text, let last = kept.indices.last, kept[last].content == .text {
                kept[last].text += entry.text
            } else {
                kept.append(entry)
            }
        }
        replaceAll(with: kept)
    }

    /// Pending posts must not carry the interaction: approvals go without it, whole messages never had it, and the rest is dropped.
    mutating func leaveInteraction() {
        removeAll { $0.kind != .approval && $0.kind != .message }
        for index in entries.indices { entries[index].withoutInteraction = true }
    }

    func forEach(_ body: (Entry) -> Void) { entries[head...].forEach(body) }

    /// Makes room: drops the oldest progress, or cuts the oldest payload of a card to a mark. An entry whose call was made ahead
    /// (`made`) stays unchanged, since its body may be on its way to the relay. False if nothing is left that may be cut.
    mutating func cutOldest(except made: IdempotencyKey?) -> Bool {
        if waiting(.progress) > 0, let oldest = entries[head...].firstIndex(where: { $0.kind == .taskProgress }) {
            bytes -= entries[oldest].bytes
            ranks[Int(DeliveryRank.progress.rawValue)] -= 1
            entries.remove(at: oldest)
            joinTexts(around: oldest)
            return true
        }
        for index in entries[head...].indices {
            guard case .post(let post) = entries[index].content,
                entries[index].key == nil || entries[index].key != made,
                let cut = post.withPayloadCut
            else { continue }
            bytes -= entries[index].bytes
            entries[index].content = .post(cut)
            bytes += entries[index].bytes
            return true
        }
        return false
    }

    /// Two texts that have become neighbours form one entry.
    private mutating func joinTexts(around index: Int) {
        guard index > head, index < entries.count, entries[index - 1].content == .text, entries[index].content == .text
        else { return }
        entries[index - 1].text += entries[index].text
        bytes -= HeldBytes.entryCost
        ranks[Int(DeliveryRank.text.rawValue)] -= 1
        entries.remove(at: index)
    }

    private mutating func replaceAll(with kept: [Entry]) {
        entries = kept
        head = 0
        for index in ranks.indices { ranks[index] = 0 }
        textBytes = 0
        bytes = 0
        for entry in kept {
            bytes += entry.bytes
            ranks[Int(entry.kind.rank.rawValue)] += 1
            textBytes += entry.text.utf8.count
        }
    }
}

extension String {
    /// The end of the last character within that many bytes. A single longer character is cut between scalars, and never to nothing.
    fileprivate func endOfCharacters(within bytes: Int) -> String.Index {
        guard utf8.count > bytes else { return endIndex }
        var place = utf8.index(startIndex, offsetBy: bytes)
        while place > startIndex && utf8[place] & 0xC0 == 0x80 { place = utf8.index(before: place) }
        let scalarEnd = place
        // Longer characters than this are not text.
        let farthest = utf8.index(place, offsetBy: -1024, limitedBy: startIndex) ?? startIndex
        while place > farthest {
            if let end = String.Index(place, within: self) { return end }
            place = unicodeScalars.index(before: place)
        }
        return scalarEnd > startIndex ? scalarEnd : unicodeScalars.index(after: startIndex)
    }
}
