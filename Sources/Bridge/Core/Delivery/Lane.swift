import Vocabulary

/// Bounds of a lane.
package enum LaneBounds {
    /// A delta's text in bytes; the rest follows in the next one.
    package static let deltaBytes = 48_000
    /// Bytes of text that waits. More ends the preview; the turn stops it far earlier.
    package static let waitingTextBytes = 1 << 20
    /// Number of posts that wait. Text and progress join; of the others, more are refused.
    package static let waitingPosts = 512
    /// How long text may hold back the end behind it, unless settings say otherwise.
    package static let lastDeltaHold = Duration.seconds(2)
    /// How long a whole message is tried: as long as the relay knows its key.
    package static let messageLife = Duration.seconds(86_400)
    /// How long an approval without a window is tried: no request lives longer (relay.md#requestapproval).
    package static let approvalLife = Duration.seconds(1800)
}

/// The calls of one turn, one at a time and in order. This file has the input, `Lane+Calls.swift` the output.
///
/// States:
/// - *idle*: no call waits for an answer or for another try. Can become: underWay, when its next post is given a try; gone.
/// - *underWay*: a call is at the relay. Can become: idle (delivered, done, dropped, given up), resting (to be tried
///   again), refused (an open, an end or a whole message that the turn must replace), gone.
/// - *resting*: the call was tried and will be again, with the same key and the same value, not before a moment. Can
///   become: underWay; idle, when it is a delta or a progress that is given up because the end waits, or a withdrawn card.
/// - *refused*: the call waits for `replace` or `skip`. Can become: idle, gone.
/// - *gone*: the destination is gone, or the lane was abandoned and nothing is left to answer. Final.
///
/// Invariants: one call under way at most; a call that was tried keeps key and value; nothing that needs the bubble goes out before its
/// message id is known; after the end a lane takes only whole messages, and approvals once the window is closed; an abandoned lane that has
/// no call to be answered is gone.
struct Lane: Sendable {
    enum Taken: Hashable, Sendable {
        case queued, joined, ignored
    }

    private(set) var address: LaneAddress
    let windowEnds: Instant
    var keys: LaneKeys
    var state = State.idle
    var course = Course.open
    var bubble = Bubble.none
    var queue = LaneQueue()
    /// The call of the first post in the queue, made before its turn came.
    var ahead: PreparedCall?
    var preview = LanePreview()
    var end = End.notPosted
    var isWindowOpen = true
    var ledger = Ledger()

    /// Placeholder for a free slot.
    static let vacant: Lane = {
        let nowhere = LaneAddress(turn: TurnID(""), session: SessionID(""), interaction: nil)
        var lane = Lane(nowhere, windowEnds: .zero)
        lane.abandon()
        return lane
    }()

    init(_ address: LaneAddress, windowEnds: Instant, epoch: Int = 1) {
        self.address = address
        self.windowEnds = windowEnds
        keys = LaneKeys(turn: address.turn, epoch: epoch)
    }

    /// The lane is closed, and has nothing left to send.
    var mayGo: Bool {
        switch state {
        case .refused: isClosing
        case .idle, .gone: isClosing && queue.isEmpty
        case .underWay, .resting: false
        }
    }

    /// Bytes in memory, counted as for `HeldBytes`.
    var heldBytes: Int { queue.bytes + (frozen?.bytes ?? 0) + (ahead?.body?.count ?? 0) }

    /// Posts that were never tried, and a call that rests, was refused or is tried once more.
    var waitingPosts: Int { queue.count + (waitingCall == nil ? 0 : 1) }

    /// Moment of the post that has waited longest.
    var waitingSince: Instant? { waitingCall?.since ?? queue.firstKind?.since }

    private var waitingCall: Frozen? { isUnderWay && (frozen?.attempts ?? 0) <= 1 ? nil : frozen }

    /// Makes room. False if nothing is left that may be cut.
    mutating func cutOldest() -> Bool { queue.cutOldest(except: ahead?.key) }

    // MARK: - From the turn

