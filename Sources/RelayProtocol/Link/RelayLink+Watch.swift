package import BridgeModel

// Dialling, losing the link, waiting, and noticing that it is dead (DESIGN.md#links-and-watchdogs).
extension RelayLink {
    private static var dialLimit: Duration { .seconds(30) }
    static var readyLimit: Duration { .seconds(15) }
    /// The relay pings every 25 to 30 s and waits 10 s for the answer (relay.md#heartbeat-and-liveness, D4).
    private static var silenceLimit: Duration { .seconds(45) }
    static var pairAgain: String { "Pair it again with `sophon-bridge pair`, or set SOPHON_BOT_TOKEN." }

    /// When `timePassed` is due, if nothing else comes.
    package var nextDeadline: Instant? {
        switch state {
        case .idle, .stopped, .lost: nil
        case .dialling(let until), .waiting(let until): until
        case .greeting(let until): min(until, lastFrame + Self.silenceLimit)
        case .live: min(lastFrame + Self.silenceLimit, ledger.gapEnds ?? lastFrame + Self.silenceLimit)
        }
    }

    mutating func dial(at now: Instant) {
        state = .dialling(until: now + Self.dialLimit)
        orders.append(.dial(url: settings.url, headers: settings.headers))
    }

    // MARK: Loss

    /// The link is gone; when to try again is drawn by `settle`.
    mutating func lose(_ reason: String, _ retry: Retry, at now: Instant) {
        leaveSocket(at: now)
        state = .lost(reason: reason, retry)
    }

    mutating func halt(_ stop: Stop, at now: Instant) {
        leaveSocket(at: now)
        state = .stopped
        orders.append(.stop(stop))
    }

    mutating func leaveSocket(at now: Instant) {
        if case .live(let since) = state { backOff.linkHeld(for: now - since) }
        ledger.socketLost()
        isTellingFull = false
        installation = nil
    }

    /// Draws the delay of a loss that was decided in this event.
    mutating func settle(at now: Instant, using random: inout some RandomNumberGenerator) {
        guard case .lost(let reason, let retry) = state else { return }
        let delay: Duration
        switch retry {
        case .atOnce:
            orders.append(.lost(reason: reason, retryAt: now))
            return dial(at: now)
        case .byBackOff: delay = backOff.next(using: &random)
        case .byLongBackOff: delay = backOff.next(needsPerson: true, using: &random)
        case .notBefore(let told): delay = max(told, backOff.next(using: &random))
        }
        state = .waiting(until: now + delay)
        orders.append(.lost(reason: reason, retryAt: now + delay))
    }

    // MARK: Time

    mutating func watch(at now: Instant) {
        switch state {
        case .dialling(let until) where until <= now: giveUp("the relay did not answer the call", at: now)
        case .greeting(let until) where until <= now: giveUp("the relay did not say that it is ready", at: now)
        case .live where lastFrame + Self.silenceLimit <= now: giveUp("the relay fell silent", at: now)
        case .live where ledger.gapEnds.map({ $0 <= now }) ?? false:
            // A new socket brings all that is not acknowledged.
            orders.append(.close(code: 1000, reason: "asking for what was left out"))
            lose("the relay did not send again what there was no room for", .atOnce, at: now)
        case .waiting(let until) where until <= now: dial(at: now)
        case .idle, .dialling, .greeting, .live, .lost, .waiting, .stopped: return
        }
    }

    private mutating func giveUp(_ reason: String, at now: Instant) {
        orders.append(.close(code: 1000, reason: "timeout"))
        lose(reason, .byBackOff, at: now)
    }

    mutating func wokeUp(at now: Instant) {
        switch state {
        case .dialling, .greeting, .live:
            orders.append(.close(code: 1000, reason: "machine slept"))
            lose("the machine slept", .atOnce, at: now)
        case .waiting: state = .lost(reason: "the machine slept", .atOnce)
        case .idle, .lost, .stopped: return
        }
    }

    // MARK: Refusal

    /// Only the relay's own word is final: 401 and 403 in its envelope, whatever the code, and the codes that mean the same
    /// (relay.md#reconnect, relay.md#codes).
    mutating func upgradeRefused(_ status: Int, _ body: [UInt8], at now: Instant) {
        guard let envelope = Envelope(body), let code = envelope.code else {
            return upgradeAnsweredBetween(ForeignAnswer(status: status, body: body), at: now)
        }
        let words = envelope.words.map { ": \($0.prefix(400))" } ?? ""
        let reason = "the relay refused the connection (HTTP \(status))\(words)"
        // A relay in trouble may say anything: such a status is never its last word.
        if status >= 500 || [408, 425, 429].contains(status) {
            return lose(reason, envelope.retryAfter.map { .notBefore($0) } ?? .byBackOff, at: now)
        }
        switch (status, code) {
        case (_, .installationRevoked):
            halt(
                Stop(
                    kind: .installationRevoked, message: "The relay says that this installation is gone\(words).",
                    remedy: Self.pairAgain), at: now)
        case (_, .invalidTokenLocation):
            halt(
                Stop(
                    kind: .tokenLocation, message: "The relay says that the token came in the address\(words).",
                    remedy: "Look for a proxy that rewrites requests; without one, report a fault of sophon-bridge."),
                at: now)
        case (401, _), (403, _), (_, .invalidToken), (_, .agentNotFound):
            halt(
                Stop(
                    kind: .tokenRefused, message: "The relay refused the token (HTTP \(status))\(words).",
                    remedy: Self.pairAgain), at: now)
        case (400..<500, _):
            orders.append(
                .note(
                    .remedy(
                        "\(settings.url) answered with HTTP \(status), which no relay does here: check SOPHON_BASE_URL."
                    )))
            lose(reason, .byBackOff, at: now)
        default:
            lose(reason, envelope.retryAfter.map { .notBefore($0) } ?? .byBackOff, at: now)
        }
    }

    /// A proxy of the relay's that has lost the relay for a moment answers with 5xx, 408, 425 or 429; what else a page says will
    /// not pass by itself.
    private mutating func upgradeAnsweredBetween(_ answer: ForeignAnswer, at now: Instant) {
        orders.append(.note(.remedy("\(answer); \(ForeignAnswer.remedy)")))
        let mayPass = (500...599).contains(answer.status) || [408, 425, 429].contains(answer.status)
        lose("\(answer)", mayPass ? .byBackOff : .byLongBackOff, at: now)
    }
}
