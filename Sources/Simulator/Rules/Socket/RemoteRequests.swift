/// A request of the relay to the bridge, and its outcome.
package struct RemoteRequest: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        case waiting
        /// The whole frame of the answer.
        case answered([UInt8])
        /// The socket ended before the answer.
        case lost
        /// Answered, but many large answers came after it.
        case forgotten
    }

    package var id: String
    /// Nil if the frame had no type.
    package var type: String?
    package var outcome: Outcome
    var socket: SocketID
}

// Frames with a `req_id` (relay.md#relay-to-bridge-rpcs-req_id-frames): files, models, cron.
extension Relay {
    /// Sends a request on the newest socket, or returns nil without one. The members of the JSON object `fields` go along.
    package mutating func ask(type: String?, fields: [UInt8]) -> String? {
        guard let parsed = try? JSONParser.parse(fields) else { return nil }
        return ask(type: type, fields: parsed)
    }

    mutating func ask(type: String?, fields: JSONValue) -> String? {
        guard let socket = sockets.ids.last(where: { sockets.takesPart($0) }) else { return nil }
        let id = identifiers.identifier("rpc_")
        let frame = JSONWriter.object { frame in
            frame.field("type", type)
            frame.field("req_id", id)
            guard case .object(let members) = fields else { return }
            for member in members where member.name != "type" && member.name != "req_id" {
                frame.field(member.name, json: member.value.text)
            }
        }
        sockets.ask(
            RemoteRequest(id: id, type: type, outcome: .waiting, socket: socket), frame: frame,
            limit: options.socket.requestLimit)
        return id
    }

    package func remoteRequest(_ id: String) -> RemoteRequest? { sockets.request(id) }

    mutating func answerReceived(
        _ frame: JSONValue, type: String, request id: String, on socket: SocketID, at now: Moment
    ) {
        guard let request = sockets.request(id), request.outcome == .waiting else {
            return socketBreach(.unknownRequest, "A \(type.prefix(64)) answers no request that waits.", socket, now)
        }
        let expected = Self.answerType(of: request.type)
        if type != expected {
            socketBreach(.malformedFrame, "The answer has the type \(type.prefix(64)), not \(expected).", socket, now)
        }
        if let fault = Self.fault(of: frame, answering: request.type) {
            socketBreach(fault.code, "The answer \(expected) \(fault.sentence).", socket, now)
        }
        sockets.answered(id, Array(frame.text.utf8), limit: options.socket.answerLimit)
    }

    private static func answerType(of request: String?) -> String {
        guard let request else { return "rpc.resp" }
        return request.hasSuffix(".req") ? request.dropLast(4) + ".resp" : request + ".resp"
    }

    /// 1.5 MiB in base64, with the overhead of sealing (relay.md#size-limits).
    private static let fileLimit = (1_572_864 + 29 + 2) / 3 * 4

    /// The flaw of an answer (the table of relay.md#relay-to-bridge-rpcs-req_id-frames).
    private static func fault(of frame: JSONValue, answering type: String?) -> (code: BreachCode, sentence: String)? {
        if let error = frame["error"] {
            return error["code"]?.string == nil ? (.malformedFrame, "has an error without a code") : nil
        }
        switch type {
        case "file.read.req":
            guard frame["mime_type"]?.string != nil, let size = frame["size_bytes"]?.integer, size >= 0,
                let content = frame["base64"]?.string
            else { return (.malformedFrame, "lacks mime_type, size_bytes or base64") }
            return content.utf8.count > fileLimit ? (.oversized, "carries more than 1.5 MiB") : nil
        case "models.list.req":
            guard case .array(let models) = frame["models"], models.allSatisfy({ $0["id"]?.string != nil }) else {
                return (.malformedFrame, "has no list of models, each with an id")
            }
            return nil
        case let type? where type.hasPrefix("cron."):
            guard case .object = frame["result"] else { return (.malformedFrame, "has no result") }
            return nil
        default: return (.malformedFrame, "should be an error: the request is unknown to bridges")
        }
    }
}
