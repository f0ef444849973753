import RelayProtocol
import Testing
import Vocabulary
import Worlds

/// One link and the runner's side of it: one line for each event, and the orders since then.
final class LinkConversation {
    typealias Order = RelayLink.Order

    static let url = "wss://relay.example/v1/bridge/ws"
    static let headers = [HTTPHeader("Authorization", "Bearer inst_1:s_test_1")]
    static let dial = Order.dial(url: url, headers: headers)

    var link: RelayLink
    var now = Instant.zero
    var wall: Int64 = 1_770_000_000_000
    private var random = NoJitter()
    private var collected: [Order] = []
    private var seen: [UpdateID: RelayUpdate] = [:]

    init(helloVersion: String? = nil, updateLimit: Int = 256, relay: WebAddress = WebAddress(.https, "relay.example")) {
        link = RelayLink(
            RelayLinkSettings(
                relay: relay, token: Secret("inst_1:s_test_1"), helloVersion: helloVersion, updateLimit: updateLimit))
    }

    /// A link that the relay accepted, with nothing left to read.
    static func live(updateLimit: Int = 256) -> LinkConversation {
        let talk = LinkConversation(updateLimit: updateLimit)
        talk.start()
        talk.open()
        talk.receive(#"{"type":"ready","installation_id":"inst_1"}"#)
        _ = talk.orders
        return talk
    }

    /// Orders since the last read of this property.
    var orders: [Order] {
        defer { collected = [] }
        return collected
    }

    /// Texts sent since the last read of `orders`, without the other orders.
    var sent: [String] {
        orders.compactMap { if case .send(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { nil } }
    }

    var updates: [RelayUpdate] { orders.compactMap { if case .update(let update) = $0 { update } else { nil } } }

    // MARK: What happens

    func start() {
        link.start(at: now)
        collect()
    }

    func open() {
        link.opened(at: now)
        collect()
    }

    func receive(_ frames: String...) {
        for frame in frames {
            let bytes = Array(frame.utf8)
            bytes.withUnsafeBytes { link.received($0, capacity: $0.count, at: now, using: &random) }
        }
        collect()
    }

    func receive(_ id: Int, type: String = "session.ended", payload: String = #"{"session":{"id":"ses_1"}}"#) {
        receive(#"{"type":"update","update":{"update_id":"\#(id)","type":"\#(type)","payload":\#(payload)}}"#)
    }

    func acknowledge(_ ids: Int...) { acknowledge(ids.map { "\($0)" }) }

    /// Acknowledges the newest update of each id. An update that never arrived is skipped.
    func acknowledge(_ ids: [String]) {
        for id in ids { if let update = seen[UpdateID(id)] { link.acknowledge(update, at: now) } }
        collect()
    }

    func close(_ code: Int, _ reason: String = "") {
        link.closed(code: code, reason: reason, at: now, using: &random)
        collect()
    }

    func refuse(_ status: Int, _ body: String = "") {
        link.refused(status: status, body: Array(body.utf8), at: now, using: &random)
        collect()
    }

    func fail(_ message: String) {
        link.failed(message: message, at: now, using: &random)
        collect()
    }

    func use(_ token: String) {
        link.use(Secret(token), at: now)
        collect()
    }

    func reply(_ reply: RelayReply, to request: RelayRequest) {
        link.reply(reply, to: request, at: now)
        collect()
    }

    func pong() {
        link.ponged(at: now)
        collect()
    }

    func slept() {
        link.slept(at: now, using: &random)
        collect()
    }

    func shutDown() {
        link.shutDown(at: now)
        collect()
    }

    func pass(_ seconds: Double, asleep: Bool = false) {
        let end = now + .seconds(seconds)
        // A runner calls at each deadline, unless it slept.
        while !asleep, let next = link.nextDeadline, next <= end {
            move(to: max(next, now))
            tick()
        }
        move(to: end)
        if asleep { tick() }
    }

    /// The wall clock advances while the monotonic one stands still.
    func standStill(_ seconds: Int64) {
        wall += seconds * 1_000
        tick()
    }

    func tick() {
        link.timePassed(at: now, wallMilliseconds: wall, using: &random)
        collect()
    }

    private func move(to moment: Instant) {
        wall += (moment - now).nanoseconds / 1_000_000
        now = moment
    }

    private func collect() {
        let orders = link.takeOrders()
        for case .update(let update) in orders { seen[update.id] = update }
        collected += orders
    }
}
