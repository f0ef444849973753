import Vocabulary

/// The chat in which one agent session's own runs are shown.
///
/// States:
/// - `absent`: there is no chat, and none is wanted. Can transition to: wanted (a run should be shown).
/// - `wanted`: to be requested, not before a moment. Can transition to: asked; absent (no run needs it by now).
/// - `asked`: the intent is in the journal, and `createSession` is on its way. Can transition to: made; wanted (rate limited; the outcome is
/// unknown after fewer than three tries; the intent could not be written); refused.
/// - `made`: runs are shown in it. Can transition to: absent, or muted by configuration (the person deleted it).
/// - `refused`: the relay refuses the chat, or three tries had an unknown outcome. The words of its runs are kept. Can transition to:
/// wanted (the next run).
/// - `muted`: the person deleted the last chat and wants no other. Final.
///
/// Invariants:
/// - No try leaves before the journal counts it, so there are at most three of unknown outcome for one want, also over restarts.
/// `createSession` carries no key: each such try may have made a chat that stays empty.
/// - A rate limit is not an attempt.
struct RunChat: Sendable, Hashable {
    enum State: Sendable, Hashable {
        case absent
        case wanted(tries: Int, notBefore: Instant?)
        case asked(tries: Int)
        case made(SessionID)
        case refused
        case muted
    }

    enum Answer: Sendable, Hashable {
        case made(SessionID)
        case wait(Duration)
        case unknown
        case refused
        /// The intent could not be written, so nothing left.
        case unwritten
    }

    static let triesLimit = 3
    private static let backOff = BackOff(first: .seconds(2), factor: 4, longest: .seconds(8))
    private(set) var state = State.absent

    /// A chat from an earlier process may have any `state`.
    init(_ state: State = .absent) { self.state = state }

    var chat: SessionID? { if case .made(let chat) = state { chat } else { nil } }
    var isMuted: Bool { state == .muted }
    var keepsWords: Bool {
        switch state {
        case .refused, .made: true
        case .absent, .wanted, .asked, .muted: false
        }
    }

    /// True if the chat must be requested from now on.
    mutating func want() -> Bool {
        switch state {
        case .absent, .refused:
            state = .wanted(tries: 0, notBefore: nil)
            return true
        case .wanted, .asked, .made, .muted: return false
        }
    }

    func mayAsk(at now: Instant) -> Bool {
        guard case .wanted(_, let moment) = state else { return false }
        return moment.map { $0 <= now } ?? true
    }

    /// Number of this try, or nil if the chat is not wanted.
    mutating func ask() -> Int? {
        guard case .wanted(let tries, _) = state else { return nil }
        state = .asked(tries: tries + 1)
        return tries + 1
    }

    mutating func answered(_ answer: Answer, at now: Instant) {
        guard case .asked(let tries) = state else { return }
        switch answer {
        case .made(let chat): state = .made(chat)
        case .wait(let pause): state = .wanted(tries: tries - 1, notBefore: now + pause)
        case .unwritten: state = .wanted(tries: tries - 1, notBefore: now + .seconds(5))
        case .unknown where tries < Self.triesLimit:
            state = .wanted(tries: tries, notBefore: now + Self.backOff.pause(after: tries))
        case .unknown, .refused: state = .refused
        }
    }

    mutating func notWanted() { state = .absent }
    mutating func deleted(mute: Bool) { state = mute ? .muted : .absent }
}
