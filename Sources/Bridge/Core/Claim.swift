package import Vocabulary

/// The owner of a message, if two bridges have one token. The relay is the referee: both open the bubble of a message under the same key,
/// and the body says which bridge made it.
///
/// The body. A placeholder in the open is white space that spells the mark of its state directory (`StateMark`), so that it is the same
/// at each try, in each process and in each rebuilt call. In a sealed chat the same white space is sealed under the chat's key. A
/// sealing is never the same twice, so the lane keeps its bytes (`Lane.Sealed`), the journal has them before they first leave
/// (`StoredCall`), and each later try sends those. Without a key the body is the sealed empty text, the same from every bridge: it says
/// nothing, and two bridges that both lack the key both believe that they have the message. To keep that from mattering, the bubble
/// waits for the key (`TurnSettings.openingPatience`): for a moment, since the key of a new chat comes together with its first message.
/// If another bridge was seen in the last day, the bubble waits until the key comes or is given up, so that a bridge that can read goes
/// first.
///
/// The answer, on whichever try:
/// - delivered, with or without `idempotent: true`: the message is ours. A repeated answer means that an earlier try had landed, or
///   that a proxy sent one try twice.
/// - 409 `idempotency_conflict`: another bridge has it (`RetryDecision.anothers`). Nothing further goes out: no second form of the
///   open, no prompt, no task, no end (`Turn.belongsToAnother`).
/// - A message that was made before this state directory was first used carries no mark (`TurnOpening.isMarked`): an earlier bridge
///   here may have answered it, and the conflict may be with ourselves. The open goes once more under the next key, as without a mark.
/// - A relay that compares no bodies says `idempotent: true` to both. Then both answer: twice, never not at all.
///
/// The prompt. An agent whose prompts have a key of their own (`LiveAgent.promptHasKey`) gets it at once: whichever bridge sends it, it
/// runs once. The prompt of any other agent waits for the answer; once another bridge was seen, every prompt does. In a chat whose
/// messages the other bridge answers, each prompt would otherwise leave once the one before is known to be the other's, and join that
/// one's run.
///
/// States:
/// - *needless*: nothing waits. Final.
/// - *unasked*: the open waits for its bucket, its disk or its key, and the prompt waits with it. Can become: asked, when its bytes
///   have left; settled.
/// - *asked*: Can become: settled, when the relay has taken it, has refused it for another reason, or has been silent for
///   `patience`; unasked, when the relay reports an empty bucket.
/// - *settled*: the prompt may go. Final.
///
/// Invariants: a prompt waits at most `patience` once the bytes of its open have left and the relay has not sent them back, and no longer
/// than the bubble's window; nothing that a relay says keeps back the prompt of a message without a mark. A turn that is another bridge's
/// is closed, and stays closed in every later process.
package struct Claim: Hashable, Sendable {
    static let patience = Duration.seconds(2)
    /// How long the bubble of an unreadable message waits for its key.
    static let keyPatience = Duration.seconds(1)

    private enum State: Hashable {
        case needless, unasked
        case asked(until: Instant)
        case settled
    }

    private var state: State

    /// Nothing waits for the answer to its open.
    static let needless = Claim(state: .needless)
    static let unasked = Claim(state: .unasked)

    /// The prompt stays here.
    var holdsPrompt: Bool {
        switch state {
        case .unasked, .asked: true
        case .needless, .settled: false
        }
    }

    var due: Instant? { if case .asked(let until) = state { until } else { nil } }

    /// The bytes of the open have left. A later try does not prolong the prompt's wait.
    mutating func asked(at now: Instant) {
        if case .unasked = state { state = .asked(until: now + Self.patience) }
    }

    /// The relay did not look at the open: its bucket is empty.
    mutating func postponed() {
        if case .asked = state { state = .unasked }
    }

    mutating func settle() {
        if holdsPrompt { state = .settled }
    }

    mutating func timePassed(at now: Instant) {
        if let due, due <= now { state = .settled }
    }
}

/// The bridge that has answered messages which came to this one too.
package struct OtherBridge: Hashable, Sendable {
    /// Silence after which the other bridge counts as gone.
    package static let memory = Duration.seconds(24 * 3_600)

    package var last: Instant
    /// Messages that it has answered, with no pause longer than `memory` between them.
    package var messages: Int

    package init(last: Instant, messages: Int) {
        self.last = last
        self.messages = messages
    }

    func isThere(at now: Instant) -> Bool { now - last < Self.memory }
}
