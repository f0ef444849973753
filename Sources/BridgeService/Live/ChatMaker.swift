import BridgeModel
import RelayProtocol

/// Makes chats at the relay for runs that no phone message began (relay sheet 6.6). Such runs are few, and nothing else draws
/// from their bucket.
///
/// The call has no key, so it is made once: an answer that was lost would leave a second empty chat. A run whose chat the relay
/// would not make is not shown; the next one of its session asks again.
struct ChatMaker: Sendable {
    private let edges: BridgeRunner.Edges
    private let relay: RelayAddress

    init(_ edges: BridgeRunner.Edges, relay: RelayAddress) {
        self.edges = edges
        self.relay = relay
    }

    /// Nil: the relay would not.
    func make(_ done: @escaping @Sendable (SessionID?) -> Void) {
        let call = RelayCall.createSession(CreateSession(source: "cron"))
        let request = HTTPRequest(
            method: "POST", url: relay.baseURL + RelayEncoder.path(of: call), headers: relay.headers,
            body: RelayEncoder.body(of: call))
        edges.http.send(request) { result in
            let answer = RelayDecoder.answer(
                to: result, expecting: RelayDecoder.expected(of: call), wall: edges.clock.wallMilliseconds)
            guard case .delivered(let receipt) = answer.outcome else { return done(nil) }
            done(receipt.session)
        }
    }
}
