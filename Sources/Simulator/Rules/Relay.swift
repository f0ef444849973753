/// The relay of the documentation, as a machine: a raw request and the time go in, a raw answer comes out.
///
/// The rules answer for the simulator and judge every test. A broken rule is answered like the relay answers it
/// and recorded as a breach; the effects of a planned fault are no breach. The room parses by itself and shares
/// nothing with our own codec: a wrong field name cannot agree with itself.
package struct Relay: Sendable {
    var options: RelayOptions
    var identifiers: IdentifierSource
    var buckets: [String: RateBucket]
    var keys: RememberedKeys
    var chats = Chats()
    var approvals: AskedApprovals
    var phones: Phones
    var updates: UpdateQueue
    var sockets = BridgeSockets()
    var faults = FaultPlan()
    var installation: Installation
    var records: CallRecords

    /// An answer kept for a repeat under the same key.
    struct Remembered: Sendable {
        var method: String
        var body: [UInt8]
        var result: [UInt8]
        var at: Moment
    }

    package init(options: RelayOptions = RelayOptions()) {
        self.options = options
        identifiers = IdentifierSource(seed: options.seed)
        approvals = AskedApprovals(limit: options.approvalLimit)
        phones = Phones(limit: options.ringEvents, keepsAll: options.keepsAllEvents)
        updates = UpdateQueue(limit: options.updateLimit)
        installation = Installation(token: options.bridgeToken)
        records = CallRecords(breachLimit: options.breachLimit, callLimit: options.callLogLimit)
        keys = RememberedKeys(limit: options.keyLimit, byteLimit: options.keyByteLimit)
        buckets = options.buckets.reduce(into: [:]) { $0[$1.key] = RateBucket(name: $1.key, shape: $1.value) }
    }

    package var breaches: [Breach] { records.breaches }
    /// One for each code and method.
    package var warnings: [Warning] { records.warnings }
    package var tally: Tally { records.tally }
    package var lastPhoneEventID: UInt64 { phones.lastID }
    package var sessions: [PhoneSession] { chats.all }
    package var pendingApprovals: [PhoneApproval] { approvals.pending }
    /// Treatment of future cards; may change at run time.
    package var cards: RelayOptions.Cards {
        get { options.cards }
        set { options.cards = newValue }
    }
    package func level(of bucket: String, at now: Moment) -> Double { buckets[bucket]?.level(at: now) ?? 0 }

    package func authorisesPhone(_ headers: [RawHeader]) -> Bool {
        headers.value(of: "authorization") == "Bearer \(options.userToken)"
    }

    /// Answers everything but SSE and sockets; `refusesUpgrade` begins those.
    package mutating func respond(to request: RawRequest, at now: Moment) -> Exchange {
        let exchange = answer(to: request, at: now)
        noteCall(request, exchange, at: now)
        return exchange
    }

    /// Headers that name an answer made elsewhere, like every answer under `/v1` (relay.md#headers).
    package mutating func traceHeaders(for headers: [RawHeader]) -> [RawHeader] {
        RequestTrace(headers, using: &identifiers).headers
    }

    private mutating func answer(to request: RawRequest, at now: Moment) -> Exchange {
        tick(at: now)
        let trace = RequestTrace(request.headers, using: &identifiers)
        let target = RequestTarget(request.target)
        var headers = trace.headers + [RawHeader("Content-Type", "application/json")]
        func plain(_ refusal: Refusal) -> Exchange {
            Exchange(
                response: RawResponse(status: refusal.status, headers: headers, body: refusal.body), delivery: .normal)
        }
        if let struck = strikeOutside(target, headers: headers, at: now) { return struck }
        if target.segments == ["healthz"] {
            return Exchange(
                response: RawResponse(status: 200, headers: headers, body: Array(#"{"ok":true}"#.utf8)),
                delivery: .normal)
        }
        do throws(Refusal) { try checkURL(target, request, trace, at: now) } catch { return plain(error) }
        if target.segments.starts(with: ["v1", "pairing"]) {
            return pairingCall(target, request, headers: headers, at: now)
        }
        guard
            target.segments.starts(with: ["v1", "me"])
                || (target.segments.count >= 3 && target.segments.starts(with: ["v1", "bridge"]))
        else {
            return plain(Refusal(status: 404, code: "not_found", message: "There is nothing at this address."))
        }
        let isBridge = target.segments[1] == "bridge"
        guard isBridge else {
            guard authorisesPhone(request.headers) else {
                return plain(Refusal(status: 401, code: "invalid_token", message: "This is not the user's token."))
            }
            return phoneCall(target, request, headers: headers, at: now)
        }
        let method = target.segments[2]
        let bucket = Self.bucket(of: method)
        do throws(Refusal) { try checkBridgeToken(request, method, trace, at: now) } catch {
            // Every answer to a bridge has the state of its bucket (relay.md#headers-on-every-bridge-response), even to a revoked token.
            if Self.bearer(request).flatMap({ installation.standing(of: $0) }) != nil {
                headers += buckets[bucket]?.headers(at: now) ?? []
            }
            return plain(error)
        }
        records.called(Self.tallyName(of: method))
        // An empty bucket refuses the call: a fault that strikes behind the write waits for another one.
        let fault = takeFault(for: method, takesEffect: level(of: bucket, at: now) >= 1)
        if var early = answerInsteadOf(fault, bucket: bucket, headers: headers, at: now) {
            early.fault = fault?.name
            return early
        }
        guard buckets[bucket]?.take(at: now) == true else {
            headers += buckets[bucket]?.headers(at: now) ?? []
            let wait = buckets[bucket]?.wait(at: now) ?? 1_000
            breach(.rateLimited, "The bucket \(bucket) was empty.", method, trace, now)
            records.refused("rate_limited")
            headers.append(RawHeader("Retry-After", String((wait + 999) / 1_000)))
            return plain(
                Refusal(
                    status: 429, code: "rate_limited", message: "Too many calls: \(bucket).",
                    retryAfterMilliseconds: wait))
        }
        records.took(bucket)
        headers += buckets[bucket]?.headers(at: now) ?? []
        var exchange: Exchange
        do throws(Refusal) {
            let (result, warnings) = try bridgeCall(target, request, at: now)
            let body = Array(#"{"ok":true,"result":"#.utf8) + result + Array("}".utf8)
            exchange = Exchange(response: RawResponse(status: 200, headers: headers, body: body), delivery: .normal)
            for code in warnings {
                warn(code, method: method, request: trace.requestID, at: now)
                exchange.add(code)
            }
        } catch {
            records.refused(error.code)
            if let code = error.breach { breach(code, error.message, method, trace, now) }
            exchange = plain(error)
        }
        return damaged(exchange, by: fault)
    }

    static func bucket(of method: String) -> String {
        switch method {
        case "sendMessage", "sendMessageEnd": "msg"
        case "sendMessageDelta": "delta"
        case "createTask", "updateTask", "finishTask": "task"
        case "requestApproval": "approval"
        case "getMemory", "setMemory": "memory"
        default: "default"
        }
    }

    mutating func breach(_ code: BreachCode, _ sentence: String, _ method: String, _ trace: RequestTrace, _ now: Moment)
    {
        note(Breach(code: code, sentence: sentence, method: method, request: trace.requestID, at: now))
    }

    /// Called also by the server of the sockets, for findings of its own.
    package mutating func note(_ breach: Breach) { records.note(breach) }
}
