/// One REST call of the bridge, in the view of the relay's watchers.
package struct BridgeCall: Hashable, Sendable {
    package var number: UInt64
    package var at: Moment
    package var method: String
    /// 0 if the connection was reset without an answer.
    package var status: Int
    package var code: String?
    package var request: String
    package var session: String?
    package var interaction: String?
    package var byteCount: Int
    /// Kind of the fault that struck the call.
    package var fault: String?
    package var warnings: [WarningCode]
}

/// The last calls, up to a number. A limit of 0 keeps none and costs nothing.
struct RecentCalls: Sendable {
    private(set) var lastNumber: UInt64 = 0
    private var calls: [BridgeCall] = []
    let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func add(_ call: BridgeCall) {
        lastNumber += 1
        var call = call
        call.number = lastNumber
        calls.append(call)
        // Remove halves: taking one off the front for each call would move all others every time.
        if calls.count >= 2 * limit { calls.removeFirst(calls.count - limit) }
    }

    func calls(after number: UInt64) -> ArraySlice<BridgeCall> {
        guard lastNumber > number else { return [] }
        return calls.suffix(Int(min(lastNumber - number, UInt64(limit))))
    }
}

/// Names in a bridge call, noted while it is judged.
struct CallSubject: Sendable {
    var session: String?
    var interaction: String?
    var message: String?
}

extension Relay {
    /// The kept calls after a number; all of them after 0.
    package func calls(after number: UInt64) -> ArraySlice<BridgeCall> { records.log.calls(after: number) }
    package var lastCallNumber: UInt64 { records.log.lastNumber }

    /// Notes the names before the fields are judged: a refused call has a place too. Longer texts than any name serve only to fill the memory.
    mutating func noteSubject(_ root: JSONValue) {
        guard records.isWatched else { return }
        records.note(
            CallSubject(
                session: root["session_id"]?.string?.cut(to: 256),
                interaction: root["interaction_id"]?.string?.cut(to: 256),
                message: root["message_id"]?.string?.cut(to: 256)))
    }

    /// Notes the call after its answer, which names the request.
    mutating func noteCall(_ request: RawRequest, _ exchange: Exchange, at now: Moment) {
        guard records.isWatched, request.target.hasPrefix("/v1/bridge/") else { return }
        let subject = records.takeSubject()
        let place = subject.message.flatMap { chats.place(ofMessage: $0) }
        let interaction = place.flatMap { chats.message(at: $0)?.interaction }
        let answer = exchange.response
        records.add(
            BridgeCall(
                number: 0, at: now, method: Self.method(of: request).cut(to: 64),
                status: exchange.delivery == .connectionReset ? 0 : answer.status,
                code: answer.status < 400 || exchange.delivery == .connectionReset ? nil : Self.code(in: answer.body),
                request: answer.headers.value(of: "X-Request-ID") ?? "", session: subject.session ?? place?.session,
                interaction: subject.interaction ?? interaction, byteCount: request.body.count, fault: exchange.fault,
                warnings: exchange.warnings))
    }

    private static func method(of request: RawRequest) -> String {
        RequestTarget(request.target).segments.dropFirst(2).joined(separator: "/")
    }

    private static func code(in body: [UInt8]) -> String? {
        guard body.count <= 65_536, let answer = try? JSONParser.parse(body) else { return nil }
        return answer["error"]?["code"]?.string
    }
}

extension String {
    /// At most so many bytes. Characters would be no bound: one of them can have any number of accents.
    func cut(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(startIndex, offsetBy: count)
        // Back to the beginning of a code point.
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
