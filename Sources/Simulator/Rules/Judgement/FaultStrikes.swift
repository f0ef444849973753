// Planned faults strike bridge calls here.
extension Relay {
    package mutating func plan(_ fault: Fault) { faults.plan(fault) }

    /// Forgets the faults of calls, and the mix.
    package mutating func forgetFaults() { faults.forgetCalls() }

    /// Orders to carry out after every call of the machine.
    package mutating func takeEdgeOrders() -> [EdgeOrder] { phones.takeOrders() }

    mutating func takeFault(for method: String, takesEffect: Bool) -> Fault.Kind? {
        counted(faults.strike(call: method, takesEffect: takesEffect))
    }

    /// Counts a fault that struck.
    mutating func counted<Kind>(_ fault: Kind?) -> Kind? {
        if fault != nil { records.struck() }
        return fault
    }

    /// A fault at an address outside `/v1/bridge`, which must name that address.
    mutating func strikeOutside(_ target: RequestTarget, headers: [RawHeader], at now: Moment) -> Exchange? {
        guard faults.hasCalls else { return nil }
        let name =
            target.segments.starts(with: ["v1", "pairing"])
            ? target.segments.dropFirst().joined(separator: "/") : target.segments.joined(separator: "/")
        guard let fault = counted(faults.strike(address: name)) else { return nil }
        var exchange = answerInsteadOf(fault, bucket: "", headers: headers, at: now)
        exchange?.fault = fault.name
        return exchange
    }

    /// The answer of a fault that strikes before the write takes effect.
    func answerInsteadOf(
        _ fault: Fault.Kind?, bucket: String, headers: [RawHeader], at now: Moment
    ) -> Exchange? {
        func refused(_ refusal: Refusal, _ more: [RawHeader] = []) -> Exchange {
            Exchange(
                response: RawResponse(status: refusal.status, headers: headers + more, body: refusal.body),
                delivery: .normal)
        }
        func retry(_ milliseconds: Int64) -> RawHeader {
            RawHeader("Retry-After", String((milliseconds + 999) / 1_000))
        }
        // Every answer to a bridge carries the state of its bucket (relay.md#headers-on-every-bridge-response).
        let rate = buckets[bucket]?.headers(at: now) ?? []
        switch fault {
        case .rateLimited(let wait, let namesBucket):
            return refused(
                Refusal(status: 429, code: "rate_limited", message: "As asked for.", retryAfterMilliseconds: wait),
                (namesBucket ? rate : []) + [retry(wait)])
        case .status(let status, let wait):
            let code = status == 503 ? "temporarily_unavailable" : status == 502 ? "upstream_error" : "internal_error"
            return refused(
                Refusal(status: status, code: code, message: "As asked for.", retryAfterMilliseconds: wait),
                rate + (wait.map { [retry($0)] } ?? []))
        case .reset:
            return Exchange(response: RawResponse(status: 500, headers: [], body: []), delivery: .connectionReset)
        case .html:
            let page = "<html><body>Please sign in to the network.</body></html>"
            return Exchange(
                response: RawResponse(
                    status: 200, headers: [RawHeader("Content-Type", "text/html")], body: Array(page.utf8)),
                delivery: .normal)
        case .page(let page, let status):
            return Exchange(response: page.response(status: status, turn: tally.faults), delivery: .normal)
        case .oddRetryAfter(let text):
            return refused(
                Refusal(status: 429, code: "rate_limited", message: "As asked for."),
                rate + [RawHeader("Retry-After", text)])
        case .redirect:
            return Exchange(
                response: RawResponse(
                    status: 302, headers: headers + [RawHeader("Location", "/v1/bridge/elsewhere")], body: []),
                delivery: .normal)
        case .unauthorized: return refused(Refusal(status: 401, code: "invalid_token", message: "As asked for."))
        case .refused(let status, let code, let path):
            // 429 and 503 come with a hint (relay.md#envelope-notes).
            let wait: Int64? = status == 503 || status == 429 ? 1_000 : nil
            let issues = path.map { [FieldIssue(path: $0, code: .tooBig, message: "As asked for.")] } ?? []
            return refused(
                Refusal(
                    status: status, code: code, message: "As asked for.", issues: issues, retryAfterMilliseconds: wait),
                rate + (wait.map { [retry($0)] } ?? []))
        case .slow, .replyLost, .truncated, .huge, .pageAfter, .socketsClosed, .socketsCut, .socketsSilent,
            .socketsHalfOpen,
            .phoneAway, .restart, nil:
            return nil
        }
    }

    /// The effect of a fault that strikes after the write took effect.
    mutating func damaged(_ exchange: Exchange, by fault: Fault.Kind?) -> Exchange {
        var exchange = exchange
        exchange.fault = fault?.name
        switch fault {
        case .slow(let milliseconds): exchange.delivery = .delayed(milliseconds: milliseconds)
        case .replyLost: exchange.delivery = .responseLost
        case .truncated: exchange.response.body = Array(exchange.response.body.prefix(exchange.response.body.count / 2))
        case .pageAfter(let page, let status): exchange.response = page.response(status: status, turn: tally.faults)
        case .huge: exchange.response.body += [UInt8](repeating: UInt8(ascii: " "), count: 10_000_000)
        case .socketsClosed(let code): closeSockets(code: code, reason: "as asked for")
        case .socketsCut: cutSockets()
        case .socketsSilent: silenceSockets(halfOpen: false)
        case .socketsHalfOpen: silenceSockets(halfOpen: true)
        case .phoneAway: losePhones()
        case .restart(let milliseconds):
            restart(milliseconds: milliseconds)
            exchange.delivery = .responseLost
        default: break
        }
        return exchange
    }

    /// All phones were offline for longer than the ring reaches back.
    package mutating func losePhones() { phones.lose() }

    /// A restarted relay keeps only durable state: the ring and the waiting requests are gone.
    package mutating func restart(milliseconds: Int) {
        losePhones()
        cutSockets()
        phones.restart(milliseconds: milliseconds)
    }
}
