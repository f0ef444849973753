/// One REST call of the bridge, as watchers of the relay see it.
package struct BridgeCall: Hashable, Sendable {
    package var number: UInt64
    package var at: Moment
    package var method: String
    /// 0: the connection was reset, and nothing was answered.
    package var status: Int
    package var code: String?
    package var request: String
    package var session: String?
    package var interaction: String?
    package var byteCount: Int
    /// The kind of the fault that struck it.
    package var fault: String?
    package var warnings: [WarningCode]
}

/// The last calls, up to a number; a limit of 0 keeps none and costs nothing.
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
        // In halves: taking one off the front for each call would move all of them every time.
        if calls.count >= 2 * limit { calls.removeFirst(calls.count - limit) }
    }

    func calls(after number: UInt64) -> ArraySlice<BridgeCall> {
        guard lastNumber > number else { return [] }
        return calls.suffix(Int(min(lastNumber - number, UInt64(limit))))
    }
}

/// What a bridge call was about, noted while it is judged.
struct CallSubject: Sendable {
    var session: String?
    var interaction: String?
    var message: String?
}

extension Relay {
    /// The calls after a number, of those that are kept; 0: all of them.
    package func calls(after number: UInt64) -> ArraySlice<BridgeCall> { records.log.calls(after: number) }
    package var lastCallNumber: UInt64 { records.log.lastNumber }

    /// Before the fields are judged: a refused call has a place too. What is longer than any name was sent to fill the memory.
    mutating func noteSubject(_ root: JSONValue) {
        guard records.isWatched else { return }
        records.note(
            CallSubject(
                session: root["session_id"]?.string?.cut(to: 256),
                interaction: root["interaction_id"]?.string?.cut(to: 256),
                message: root["message_id"]?.string?.cut(to: 256)))
    }

    /// After the answer is made: it names the request.
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
    /// So many bytes at most. Characters would be no bound: one of them can have any number of accents.
    func cut(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(startIndex, offsetBy: count)
        // Back to where a code point begins.
        while utf8[end] & 0xC0 == 0x80 { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