    /// Takes a post. A post that cannot be carried is reported, so that no turn waits for it.
    mutating func post(_ post: Post, at now: Instant, into reports: inout [PostReport]) -> Taken {
        guard !isAbandoned, state != .gone, end == .notPosted || mayFollowEnd(post) else { return .ignored }
        if post.needsBubble, bubble == .none || bubble == .lost {
            reportImpossible(post, into: &reports)
            return .ignored
        }
        switch post {
        case .text(let text): return take(text, at: now, into: &reports)
        case .taskProgress(let progress): if queue.join(progress) { return .joined }
        case .taskEnded(let end):
            queue.removeProgress(of: end.task)
            // A status task that has not begun need not begin in order to end.
            if StatusTask.isOne(end.task), queue.removeStart(of: end.task) { return .joined }
        case .open: if bubble != .none { return .ignored }
        case .end, .taskStarted, .approval, .message: break
        }
        // An open and an end always have room.
        guard queue.count < LaneBounds.waitingPosts || post.kind == .open || post.kind == .end else {
            reportImpossible(post, into: &reports)
            return .ignored
        }
        if post.kind == .open { bubble = .awaited }
        if post.kind == .end { endPosted(at: now) }
        queue.append(entry(post, at: now))
        return .queued
    }

    /// The post that waits for a replacement by the turn.
    var refusedName: PostName? { if case .refused(let call) = state { call.name } else { nil } }

    /// Puts the replacement in the place of the refused post, ahead of all that waits.
    mutating func replace(_ post: Post, followedBy more: [Post] = [], at now: Instant) {
        guard case .refused(let refused) = state else { return }
        state = .idle
        if refused.name == .open && post.kind != .open { loseBubble() }
        if post.kind == .end { endPosted(at: now) }
        for post in more.reversed() { queue.insertFirst(entry(post, at: refused.since)) }
        var entry = entry(post, at: refused.since)
        // The same post with another body needs another key; an end counts its forms itself.
        if post.kind != .end && post.name == refused.name { entry.form = refused.tried.form + 1 }
        // The turn repeats an approval with the least that a request must have, and an interaction is not part of that.
        if case .approval(let card) = post { entry.withoutInteraction = !Self.isSame(card, as: refused) }
        queue.insertFirst(entry)
    }

    /// The card differs in its end or its name at most, and goes into the same interaction.
    private static func isSame(_ card: ApprovalCard, as refused: Frozen) -> Bool {
        guard case .fresh(let call) = refused.payload, case .approval(let before) = call.post else { return false }
        return call.interaction != nil && before.command == card.command && before.message == card.message
    }

    /// Gives up the refused post without a replacement.
    mutating func skip() {
        guard case .refused(let refused) = state else { return }
        state = .idle
        if refused.name == .open { loseBubble() }
    }

    mutating func stopPreview() {
        preview.stop()
        queue.removeTexts()
    }

    /// The turn is closed: posts that are left go out first.
    mutating func close() { course = isAbandoned ? .abandoned(isClosing: true) : .closing }

    /// The turn's key has come, or is gone.
    mutating func use(_ sealing: TurnSealing) { address.sealing = sealing }

    /// The card's ask has ended. A call under way is left to its answer.
    mutating func withdraw(_ card: ApprovalID) {
        queue.removeAll { entry in
            if case .post(let post) = entry.content { post.name == .approval(card) } else { false }
        }
        if case .resting(let frozen, _) = state, frozen.name == .approval(card) { state = isAbandoned ? .gone : .idle }
    }

    /// The next call was never tried and belongs to a status task.
    var startsWithStatus: Bool {
        guard case .idle = state, let task = queue.firstTask else { return false }
        return StatusTask.isOne(task)
    }

    /// Drops a status call at the head of the lane, since the bucket of tasks is low. The turn repeats it later.
    mutating func holdBackStatus() -> PostReport? {
        guard startsWithStatus, case .post(let post)? = queue.removeFirst()?.content else { return nil }
        if case .taskStarted(let start) = post { queue.removeTask(start.task) }
        return .heldBack(post.name)
    }

    /// Drops untried posts that cannot go out without a key.
    mutating func dropUnsealed() { queue.removeAll { $0.needsKey } }

    /// Pending posts are sent unchanged; later ones go without the interaction.
    mutating func closeWindow() { isWindowOpen = false }

    /// A call that was tried keeps its right to an answer; nothing else goes out.
    mutating func abandon() {
        course = .abandoned(isClosing: isClosing)
        queue = LaneQueue()
        end.leave()
        switch state {
        case .idle, .refused, .gone: state = .gone
        case .underWay, .resting: break
        }
    }

    /// False if no call waits for another try.
    mutating func dropAbandoned() -> Bool {
        guard isAbandoned, case .resting = state else { return false }
        state = .gone
        return true
    }

    // MARK: -

