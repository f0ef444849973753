package import BridgeModel

/// The calls of one turn, in order, one at a time (DESIGN, section 8; relay sheet 8.3).
///
/// States of the call in front:
/// - none: the head of the queue may be frozen into a call.
/// - `underWay`: sent, not answered. Can transition to none (settled), `resting` (tried again later), `held`.
/// - `resting(until)`: frozen, waits to be tried again with the same key and the same value. Can transition to `underWay`.
/// - `held`: refused, and the turn has yet to say what takes its place. Can transition to none.
///
/// Invariants:
/// - At most one call is under way; posts go out in the order they came; nothing goes before the placeholder is confirmed.
/// - Text that waits is joined with its neighbours until it is first tried; a call that was tried is frozen.
/// - Progress of a task is the latest, and is dropped when the task's end is posted.
/// - After an end only whole messages are taken.
package struct Lane: Sendable {
    package struct Item: Sendable, Hashable {
        package var post: Post
        package var since: Instant
    }

    package enum Front: Sendable, Hashable {
        case none
        case underWay(FrozenCall)
        case resting(FrozenCall, until: Instant)
        case held(FrozenCall)
    }

    /// One delta carries at most this: far under the relay's 64 KB a field.
    static let deltaLimit = 48_000
    /// Posts beyond this are dropped, progress and text excepted, which merge. A turn that makes so many has lost its way.
    static let queueLimit = 10_000

    package let address: LaneAddress
    package let windowEnds: Instant
    package private(set) var front = Front.none
    package private(set) var queue = LaneQueue()
    private let keys: IdempotencyKeys
    private let planted: PlantedFault?
    private var message: MessageID?
    private var opened = false
    private var carriesInteraction = true
    private var previewIsOver = false
    private var ended = false
    private var openForm = 1
    private var epoch: Int
    private var deltas = 0
    private var updates = 0
    private var streamedOffset: Int
    /// Stored calls of an earlier process without an answer, to be sent again before anything new.
    private var restored: [FrozenCall] = []
    package var pace = LanePace()

    package init(_ address: LaneAddress, windowEnds: Instant, planted: PlantedFault? = nil) {
        self.address = address
        self.windowEnds = windowEnds
        self.planted = planted
        keys = IdempotencyKeys(turn: address.turn)
        epoch = 1
        streamedOffset = 0
    }

    /// The process died, and this lane came back from the journal: what has no answer goes out again with its stored key and
    /// bytes, and only then the new epoch begins. Progress is not stored.
    package mutating func restart() {
        let unanswered: FrozenCall? =
            switch front {
            case .underWay(let call), .resting(let call, _), .held(let call): call
            case .none: nil
            }
        front = .none
        if var call = unanswered, !call.name.isProgress {
            if let key = call.key { call.payload = .stored(key) }
            restored.insert(call, at: 0)
        }
        queue.removeAll { if case .taskProgress = $0 { true } else { false } }
        epoch += 1
        deltas = 0
        updates = 0
        pace = LanePace()
    }

    package var isIdle: Bool { front == .none && queue.isEmpty && restored.isEmpty }

    /// The call that would go next, without making it: its bucket, the moment it waits since, and its own rank.
    package var candidate: Candidate? {
        switch front {
        case .underWay, .held: return nil
        case .resting(let call, let until):
            return Candidate(bucket: call.bucket, name: call.name, since: call.since, notBefore: until, isFresh: false)
        case .none: break
        }
        if let call = restored.first {
            return Candidate(bucket: call.bucket, name: call.name, since: call.since, notBefore: nil, isFresh: false)
        }
        let index = headIndex
        guard index < queue.count else { return nil }
        let item = queue[index]
        let name = self.name(of: item.post)
        return Candidate(
            bucket: Self.bucket(of: item.post), name: name, since: item.since,
            notBefore: name.isText && queue.end == nil ? pace.earliest : nil, isFresh: true)
    }

    /// The end that waits behind untried text, and since when.
    package var heldBackEnd: Instant? {
        guard front == .none, restored.isEmpty, case .text = queue.first?.post else { return nil }
        return queue.end?.since
    }

    private var headIndex: Int {
        switch planted {
        case .endBeforeLastDelta: opened ? queue.firstIndex { $0.isEnd } ?? 0 : 0
        case .placeholderNotAwaited: queue.first?.post == .open && queue.second?.post.isText == true ? 1 : 0
        default: 0
        }
    }

    // MARK: Posts

    /// False when the lane did not take it.
    package mutating func take(_ post: Post, at now: Instant) -> Bool {
        switch post {
        case .text(let addition):
            guard !previewIsOver, !ended, !addition.isEmpty else { return false }
            if let last = queue.last, case .text(let waiting) = last.post,
                waiting.utf8.count + addition.utf8.count <= Self.deltaLimit
            {
                queue.replaceLast(.text(waiting + addition))
                return true
            }
        case .taskProgress(let progress):
            guard !ended else { return false }
            let index =
                queue.progresses == 0
                ? nil
                : queue.firstIndex { if case .taskProgress(let old) = $0 { old.task == progress.task } else { false } }
            if let index, case .taskProgress(let old) = queue[index].post {
                queue.replace(index, .taskProgress(progress.merged(over: old)))
                return true
            }
        case .taskEnded(let end):
            guard !ended else { return false }
            if queue.progresses > 0 {
                queue.removeAll { if case .taskProgress(let old) = $0 { old.task == end.task } else { false } }
            }
        case .end:
            guard !ended else { return false }
            ended = true
        case .open, .taskStarted: guard !ended else { return false }
        case .approval, .message: break
        }
        guard queue.count < Self.queueLimit || post.isEnd else { return false }
        queue.append(Item(post: post, since: now))
        return true
    }

    /// The turn's answer to a refusal: this goes in the refused call's place.
    package mutating func replace(_ post: Post, at now: Instant) {
        guard case .held(let call) = front else { return }
        front = .none
        queue.insertFirst(Item(post: post, since: call.since))
    }

    package mutating func skip() {
        if case .held = front { front = .none }
    }

    package mutating func stopPreview() {
        previewIsOver = true
        if queue.texts > 0 { queue.removeAll { $0.isText } }
    }

    package mutating func closeWindow() {
        carriesInteraction = false
    }

    /// Nothing untried goes out any more. What is under way is awaited.
    package mutating func abandon() {
        queue = LaneQueue()
        restored = []
        ended = true
        previewIsOver = true
        switch front {
        case .resting, .held: front = .none
        case .none, .underWay: break
        }
    }

    // MARK: Calls

    /// Makes the candidate a call under way. Call only when `candidate` is not nil.
    package mutating func send(at now: Instant) -> FrozenCall? {
        switch front {
        case .underWay, .held: return nil
        case .resting(var call, _):
            if planted == .retryRecoalesces { recoalesce(&call) }
            call.tries += 1
            front = .underWay(call)
            return call
        case .none: break
        }
        if !restored.isEmpty {
            var call = restored.removeFirst()
            call.tries += 1
            front = .underWay(call)
            return call
        }
        let index = headIndex
        guard index < queue.count else { return nil }
        guard let item = index == 0 ? queue.removeFirst() : queue.remove(at: index) else { return nil }
        if item.post.isText { pace.sent(at: now) }
        let call = freeze(item)
        front = .underWay(call)
        return call
    }

    package mutating func rest(until moment: Instant) {
        guard case .underWay(let call) = front else { return }
        front = .resting(call, until: moment)
    }

    package mutating func hold() {
        guard case .underWay(let call) = front else { return }
        front = .held(call)
    }

    package mutating func settle(message: MessageID?) {
        guard case .underWay(let call) = front else { return }
        front = .none
        guard call.name == .open else { return }
        opened = true
        if let message { self.message = message }
    }

    /// The placeholder's key is taken with another body: once more under another key.
    package mutating func reopen() -> Bool {
        guard case .underWay(let call) = front, openForm < 2 else { return false }
        openForm += 1
        front = .none
        queue.insertFirst(Item(post: .open, since: call.since))
        return true
    }

    /// The interaction is closed at the relay: only what does not carry it is left.
    package mutating func dropInteraction() {
        carriesInteraction = false
        previewIsOver = true
        front = .none
        restored = []
        queue.removeAll { if case .message = $0 { false } else if case .approval = $0 { false } else { true } }
    }

    private mutating func recoalesce(_ call: inout FrozenCall) {
        guard case .text(let more) = queue.first?.post,
            case .fresh(.sendMessageDelta(var delta)) = call.payload
        else { return }
        _ = queue.removeFirst()
        delta.delta += more
        call.payload = .fresh(.sendMessageDelta(delta))
    }

    private mutating func freeze(_ item: Item) -> FrozenCall {
        let call = relayCall(item.post)
        if case .text(let addition) = item.post { streamedOffset += addition.utf8.count }
        return FrozenCall(
            name: name(of: item.post), key: call.key, bucket: call.bucket, payload: .fresh(call), since: item.since,
            tries: 1)
    }
}

