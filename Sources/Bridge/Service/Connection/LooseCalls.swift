import RelayProtocol
import Vocabulary

/// The few calls that belong to no turn. Each is made once, since none is worth what a second one of it would show: a chat that was
/// made twice, or a sentence said twice.
struct LooseCalls: Sendable {
    private let edges: BridgeRunner.Edges
    /// Asked at each call: the token may be another one by then.
    private let relay: @Sendable () -> RelayAddress?
    /// Receives each answer, and whether the call's token is still in use.
    private let answered: @Sendable (RelayAnswer, Bool) -> Void
    /// Nil: nothing seals here.
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

    /// A chat for runs that no phone message began (relay.md#createsession).
    func makeChat(_ done: @escaping @Sendable (RelayAnswer) -> Void) {
        post(.newSession(source: "cron"), nil, done)
    }

    /// A sentence beside all bubbles, sealed where its chat is. Those that say the same thing in one hour are one.
    func say(_ text: String, in session: SessionID) {
        let hour = edges.clock.wallMilliseconds / 3_600_000
        say(text, in: session, once: "\(hour) \(text)") { _ in }
    }

    enum Said: Hashable, Sendable {
        case said
        /// Not in this chat, by the relay's word.
        case refused
        /// Nothing is known of it, or its key is not there yet.
        case unknown
    }

    /// `name`: what is said under it is said once in this chat.
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
            // An earlier process sealed it, in other bytes: it was said.
            case .refused(let refusal) where refusal.code == .idempotencyConflict: done(.said)
            case .refused(let refusal):
                done(refusal.code == .rateLimited || refusal.status >= 500 ? .unknown : .refused)
            case .unknown: done(.unknown)
            }
        }
    }

    /// Where calls go now.
    var address: RelayAddress? { relay() }

    /// For the phone to ask for it.
    func announce(
        _ announcement: FileAnnouncement, to relay: RelayAddress?,
        done: @escaping @Sendable (FileAnnouncements.Outcome) -> Void
    ) {
        let session = announcement.session
        var sealed: SealedContent?
        if announcement.sealing != .open {
            sealed = keys?.content(of: announcement.file, in: session, announcement.sealing.key)
            // Its key is not there any more: no phone could read what it is.
            if sealed == nil { return done(.done) }
        }
        post(.toolFile(announcement.use, announcement.file, in: session), sealed, to: relay) { answer in
            switch answer.outcome {
            case .delivered: done(.done)
            case .refused(let refusal) where refusal.code == .rateLimited:
                done(.wait(refusal.retryAfter ?? .seconds(5)))
            // The relay could not, for now.
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