    /// The open is given up. Posts that need its bubble are dropped, which the turn knows since it gave the open up. Approvals and
    /// messages go out without the interaction.
    private mutating func loseBubble() {
        bubble = .lost
        preview.stop()
        isWindowOpen = false
        end.leave()
        queue.leaveInteraction()
    }

    private mutating func take(_ text: String, at now: Instant, into reports: inout [PostReport]) -> Taken {
        if preview.isOver || text.isEmpty { return .ignored }
        guard queue.textBytes + text.utf8.count <= LaneBounds.waitingTextBytes else {
            stopPreview()
            reports.append(.deadLetter(.text(endOffset: preview.streamed)))
            return .ignored
        }
        return queue.append(text: text, since: now) ? .joined : .queued
    }

    private mutating func endPosted(at now: Instant) {
        end = .waits(since: now)
        // A delta or a progress that rests must not keep the end for long.
        guard case .resting(let frozen, let until) = state else { return }
        if frozen.tried.kind == .taskProgress
            || frozen.tried.kind == .text && frozen.tried.unknownOutcomes >= RetryPolicy.deltaTriesBeforeEnd
        {
            giveUpBeforeEnd()
        } else if frozen.tried.kind == .text && !frozen.wasTold {
            state = .resting(frozen, until: min(until, now + LaneBounds.lastDeltaHold))
        }
    }

    /// The end carries the text of the resting delta.
    mutating func giveUpBeforeEnd() {
        state = .idle
        stopPreview()
    }

    private func mayFollowEnd(_ post: Post) -> Bool {
        switch post {
        case .message: true
        case .approval: !isWindowOpen
        case .open, .text, .taskStarted, .taskProgress, .taskEnded, .end: false
        }
    }

    private func reportImpossible(_ post: Post, into reports: inout [PostReport]) {
        switch post {
        case .open, .end, .taskStarted, .taskEnded, .approval, .message: reports.append(.deadLetter(post.name))
        // A lost text or progress needs no report.
        case .text, .taskProgress: break
        }
    }

    private func entry(_ post: Post, at now: Instant) -> LaneQueue.Entry {
        let post = address.sealing.isSealed ? post.fittingSealed : post
        var entry = LaneQueue.Entry(
            content: .post(post), kind: post.kind, since: now, withoutInteraction: !isWindowOpen)
        switch post {
        case .end(let end): entry.form = end.form
        case .taskStarted(let start): entry.key = keys.fixed.taskStart(start.task)
        case .taskEnded(let end): entry.key = keys.fixed.taskEnd(end.task)
        case .open, .text, .taskProgress, .approval, .message: break
        }
        return entry
    }
}

extension Post {
    var kind: PostKind {
        switch self {
        case .open: .open
        case .text: .text
        case .taskStarted: .taskStarted
        case .taskProgress: .taskProgress
        case .taskEnded: .taskEnded
        case .approval: .approval
        case .end: .end
        case .message: .message
        }
    }

    /// The offset of a text is known only when it is tried.
    var name: PostName {
        switch self {
        case .open: .open
        case .text: .text(endOffset: 0)
        case .taskStarted(let start): .taskStarted(start.task)
        case .taskProgress(let progress): .taskProgress(progress.task)
        case .taskEnded(let end): .taskEnded(end.task)
        case .approval(let card): .approval(card.approval)
        case .end: .end
        case .message(let message): .message(message.part)
        }
    }

    var needsBubble: Bool { kind.needsBubble }
}

extension Post {
    /// A card ends by the agent's own clock, however long it waited in its lane. Whole seconds, so that a short wait changes nothing.
    func waited(_ time: Duration) -> Post {
        guard case .approval(var card) = self, let end = card.endsAfter, end < CardLife.longest else { return self }
        card.endsAfter = max(.seconds(1), end - .seconds(time.nanoseconds / 1_000_000_000))
        return .approval(card)
    }
}

extension PostKind {
    /// Approvals go out without a bubble too, so that no run hangs for want of one.
    var needsBubble: Bool {
        switch self {
        case .text, .taskStarted, .taskProgress, .taskEnded, .end: true
        case .open, .approval, .message: false
        }
    }
}

extension LaneQueue.Entry {
    /// The post of a sealed turn cannot go out without a key.
    var needsKey: Bool {
        switch content {
        case .text: true
        case .post(let post): post.needsKey
        // A stored call was sealed before it was stored.
        case .stored: false
        }
    }
}