extension Lane {
    private mutating func relayCall(_ post: Post) -> RelayCall {
        let interaction = carriesInteraction ? address.interaction : nil
        let session = address.session
        // Only a planted fault comes here without a message.
        let message = message ?? MessageID(address.turn.text)
        switch post {
        case .open:
            // One space: the relay refused an empty placeholder (relay sheet, D8).
            return .sendMessage(
                SendMessage(session: session, interaction: interaction, text: " ", key: keys.open(form: openForm)))
        case .text(let delta):
            deltas += 1
            let key = keys.delta(epoch: planted == .keyWithoutEpoch ? 0 : epoch, number: deltas)
            return .sendMessageDelta(SendMessageDelta(message: message, delta: delta, key: key))
        case .taskStarted(let task):
            return .createTask(
                CreateTask(
                    session: session, interaction: interaction, task: task.task, kind: task.kind, label: task.label,
                    arguments: task.arguments, key: keys.taskStart(task.task)))
        case .taskProgress(let task):
            updates += 1
            return .updateTask(
                UpdateTask(
                    session: session, interaction: interaction, task: task.task, label: task.label,
                    percent: task.percent,
                    partialResult: task.partialResult,
                    key: keys.taskUpdate(task.task, epoch: epoch, number: updates)))
        case .taskEnded(let task):
            return .finishTask(
                FinishTask(
                    session: session, interaction: interaction, task: task.task, name: task.name, status: task.status,
                    label: task.label, error: task.error, result: task.result, key: keys.taskEnd(task.task)))
        case .approval(let card):
            return .requestApproval(
                RequestApproval(
                    session: session, interaction: interaction, approval: card.approval, slug: card.slug,
                    action: card.action, toolCall: card.toolCall, title: card.title, severity: card.severity,
                    command: card.command, host: card.host, message: card.message, key: keys.approval(card.approval)))
        case .end(let end):
            return .sendMessageEnd(
                SendMessageEnd(
                    message: message, text: end.text, usage: end.usage, finishReason: end.finishReason,
                    key: keys.end(form: end.form)))
        case .message(let whole):
            return .sendMessage(
                SendMessage(
                    session: session, interaction: nil, text: whole.text, usage: whole.usage,
                    key: keys.message(whole.part)))
        }
    }

