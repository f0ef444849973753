import JSONReading
package import Vocabulary

// Frames with a `req_id`, and their answers (relay.md#relay-to-bridge-rpcs-req_id-frames).
extension RelayLink {
    mutating func asked(_ id: String, _ root: FrameNode, _ type: FrameNode?, at now: Instant) {
        let type = (type?.string ?? "").head(bytes: 256)
        guard (1...256).contains(id.utf8.count) else { return unknown.countMalformed() }
        guard isLive else { return unknown.count("request before ready", type) }
        switch RelayRequest.read(root, type, id: id) {
        case .unknown:
            unknown.count("request", type)
            var error = JSONObjectWriter()
            error.string("code", "unknown_request")
            error.string("type", type)
            send(answer: id, type, error: error.finish())
        case .malformed(let code, let message): send(.failed(code: code, message: message), to: id, type)
        case .request(let request):
            // A repeated request gets one answer.
            if requests.knows(id) { return }
            guard requests.hasRoom else {
                return send(.failed(code: "handler_failed", message: "the bridge has too many requests"), to: id, type)
            }
            requests.came(request, type: type, at: now)
            guard case .file = request.question else { return orders.append(.request(request)) }
            files.came(request)
            askForFiles()
        }
    }

    mutating func askForFiles() { while let next = files.next() { orders.append(.request(next)) } }

    /// Drops the reply to a request that has expired or came on another socket: the relay has already reported its failure to the phone.
    package mutating func reply(_ reply: RelayReply, to request: RelayRequest, at now: Instant) {
        guard isLive, let type = requests.answered(request.id) else { return }
        send(reply, to: request.id, type)
        if files.answered(request.id, bytes: reply.size, at: now) { orders.append(.ping) }
        askForFiles()
    }

    mutating func expireRequests(at now: Instant) {
        for (request, type) in requests.expire(at: now) {
            send(.failed(code: request.failure, message: "no answer in time"), to: request.id, type)
            _ = files.answered(request.id, bytes: 0, at: now)
        }
        files.timePassed(at: now)
        askForFiles()
    }

    private mutating func send(_ reply: RelayReply, to id: String, _ type: String) {
        switch reply {
        case .members(let members): send(members, to: id, type)
        case .failed(let code, let message, let details):
            var error = JSONObjectWriter()
            error.string("code", code)
            error.string("message", message.head(bytes: 1_000))
            error.members(details)
            send(answer: id, type, error: error.finish())
        }
    }

    private mutating func send(answer id: String, _ type: String, error: [UInt8]) {
        var members = JSONObjectWriter()
        members.raw("error", error)
        send(members.finish(), to: id, type)
    }

    private mutating func send(_ members: [UInt8], to id: String, _ type: String) {
        var frame = JSONObjectWriter()
        frame.members(members)
        frame.string("type", type.hasSuffix(".req") ? "\(type.dropLast(4)).resp" : type.isEmpty ? "rpc.resp" : type)
        frame.string("req_id", id)
        orders.append(.send(frame.finish()))
    }
}
