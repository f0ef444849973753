// Frames from the bridge (relay.md#frames-bridge-to-relay). A misfit is a breach without effect: the
// relay ignores unknown frames, and a judge must still see the misspelt one.
extension Relay {
    package mutating func textReceived(_ text: [UInt8], on id: SocketID, at now: Moment) {
        guard let isFirst = sockets.frameReceived(on: id) else { return }
        let frame: JSONValue
        do throws(JSONFault) { frame = try JSONParser.parse(text) } catch {
            return socketBreach(.malformedFrame, "A frame is no JSON: \(error).", id, now)
        }
        guard case .object = frame, let type = frame["type"]?.string else {
            return socketBreach(.malformedFrame, "A frame is no object with a type.", id, now)
        }
        if let request = frame["req_id"] {
            guard let request = request.string else {
                return socketBreach(.malformedFrame, "The req_id of a frame is no string.", id, now)
            }
            return answerReceived(frame, type: type, request: request, on: id, at: now)
        }
        switch type {
        case "hello": helloReceived(frame, isFirst: isFirst, on: id, at: now)
        case "pong": sockets.pongReceived(on: id)
        case "ping": if sockets.takesPart(id) { sockets.instruct(id, .send(Array(#"{"type":"pong"}"#.utf8))) }
        case "ack": acknowledgementReceived(frame, on: id, at: now)
        default: socketBreach(.unknownFrame, "The relay knows no frame \(type.prefix(64)).", id, now)
        }
    }

    /// All frames are JSON text (relay.md#the-bridge-websocket).
    package mutating func binaryReceived(on id: SocketID, at now: Moment) {
        socketBreach(.malformedFrame, "A frame was binary.", id, now)
    }

    /// The codec ended the connection because of the bridge's bytes.
    package mutating func protocolBroken(_ sentence: String, on id: SocketID, at now: Moment) {
        socketBreach(.malformedFrame, sentence, id, now)
    }

    private mutating func helloReceived(_ frame: JSONValue, isFirst: Bool, on id: SocketID, at now: Moment) {
        guard let version = frame["version"]?.string, (1...256).contains(version.utf8.count) else {
            return socketBreach(.malformedFrame, "The hello has no version.", id, now)
        }
        guard isFirst else {
            return socketBreach(.lateHello, "The hello came after another frame.", id, now)
        }
        sockets.helloReceived(version: version, on: id)
        installation.bridgeSaid(version: version)
    }

    private mutating func acknowledgementReceived(_ frame: JSONValue, on id: SocketID, at now: Moment) {
        let update: String
        // Ids are opaque strings; the flat form has whole numbers (relay.md#where-the-sources-disagree).
        switch frame["up_to_update_id"] {
        case .string(let text): update = text
        case .number(let text): update = text
        default: return socketBreach(.malformedFrame, "The ack has no up_to_update_id.", id, now)
        }
        guard updates.wasSent(update) else {
            return socketBreach(
                .unknownUpdate, "The ack names the update \(update.prefix(64)), which was never sent.", id, now)
        }
        if counted(faults.strike(.acknowledgement, among: [.lostAcknowledgement])) != nil { return }
        acknowledge(upTo: update)
        deliverUpdates(at: now)
    }
}
