import BridgeModel
import RelayProtocol

/// The few calls that belong to no turn. Each is made once, since none is worth what a second one of it would show: a chat that was
/// made twice, or a sentence said twice.
struct LooseCalls: Sendable {
    private let edges: BridgeRunner.Edges
    private let relay: RelayAddress

    init(_ edges: BridgeRunner.Edges, relay: RelayAddress) {
        self.edges = edges
        self.relay = relay
    }

    /// A chat for runs that no phone message began (relay sheet 6.6). Nil: the relay would not. A run whose chat was not made is
    /// not shown; the next one of its session asks again.
    func makeChat(_ done: @escaping @Sendable (SessionID?) -> Void) {
        post(.createSession(CreateSession(source: "cron"))) { answer in
            guard case .delivered(let receipt) = answer.outcome else { return done(nil) }
            done(receipt.session)
        }
    }

    /// A sentence beside all bubbles. Those that say the same thing in one hour are one.
    func say(_ text: String, in session: SessionID) {
        let hour = edges.clock.wallMilliseconds / 3_600_000
        let key = IdempotencyKey("notice-" + StableHash.text(of: "\(session) \(hour) \(text)"))
        post(.sendMessage(SendMessage(session: session, interaction: nil, text: text, key: key))) { _ in }
    }

    private func post(_ call: RelayCall, _ done: @escaping @Sendable (RelayAnswer) -> Void) {
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + RelayEncoder.path(of: call), headers: relay.headers,
            body: RelayEncoder.body(of: call), timeout: edges.callLimit)
        edges.http.send(request) { result in
            done(
                RelayDecoder.answer(
                    to: result, expecting: RelayDecoder.expected(of: call), wall: edges.clock.wallMilliseconds))
        }
    }
}
