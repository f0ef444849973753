import FoundationEssentials
import LocalServer
import Locking
import RelayRules

// Incoming requests: the relay's routes go to the rules; this code serves the event stream and the control routes.
extension RelaySimulator {
    func answer(_ request: LocalRequest) -> LocalAnswer {
        if let page = PhonePage.answer(request) { return .whole(page) }
        if let own = ownAnswer(request) { return traced(own, request) }
        return relayAnswer(request)
    }

    /// Answers that need more than the rules.
    private func ownAnswer(_ request: LocalRequest) -> LocalAnswer? {
        let isRead = request.method == "GET" || request.method == "HEAD"
        switch request.path {
        case "/v1/pairing/poll": return heldPoll(Self.raw(request))
        case "/v1/bridge/ws" where request.method == "GET": return bridgeSocket(request)
        case "/v1/me/stream" where request.method == "GET": return phoneStream(request)
        case "/v1/simulator/watch" where request.method == "GET": return watch(request)
        case let path where path.hasPrefix("/v1/files/") && isRead: return .whole(file(request))
        case let path where path.hasPrefix("/v1/me/"): return remoteView(request)
        case let path where path == "/v1/simulator" || path.hasPrefix("/v1/simulator/"):
            return .whole(control(request))
        default: return nil
        }
    }

    /// Adds the request's name to an answer under `/v1` (relay.md#headers). Answers of the rules have one already.
    private func traced(_ answer: LocalAnswer, _ request: LocalRequest) -> LocalAnswer {
        switch answer {
        case .whole(let response): .whole(traced(response, request))
        case .stream(let head, let stream): .stream(traced(head, request), stream)
        case .feed(let head, let reader): .feed(traced(head, request), reader)
        case .deferred, .webSocket, .reset: answer
        }
    }

    private func traced(_ response: LocalResponse, _ request: LocalRequest) -> LocalResponse {
        guard request.path.hasPrefix("/v1/"), !response.headers.contains(where: { $0.name == "X-Request-ID" })
        else { return response }
        let headers = request.headers.map { RawHeader($0.name, $0.value) }
        let trace = state.withLock { $0.relay.traceHeaders(for: headers) }
        var response = response
        response.headers += trace.map { LocalHeader($0.name, $0.value) }
        return response
    }

    /// A refusal by the server before the rules see the request, in the relay's envelope (relay.md#response-envelope, relay.md#codes).
    func refusal(status: Int, _ sentence: String) -> LocalResponse {
        let codes = [403: "permission_denied", 413: "payload_too_large", 421: "misdirected_request"]
        var response = ControlReply.failure(status, codes[status] ?? "invalid_request", sentence)
        response.headers += state.withLock { $0.relay.traceHeaders(for: []) }.map { LocalHeader($0.name, $0.value) }
        return response
    }

    // MARK: - The relay's own routes

    private func relayAnswer(_ request: LocalRequest) -> LocalAnswer {
        let now = clock.now()
        let raw = Self.raw(request)
        let (exchange, call) = change { state in
            var exchange = state.relay.respond(to: raw, at: now)
            let call = book(request, &exchange, now, &state)
            return (exchange, call)
        }
        return deliver(exchange, call: call)
    }

    private func deliver(_ exchange: Exchange, call: Int?) -> LocalAnswer {
        let answer = Self.localResponse(exchange.response)
        switch exchange.delivery {
        case .connectionReset: return .reset
        case .responseLost: return later(.reset, after: settings.answerDelayMilliseconds, call: call)
        case .normal: return later(.whole(answer), after: settings.answerDelayMilliseconds, call: call)
        case .delayed(let milliseconds):
            return later(.whole(answer), after: milliseconds + settings.answerDelayMilliseconds, call: call)
        }
    }

    private func later(_ answer: ResponseTicket.Answer, after milliseconds: Int, call: Int?) -> LocalAnswer {
        guard milliseconds > 0 else {
            switch answer {
            case .whole(let response): return .whole(response)
            case .reset: return .reset
            }
        }
        let ticket = ResponseTicket()
        clock.after(milliseconds) { [weak self] in
            // End the lane before the answer leaves: the next call may arrive before this thread continues.
            if let self, let call { state.withLock { $0.lanes.end(call) } }
            ticket.answer(answer)
        }
        return .deferred(ticket)
    }

    static func raw(_ request: LocalRequest) -> RawRequest {
        RawRequest(
            method: request.method, target: request.target,
            headers: request.headers.map { RawHeader($0.name, $0.value) }, body: request.body)
    }

    static func localResponse(_ response: RawResponse) -> LocalResponse {
        LocalResponse(
            status: response.status, headers: response.headers.map { LocalHeader($0.name, $0.value) },
            body: response.body)
    }

    // MARK: - Lanes

    private struct CallNames: Decodable {
        var session: String?
        var interaction: String?
        var message: String?
        var key: String?

        enum CodingKeys: String, CodingKey {
            case session = "session_id"
            case interaction = "interaction_id"
            case message = "message_id"
            case key = "idempotency_key"
        }
    }

    /// Books a bridge call whose answer takes time, and notes the breach if its lane is busy. Returns the number for the call's end, or
    /// nil if the answer leaves at once. Bodies are read only if calls take time: otherwise none can overlap.
    private func book(
        _ request: LocalRequest, _ exchange: inout Exchange, _ now: Moment, _ state: inout SimulatorState
    ) -> Int? {
        let takesTime = takesTime(exchange.delivery)
        guard takesTime || !state.lanes.isIdle, request.method == "POST", request.path.hasPrefix("/v1/bridge/"),
            let names = try? JSONDecoder().decode(CallNames.self, from: Data(request.body)),
            let lane = lane(of: names, state)
        else { return nil }
        if state.lanes.overlaps(lane, key: names.key) { noteOverlap(in: lane, request, &exchange, now, &state) }
        return takesTime ? state.lanes.begin(lane, key: names.key) : nil
    }

    private func noteOverlap(
        in lane: LaneWatch.Lane, _ request: LocalRequest, _ exchange: inout Exchange, _ now: Moment,
        _ state: inout SimulatorState
    ) {
        let method = String(request.path.dropFirst("/v1/bridge/".count))
        let id = exchange.response.headers.value(of: "X-Request-ID") ?? ""
        if settings.relay.acceptsSamples {
            exchange.add(.overlap)
            return state.relay.warn(.overlap, method: method, request: id, at: now)
        }
        state.relay.note(
            Breach(
                code: .overlap,
                sentence:
                    "A call began before the one before it in \(lane.session), \(lane.interaction) was answered.",
                method: method, request: id, at: now))
    }

    private func lane(of names: CallNames, _ state: SimulatorState) -> LaneWatch.Lane? {
        if let session = names.session, let interaction = names.interaction {
            return LaneWatch.Lane(session: session, interaction: interaction)
        }
        return names.message.flatMap { state.lane(ofMessage: $0) }
    }

    private func takesTime(_ delivery: ReplyFate) -> Bool {
        switch delivery {
        case .connectionReset: false
        case .delayed: true
        case .normal, .responseLost: settings.answerDelayMilliseconds > 0
        }
    }
}
