package import Vocabulary

// Dialling, losing the link, waiting, and detecting a dead link (DESIGN.md#links-and-watchdogs).
extension RelayLink {
    /// The relay pings every 25 to 30 s and waits 10 s for the answer (relay.md#heartbeat-and-liveness, D4).
    static var silenceLimit: Duration { .seconds(45) }
    static var pairAgain: String { "Pair it again with `sophon-bridge pair`, or set SOPHON_BOT_TOKEN." }

    /// Next deadline for `timePassed`.
    package var nextDeadline: Instant? {
        guard let next = life.nextDeadline ?? life.nextSilence else { return nil }
        guard isLive else { return next }
        return [next, ledger.nextDeadline, requests.nextDeadline, files.nextDeadline].compactMap(\.self).min()
    }

    mutating func dial(at now: Instant) {
        life.dial(at: now)
        orders.append(.dial(url: settings.url, headers: settings.headers))
    }

    // MARK: Loss

    /// The link is lost. `settle` draws the time of the next try.
    mutating func lose(_ reason: String, _ redial: Redial, at now: Instant) {
        leaveSocket(at: now)
        _ = life.lose(reason, redial, at: now)
    }

    mutating func halt(_ stop: Stop, at now: Instant) {
        leaveSocket(at: now)
        orders.append(.stop(stop))
    }

    mutating func leaveSocket(at now: Instant) {
        _ = life.leave(at: now)
        ledger.socketLost()
        requests.socketLost()
        files.socketLost()
    }

    /// Draws the delay of a loss within the same event.
    mutating func settle(at now: Instant, using random: inout some RandomNumberGenerator) {
        switch life.settle(at: now, using: &random) {
        case .dial(let reason):
            orders.append(.lost(reason: reason, retryAt: now))
            dial(at: now)
        case .wait(let reason, let until): orders.append(.lost(reason: reason, retryAt: until))
        case nil: return
        }
    }

    // MARK: Time

    mutating func watch(at now: Instant) {
        switch life.due(at: now, read: now) {
        case .unopened: giveUp("the relay did not answer the call", at: now)
        case .ungreeted: giveUp("the relay did not say that it is ready", at: now)
        case .silent: giveUp("the relay fell silent", at: now)
        case .redial: dial(at: now)
        case nil:
            guard isLive else { return }
            expireRequests(at: now)
            guard let ends = ledger.nextDeadline, ends <= now else { return }
            // A new socket redelivers all unacknowledged updates.
            orders.append(.close(code: 1000, reason: "asking for what was left out"))
            lose("the relay did not send again what was not taken", .atOnce, at: now)
        }
    }

    private mutating func giveUp(_ reason: String, at now: Instant) {
        orders.append(.close(code: 1000, reason: "timeout"))
        lose(reason, .byBackOff, at: now)
    }

    mutating func wokeUp(at now: Instant) {
        guard life.wokeUp() else { return }
        orders.append(.close(code: 1000, reason: "machine slept"))
        lose(LinkLife<Void, Ready>.sleepReason, .atOnce, at: now)
    }

    // MARK: Refusal

    /// The relay's own refusal is final, no other: 401 and 403 in its envelope with any code, and
    /// the codes of the same meaning (relay.md#reconnect, relay.md#codes).
    mutating func upgradeRefused(_ status: Int, _ body: [UInt8], at now: Instant) {
        guard let envelope = ReplyEnvelope(body), let code = envelope.code else {
            return upgradeAnsweredBetween(ForeignAnswer(status: status, body: body), at: now)
        }
        let words = envelope.words.map { ": \($0.prefix(400))" } ?? ""
        let reason = "the relay refused the connection (HTTP \(status))\(words)"
        // A relay in trouble may answer anything: such a status is never final.
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

    /// A proxy in front of the relay answers 5xx, 408, 425 or 429 while the relay is briefly
    /// away. Any other page needs a person: back off for longer.
    private mutating func upgradeAnsweredBetween(_ answer: ForeignAnswer, at now: Instant) {
        orders.append(.note(.remedy("\(answer); \(ForeignAnswer.remedy)")))
        let mayPass = (500...599).contains(answer.status) || [408, 425, 429].contains(answer.status)
        lose("\(answer)", mayPass ? .byBackOff : .byLongBackOff, at: now)
    }
}
