import BridgeModel
import RelayProtocol

/// The few calls that belong to no turn. Each is made once, since none is worth what a second one of it would show: a chat that was
/// made twice, or a sentence said twice.
struct LooseCalls: Sendable {
    private let edges: BridgeRunner.Edges
    /// Asked at each call: the token may be another one by then.
    private let relay: @Sendable () -> RelayAddress?
    private let answered: @Sendable (RelayAnswer) -> Void

    init(
        _ edges: BridgeRunner.Edges, relay: @escaping @Sendable () -> RelayAddress?,
        answered: @escaping @Sendable (RelayAnswer) -> Void
    ) {
        self.edges = edges
        self.relay = relay
        self.answered = answered
    }

    /// A chat for runs that no phone message began (relay.md#createsession).
    func makeChat(_ done: @escaping @Sendable (RelayAnswer) -> Void) {
        post(.newSession(source: "cron"), done)
    }

    /// A sentence beside all bubbles. Those that say the same thing in one hour are one.
    func say(_ text: String, in session: SessionID) {
        let hour = edges.clock.wallMilliseconds / 3_600_000
        let key = IdempotencyKey("notice-" + StableHash.text(of: "\(session) \(hour) \(text)"))
        let said = Post.message(WholeMessage(part: .late, text: text))
        post(RelayCall(said, to: .chat(session, nil), key: key)) { _ in }
    }

    private func post(_ call: RelayCall, _ done: @escaping @Sendable (RelayAnswer) -> Void) {
        guard let relay = relay() else { return done(RelayAnswer(.unknown(reason: "the connection is closed"))) }
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + RelayEncoder.path(of: call), headers: relay.headers,
            body: RelayEncoder.body(of: call), timeout: edges.callLimit)
        edges.http.send(request) { result in
            let answer = RelayDecoder.answer(
                to: result, expecting: RelayDecoder.expected(of: call), wall: edges.clock.wallMilliseconds)
            answered(answer)
            done(answer)
        }
    }
}
