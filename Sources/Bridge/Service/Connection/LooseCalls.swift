import RelayProtocol
import Vocabulary

/// The few calls that belong to no turn. Each is made once, since a repeated one could make a second chat or say a sentence twice.
struct LooseCalls: Sendable {
    private let edges: BridgeRunner.Edges
    /// Relay of the next call, read at each call since the token may have changed.
    private let relay: @Sendable () -> RelayAddress?
    /// Receives each answer, and whether the call's token is still in use.
    private let answered: @Sendable (RelayAnswer, Bool) -> Void
    /// Nil if this connection seals nothing.
    private let keys: LiveKeys?

    init(
        _ edges: BridgeRunner.Edges, _ keys: LiveKeys?, relay: @escaping @Sendable () -> RelayAddress?,
        answered: @escaping @Sendable (RelayAnswer, Bool) -> Void
    ) {
        self.edges = edges
        self.keys = keys
        self.relay = relay
        self.answered = answered
    }

    /// Makes a chat for runs that no phone message began (relay.md#createsession).
    func makeChat(_ done: @escaping @Sendable (RelayAnswer) -> Void) {
        post(.newSession(source: "cron"), nil, done)
    }

    /// Says a sentence beside all bubbles, sealed if its chat is. Equal sentences within one hour are sent once.
    func say(_ text: String, in session: SessionID) {
        let hour = edges.clock.wallMilliseconds / 3_600_000
        say(text, in: session, once: "\(hour) \(text)") { _ in }
    }

    enum Said: Hashable, Sendable {
        case said
        /// The relay refuses the sentence in this chat.
        case refused
        /// The outcome is unknown, or the key is still missing.
        case unknown
    }

    /// Says a sentence in this chat, once under this `name`.
    func say(
        _ text: String, in session: SessionID, once name: String, done: @escaping @Sendable (Said) -> Void
    ) {
        let key = IdempotencyKey("notice-" + StableHash.text(of: "\(session) \(name)"))
        let said = Post.message(WholeMessage(part: .late, text: text))
        let call = RelayCall(said, to: .chat(session, nil), key: key)
        var sealed: SealedContent?
        switch keys?.notice(call, in: session) {
        case .open, nil: break
        case .sealed(let content): sealed = content
        case .unsaid: return done(.unknown)
        }
        post(call, sealed) { answer in
            switch answer.outcome {
            case .delivered: done(.said)
            // An earlier process sealed the sentence into other bytes, so the chat has it.
            case .refused(let refusal) where refusal.code == .idempotencyConflict: done(.said)
            case .refused(let refusal):
                done(refusal.code == .rateLimited || refusal.status >= 500 ? .unknown : .refused)
            case .unknown: done(.unknown)
            }
        }
    }

    /// Current address of calls.
    var address: RelayAddress? { relay() }

    /// Announces a file, so that the phone can ask for it.
    func announce(
        _ announcement: FileAnnouncement, to relay: RelayAddress?,
        done: @escaping @Sendable (FileAnnouncements.Outcome) -> Void
    ) {
        let session = announcement.session
        var sealed: SealedContent?
        if announcement.sealing != .open {
            sealed = keys?.content(of: announcement.file, in: session, announcement.sealing.key)
            // The key is gone: no phone could read the announcement.
            if sealed == nil { return done(.done) }
        }
        post(.toolFile(announcement.use, announcement.file, in: session), sealed, to: relay) { answer in
            switch answer.outcome {
            case .delivered: done(.done)
            case .refused(let refusal) where refusal.code == .rateLimited:
                done(.wait(refusal.retryAfter ?? .seconds(5)))
            // The relay fails for now.
            case .refused(let refusal) where refusal.status >= 500: done(.unknown)
            case .refused(let refusal): done(.refused(refusal.code))
            case .unknown: done(.unknown)
            }
        }
    }

    private func post(
        _ call: RelayCall, _ sealed: SealedContent?, _ done: @escaping @Sendable (RelayAnswer) -> Void
    ) {
        post(call, sealed, to: relay(), done)
    }

    private func post(
        _ call: RelayCall, _ sealed: SealedContent?, to relay: RelayAddress?,
        _ done: @escaping @Sendable (RelayAnswer) -> Void
    ) {
        guard let relay else { return done(RelayAnswer(.unknown(reason: "the connection is closed"))) }
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + RelayEncoder.path(of: call), headers: relay.headers,
            body: RelayEncoder.body(of: call, sealed: sealed), timeout: edges.callLimit)
        edges.http.send(request) { result in
            let answer = RelayDecoder.answer(
                to: result, expecting: RelayDecoder.expected(of: call), wall: edges.clock.wallMilliseconds)
            answered(answer, relay == self.relay())
            done(answer)
        }
    }
}
