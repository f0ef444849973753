import CMicrohttpd
import Vocabulary
import WebSocketCodec

/// One request from its first line to its end, in the library's callbacks. Only the library's thread touches
/// it; other threads reach it through the locks of `EventStream` and `PendingAnswer`.
///
/// States: *new* (only the target is known); *receiving*; *discarding* (the body exceeds the limit, the rest is drained);
/// *waiting* for a ticket; *answered*. Can transition to: new to receiving, discarding, answered; receiving to discarding,
/// waiting, answered; discarding to answered; waiting to answered.
final class OpenRequest {
    private enum Phase {
        case new, receiving, discarding
        case waiting(PendingAnswer)
        case answered
    }

    private let target: String
    private var phase = Phase.new
    private var headers: [LocalHeader] = []
    private var body: [UInt8] = []
    private var received = 0
    private var wakeable: (any Wakeable)?
    /// Kept until the request completes: the library holds a bare pointer to it.
    private var pendingUpgrade: PendingUpgrade?

    init(target: String) { self.target = target }

    /// One call of the library. `.NO` closes the connection.
    func proceed(
        _ connection: Connection, method: String, upload: UnsafeRawBufferPointer, engine: ServerEngine
    ) -> MHD_Result {
        switch phase {
        case .new:
            return begin(connection, engine)
        case .receiving, .discarding:
            guard upload.isEmpty else { return take(upload, engine) }
            guard case .receiving = phase else { return send(Self.tooLarge(engine), on: connection) }
            let request = LocalRequest(
                method: method, target: target, headers: headers, body: body,
                isFromThisMachine: cmicrohttpd_is_loopback(connection.pointer) != 0)
            body = []
            return perform(engine.handler(request), to: method, on: connection, engine)
        case .waiting(let pending):
            return settle(pending, on: connection)
        case .answered:
            return .NO
        }
    }

    /// The library has finished with the request, for any reason.
    func completed(_ engine: ServerEngine) {
        if let wakeable { engine.forget(wakeable) }
        switch wakeable {
        case let stream as any StreamSource: stream.requestCompleted()
        case let pending as PendingAnswer: pending.requestCompleted()
        default: break
        }
        wakeable = nil
    }

    // MARK: - Receiving

    private func begin(_ connection: Connection, _ engine: ServerEngine) -> MHD_Result {
        headers = connectionHeaders(connection)
        if engine.isStopping {
            return send(Self.closing(engine, 503, "The server is stopping; try again."), on: connection)
        }
        if let refusal = engine.admission?.refusal(of: headers) {
            return send(engine.refusal(refusal.status, refusal.sentence), on: connection)
        }
        guard hasOneLength else {
            // A proxy between the client and this server may see another end of the body.
            let sentence = "The request says in more than one way how long its body is."
            return send(Self.closing(engine, 400, sentence), on: connection)
        }
        let declared = headers.last { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        // A far too large body is refused at once, and the connection ends. A slightly too large one is drained first:
        // a client that is still sending when the connection ends may never see the answer.
        if declared > engine.discardLimit { return send(Self.tooLarge(engine), on: connection) }
        phase = declared > engine.bodyLimit ? .discarding : .receiving
        return .YES
    }

    /// RFC 9112, 6.3: more than one length may be an attempt to smuggle a request.
    private var hasOneLength: Bool {
        let names = headers.map { $0.name.lowercased() }
        return names.count { $0 == "content-length" || $0 == "transfer-encoding" } <= 1
    }

    private func take(_ upload: UnsafeRawBufferPointer, _ engine: ServerEngine) -> MHD_Result {
        received += upload.count
        if received > engine.discardLimit { return .NO }
        if received > engine.bodyLimit {
            phase = .discarding
            body = []
        } else if case .receiving = phase {
            body.append(contentsOf: upload)
        }
        return .YES
    }

    private static func tooLarge(_ engine: ServerEngine) -> LocalResponse {
        closing(engine, 413, "The body is larger than \(engine.bodyLimit) bytes.")
    }

    /// A refusal that ends the connection.
    private static func closing(_ engine: ServerEngine, _ status: Int, _ sentence: String) -> LocalResponse {
        var response = engine.refusal(status, sentence)
        response.headers.append(LocalHeader("Connection", "close"))
        return response
    }

    // MARK: - Answering

    private func perform(
        _ answer: LocalAnswer, to method: String, on connection: Connection, _ engine: ServerEngine
    ) -> MHD_Result {
        switch answer {
        case .whole(let response):
            return send(response, on: connection)
        case .stream(let head, let stream): return send(head, stream, on: connection, engine)
        case .feed(let head, let reader): return send(head, reader, on: connection, engine)
        case .deferred(let ticket):
            let pending = ticket.pending
            keep(pending, engine)
            phase = .waiting(pending)
            return settle(pending, on: connection)
        case .webSocket(let acceptance):
            return upgrade(acceptance, method: method, on: connection, engine)
        case .reset:
            return reset(connection)
        }
    }

    private func upgrade(
        _ acceptance: WebSocketAcceptance, method: String, on connection: Connection, _ engine: ServerEngine
    ) -> MHD_Result {
        switch UpgradeHandshake.judge(method: method, headers: headers.map { HTTPHeader($0.name, $0.value) }) {
        case .refuse(let status, let sentence):
            var response = engine.refusal(status, sentence)
            if status == 426 {
                response.headers += [LocalHeader("Upgrade", "websocket"), LocalHeader("Sec-WebSocket-Version", "13")]
            }
            return send(response, on: connection)
        case .accept(let value):
            phase = .answered
            let head = LocalResponse(
                status: 101,
                headers: [LocalHeader("Upgrade", "websocket"), LocalHeader("Sec-WebSocket-Accept", value)]
                    + acceptance.headers)
            let upgrade = PendingUpgrade(acceptance, engine)
            pendingUpgrade = upgrade
            return upgradeResponse(head, upgrade, on: connection)
        }
    }

    private func keep(_ wakeable: any Wakeable, _ engine: ServerEngine) {
        self.wakeable = wakeable
        engine.remember(wakeable)
    }

    private func settle(_ pending: PendingAnswer, on connection: Connection) -> MHD_Result {
        switch pending.takeOrSuspend(connection) {
        case .whole(let response): return send(response, on: connection)
        case .reset: return reset(connection)
        case nil: return .YES
        }
    }

    private func send(_ response: LocalResponse, on connection: Connection) -> MHD_Result {
        phase = .answered
        return wholeResponse(response, on: connection)
    }

    private func send(
        _ head: LocalResponse, _ stream: any StreamSource, on connection: Connection, _ engine: ServerEngine
    ) -> MHD_Result {
        stream.attach(connection)
        keep(stream, engine)
        phase = .answered
        return streamResponse(head, stream, on: connection)
    }

    private func reset(_ connection: Connection) -> MHD_Result {
        phase = .answered
        cmicrohttpd_reset(connection.pointer)
        return .NO
    }
}
