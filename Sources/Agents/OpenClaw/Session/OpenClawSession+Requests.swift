import AgentKit
import JSONReading
import Vocabulary

// Requests on the socket, their answers and their time limits.
extension OpenClawSession {
    static var requestLimit: Duration { .seconds(15) }
    static var historyLimit: Duration { .seconds(30) }
    /// How often one socket sends a repeatable request.
    static var triesLimit: Int { 3 }
    /// Pause before a stop or a decision that exhausted its tries is sent once more; silence cancels neither.
    static var deafPause: Duration { .seconds(60) }
    /// Pause before the retry of a stop whose run has no name yet.
    static var stopPause: Duration { .seconds(600) }

    mutating func ask(
        _ request: GatewayRequest, _ method: StaticString, _ params: [UInt8], limit: Duration = requestLimit,
        at now: Instant
    ) {
        let frame = self.request(requests.asks(request, for: limit, at: reading(now)), method, params)
        // The decoder notes the request before it is sent; its echo is no news for the core.
        _ = frame.withUnsafeBytes { decoder.sent($0, capacity: $0.count, at: now) }
        orders.append(.send(frame))
    }

    func request(_ id: String, _ method: StaticString, _ params: [UInt8]) -> [UInt8] {
        var frame = JSONObjectWriter()
        frame.string("type", "req")
        frame.string("id", id)
        frame.string("method", method.description)
        frame.raw("params", params)
        return frame.finish()
    }

    // MARK: Answers

    mutating func answered(_ request: GatewayRequest, _ root: FrameNode, _ said: [Observation], at now: Instant) {
        let error = root["ok"]?.flag == true ? nil : Refusal(root["error"])
        if let error, !error.isAboutLength { noteFailure(of: request, error) }
        let payload = root["payload"]
        switch request {
        case .subscribe: break
        case .approvals:
            take(said, isListing: true, at: now)
            if error != nil { approvals.lacksList = true }
            listsCame(at: now)
        case .send(let run): sendAnswered(run, payload, error, said, at: now)
        case .abort(let run): stopAnswered(run, payload, error, at: now)
        case .resolve(let approval, let decision): resolveAnswered(approval, decision, payload, error, at: now)
        case .history(let runs):
            if error?.isAboutLength == true, asksAgain(for: runs, at: now) { return }
            historyAnswered(runs, error == nil ? payload : nil, at: now)
        case .prompt(let run): promptCame(run, error == nil ? payload : nil, at: now)
        case .wait(let run): waitAnswered(run, payload, at: now)
        case .lastWord(let run): lastWordCame(run, payload, at: now)
        case .row(let run, let piece): rowAnswered(run, piece, error == nil ? payload : nil, at: now)
        case .model(let run, let choice): modelAnswered(run, choice, error, at: now)
        case .level(let run, let choice, let word): levelAnswered(run, choice, word, error, at: now)
        case .models(let query): modelsAnswered(query, payload, error)
        case .schedule(let query, _): scheduleAnswered(query, payload, error)
        }
    }

    /// The reason why a method was refused.
    struct Refusal {
        var code: String
        var message: String
        var detail: String?
        var reason: String?
        var missingScope: String?
        var isRetryable: Bool
        var retryAfter: Duration?

        init(_ error: FrameNode?) {
            let details = error?["details"]
            code = error?["code"]?.string ?? "?"
            message = error?["message"]?.string ?? "no reason given"
            detail = details?["code"]?.string
            reason = details?["reason"]?.string
            isRetryable = error?["retryable"]?.flag ?? (code == "UNAVAILABLE")
            retryAfter = ConnectRefusal.delay(error?["retryAfterMs"] ?? details?["retryAfterMs"])
            missingScope = details?["missingScope"]?.string
            // Early builds name the scope in the message only (openclaw.md#frames).
            let words = "missing scope: "
            if missingScope == nil, message.hasPrefix(words) { missingScope = String(message.dropFirst(words.count)) }
        }

        /// The first era does not accept `maxChars`.
        var isAboutLength: Bool { message.contains("unexpected property 'maxChars'") }
    }

    private mutating func noteFailure(of request: GatewayRequest, _ error: Refusal) {
        // A method that the gateway lacks may be refused for a scope, although it needs a newer gateway.
        if let scope = error.missingScope, request.method.map({ gateway?.offers($0) != false }) ?? true {
            orders.append(.note(.missingScopes([scope], remedy: scopeRemedy([scope]))))
        } else {
            orders.append(.note(.requestFailed(method: request.name, code: error.detail ?? error.code)))
        }
    }

    // MARK: Time limits

    /// The request whose long frame is being sent.
    var leaving: GatewayRequest? {
        uploads.leavingSince == nil ? nil : uploads.current.map { GatewayRequest.send($0.run) }
    }

    /// An answer to a request behind a long frame proves that the frame arrived; its own answer is due from now.
    mutating func noteArrival(of id: String, at now: Instant) {
        guard case .leaving(let number, let since)? = uploads.current?.step, let leaving,
            requests.number(of: id).map({ $0 > number }) == true
        else { return }
        requests.postpone(by: reading(now) - since, at: reading(now))
        requests.limit(leaving, until: reading(now) + Self.requestLimit)
        uploads.isOver()
    }

    /// While a long frame is being sent, only its own request can expire: those behind it have not left.
    mutating func expireRequests(at now: Instant) {
        for expired in requests.expire(at: reading(now), only: leaving) {
            orders.append(.note(.requestFailed(method: expired.name, code: "no answer in time")))
            switch expired {
            case .subscribe: break
            case .approvals: approvals.lacksList = true
            case .send(let run): sendUnanswered(run, at: now)
            case .abort(let run): stopUnanswered(run, at: now)
            case .resolve(let approval, let decision): resolveUnanswered(approval, decision, at: now)
            case .history(let runs): for run in runs { finish(run, .unknown, at: now) }
            case .prompt(let run): promptCame(run, nil, at: now)
            case .wait(let run): waitAnswered(run, nil, at: now)
            case .lastWord(let run): lastWordCame(run, nil, at: now)
            case .row(let run, let piece): rowAnswered(run, piece, nil, at: now)
            case .model(let run, let choice): modelUnanswered(run, choice, at: now)
            case .level(let run, let choice, _): levelUnanswered(run, choice, at: now)
            case .models(let query), .schedule(let query, _): refuse(query, "the gateway did not answer in time")
            }
        }
    }

    /// Sends requests that were deferred on a live link.
    mutating func sendDue(at now: Instant) {
        for run in runs.due(at: now) { handOver(run, at: now) }
        for approval in approvals.due(at: now) { sendDecision(approval, at: now) }
        for run in runs.stops.due(at: now) { sendStop(run, at: now) }
    }

    /// Gives up messages, stops and decisions that waited too long.
    mutating func forgetOld(at now: Instant) {
        for run in runs.givenUp(at: now) {
            // A stopped message has no waiting caller; its abort is still owed.
            if runs[run]?.isStopped == true {
                runs.forgetMessage(run)
                continue
            }
            let remedy = outage.trouble.map { " \($0.remedy)" } ?? ""
            refuse(run, because: "The agent could not be reached in time.\(remedy)")
        }
        runs.stops.forgetOld(at: now)
        for approval in approvals.expired(at: now) { settle(approval, .expired) }
    }
}
