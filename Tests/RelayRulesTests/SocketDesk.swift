import RelayRules

/// A relay and the sockets of a bridge, without any network: frames in, frames out.
struct SocketDesk {
    static let start = Moment(milliseconds: 1_770_000_000_000)

    var relay: Relay
    var at = SocketDesk.start

    init(_ change: (inout RelayOptions) -> Void = { _ in }) {
        var options = RelayOptions()
        change(&options)
        relay = Relay(options: options)
    }

    static func upgrade(token: String = RelayOptions().bridgeToken, query: String = "") -> RawRequest {
        RawRequest(
            method: "GET", target: "/v1/bridge/ws\(query)",
            headers: [RawHeader("Authorization", "Bearer \(token)"), RawHeader("X-Request-ID", "upgrade")])
    }

    mutating func open(query: String = "") -> SocketID {
        relay.socketOpened(by: Self.upgrade(query: query), at: at)
    }

    /// The status of the answer to an upgrade, or 101 if the relay accepts it.
    mutating func upgradeStatus(token: String = RelayOptions().bridgeToken, query: String = "") -> Int {
        relay.refusesUpgrade(Self.upgrade(token: token, query: query), at: at)?.status ?? 101
    }

    mutating func say(_ frame: String, on socket: SocketID) {
        relay.textReceived(Array(frame.utf8), on: socket, at: at)
    }

    mutating func pass(seconds: Int64) {
        at = at.advanced(byMilliseconds: seconds * 1_000)
        relay.tick(at: at)
    }

    /// Instructions since the last look: the type of a frame, with the id of an update or the code of a close.
    mutating func heard() -> [String] { instructions().map(\.text) }

    /// Instructions of one socket since the last look.
    mutating func heard(on socket: SocketID) -> [String] {
        instructions().filter { $0.socket == socket }.map(\.text)
    }

    private mutating func instructions() -> [(socket: SocketID, text: String)] {
        relay.takeSocketInstructions().map { instruction in
            switch instruction.order {
            case .send(let frame): (instruction.socket, Self.summary(String(decoding: frame, as: UTF8.self)))
            case .close(let code, _): (instruction.socket, "close \(code)")
            case .cut: (instruction.socket, "cut")
            case .stopReading: (instruction.socket, "stop reading")
            }
        }
    }

    private static func summary(_ frame: String) -> String {
        if let update = value(of: "update_id", in: frame) { return "update \(update)" }
        return value(of: "type", in: frame) ?? frame
    }

    mutating func control(_ method: String, _ path: String, _ body: String = "") -> (status: Int, text: String) {
        let request = RawRequest(method: method, target: "/v1/simulator/\(path)", body: Array(body.utf8))
        guard let answer = relay.controlCall(request, at: at) else { return (0, "") }
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    mutating func call(
        _ method: String, _ path: String, _ body: String = "{}", token: String? = nil
    ) -> (status: Int, text: String) {
        let headers =
            [RawHeader("Host", "relay.test")] + (token.map { [RawHeader("Authorization", "Bearer \($0)")] } ?? [])
        let request = RawRequest(method: method, target: path, headers: headers, body: Array(body.utf8))
        let answer = relay.respond(to: request, at: at).response
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }

    mutating func asUser(_ method: String, _ path: String, _ body: String = "{}") -> (status: Int, text: String) {
        call(method, "/v1/me/\(path)", body, token: RelayOptions().userToken)
    }

    mutating func asBridge(_ method: String, _ body: String) -> (status: Int, text: String) {
        call("POST", "/v1/bridge/\(method)", body, token: RelayOptions().bridgeToken)
    }

    static func bridgeCall(_ method: String, _ body: String) -> RawRequest {
        RawRequest(
            method: "POST", target: "/v1/bridge/\(method)",
            headers: [RawHeader("Authorization", "Bearer \(RelayOptions().bridgeToken)")], body: Array(body.utf8))
    }

    static func placeholder(_ session: String, _ interaction: String) -> String {
        #"{"session_id":"\#(session)","interaction_id":"\#(interaction)","text":" ","idempotency_key":"\#(interaction)-open"}"#
    }

    /// The value of the first member of a name, a string or a number.
    static func value(of name: String, in json: String) -> String? {
        guard let start = json.firstRange(of: "\"\(name)\":") else { return nil }
        let rest = json[start.upperBound...]
        return rest.first == "\"" ? String(rest.dropFirst().prefix { $0 != "\"" }) : String(rest.prefix { $0.isNumber })
    }
}