    private func name(of post: Post) -> PostName {
        switch post {
        case .open: .open
        case .text(let addition): .text(endOffset: streamedOffset + addition.utf8.count)
        case .taskStarted(let task): .taskStarted(task.task)
        case .taskProgress(let task): .taskProgress(task.task)
        case .taskEnded(let task): .taskEnded(task.task)
        case .approval(let card): .approval(card.approval)
        case .end: .end
        case .message(let whole): .message(whole.part)
        }
    }

    private static func bucket(of post: Post) -> RelayBucket {
        switch post {
        case .open, .end, .message: .msg
        case .text: .delta
        case .taskStarted, .taskProgress, .taskEnded: .task
        case .approval: .approval
        }
    }
}

extension Post {
    package var isEnd: Bool { if case .end = self { true } else { false } }
    package var isText: Bool { if case .text = self { true } else { false } }
}

extension PostName {
    package var isText: Bool { if case .text = self { true } else { false } }
    package var isProgress: Bool { if case .taskProgress = self { true } else { false } }
}

extension TaskProgress {
    /// What this one leaves out, the older one says.
    fileprivate func merged(over old: TaskProgress) -> TaskProgress {
        TaskProgress(
            task: task, label: label ?? old.label, percent: percent ?? old.percent,
            partialResult: partialResult ?? old.partialResult)
    }
}
