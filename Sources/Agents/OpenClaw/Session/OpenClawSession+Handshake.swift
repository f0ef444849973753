import JSONReading
import Vocabulary

// From the dial to the greeting (openclaw.md#handshake).
extension OpenClawSession {
    mutating func dial(at now: Instant) {
        requests.dialled()
        life.dial(at: now)
        orders.append(.dial(url: introduction.settings.url, headers: []))
    }

    /// Answers the first frame on a socket. The introduction is signed with the challenge's own time.
    mutating func challenged(_ root: FrameNode, _ type: FrameNode, at now: Instant) {
        guard case .greeting(.challenge, _) = life.state else { return }
        _ = decoder.read(root, type, at: now)
        let id = requests.nextID()
        let frame = request(
            id, "connect",
            introduction.params(
                nonce: root["payload"]?["nonce"]?.string ?? "",
                challengedAt: root["payload"]?["ts"]?.integer(in: .wallMilliseconds)
                    ?? Int(life.wallMilliseconds ?? 0)))
        _ = frame.withUnsafeBytes { decoder.sent($0, capacity: $0.count, at: now) }
        life.awaits(.hello(request: id, askedAt: now), at: now)
        orders.append(.send(frame))
    }

    // MARK: The answer

    mutating func introduced(_ root: FrameNode, askedAt: Instant, at now: Instant) {
        if root["ok"]?.flag == true, let gateway = Gateway(root["payload"], askedAt: askedAt, at: now) {
            return greeted(by: gateway, at: now)
        }
        apply(ConnectRefusal(root["error"]), isSocketOpen: true, at: now)
    }

    private mutating func greeted(by gateway: Gateway, at now: Instant) {
        guard (Self.oldestProtocol...Self.newestProtocol).contains(gateway.protocolVersion) else {
            var refusal = ConnectRefusal(closeReason: "protocol mismatch")
            refusal.expectedProtocol = gateway.protocolVersion
            return apply(refusal, isSocketOpen: true, at: now)
        }
        var gateway = gateway
        if let stoppedAt = outage.stoppedAt { gateway.began(after: stoppedAt) }
        life.greeted(
            Greeted(by: gateway), silence: gateway.tickInterval + gateway.tickInterval, at: now, read: reading(now))
        sessionNames.defaultAgent = gateway.defaultAgent ?? "main"
        outage = Outage()
        orders.append(
            .note(
                .connected(version: gateway.version, protocol: gateway.protocolVersion, scopes: gateway.scopes)))
        if let token = introduction.accepted(by: gateway) { orders.append(.saveDeviceToken(token)) }
        let missing = introduction.settings.scopes.filter { gateway.grants($0) == false }
        if !missing.isEmpty { orders.append(.note(.missingScopes(missing, remedy: scopeRemedy(missing)))) }
        recover(at: now)
    }

    func scopeRemedy(_ missing: [String]) -> String { introduction.scopeRemedy(missing) }

    // MARK: Refusals and closes

    private mutating func apply(_ refusal: ConnectRefusal, isSocketOpen: Bool, at now: Instant) {
        let verdict = introduction.refused(refusal)
        let reason = "the gateway refused the connection: \(refusal.message)"
        if isSocketOpen { orders.append(.close(code: 1000, reason: "refused")) }
        switch verdict {
        case .again(let redial, let trouble): lose(trouble?.message ?? reason, redial, trouble, at: now)
        case .signTheOldWay, .showDeviceToken: lose(reason, .atOnce, at: now)
        }
    }

    mutating func closedBeforeHello(_ code: Int, _ reason: String, at now: Instant) {
        let refusal = ConnectRefusal(closeReason: reason)
        switch code {
        case 1002 where refusal.detail == "PROTOCOL_MISMATCH", 1008 where refusal.detail != nil:
            apply(refusal, isSocketOpen: false, at: now)
        case 1008:
            let message = "the gateway closed the connection: \(reason)"
            lose(
                message, .byBackOff,
                Trouble(
                    kind: .passing, message: message,
                    remedy: "The gateway closed the connection (\(reason)). Look into its log with `openclaw logs`."),
                at: now)
        // A clean close is the gateway's own handshake timer (openclaw.md#challenge).
        case 1000: lose("the gateway was not quick enough to greet", .byBackOff, at: now)
        default: closedWhileLive(code, reason, at: now)
        }
    }

    mutating func closedWhileLive(_ code: Int, _ reason: String, at now: Instant) {
        outage.closed(saysRestart: code == 1012 && life.live?.gateway.isNew == true, at: now)
        let expected = outage.takeRestart()
        switch code {
        case 1012: lose("the gateway restarts", .after(expected ?? .seconds(1)), at: now)
        case 1013: lose("the gateway is starting", .after(expected ?? .seconds(2)), at: now)
        // If a right was withdrawn in mid-session, the next handshake's refusal names it in a form that has a remedy.
        case 1008: lose("the gateway closed the connection: \(reason)", .byBackOff, at: now)
        default:
            lose(
                reason.isEmpty
                    ? "the connection was closed (\(code))" : "the connection was closed (\(code), \(reason))",
                expected.map { .after($0) } ?? .byBackOff, at: now)
        }
    }

    /// A gateway needs no credentials for the upgrade: such an answer comes from
    /// a proxy, or from another server in the gateway's place.
    mutating func upgradeRefused(_ status: Int, at now: Instant) {
        let reason = "\(introduction.settings.url) answered with HTTP \(status)"
        switch status {
        case 401, 403:
            let message = "\(reason), not with a WebSocket: something before the gateway refuses us."
            lose(
                message, .after(ConnectVerdict.mendingInterval),
                Trouble(
                    kind: .credential, message: message,
                    remedy: "Set OPENCLAW_URL to the gateway itself, or let the proxy before it pass the bridge."),
                at: now)
        case 400..<500 where status != 408 && status != 425 && status != 429:
            lose(
                reason, .byBackOff,
                Trouble(
                    kind: .passing, message: reason,
                    remedy: "\(reason), which no OpenClaw gateway does: check OPENCLAW_URL and gateway.port."),
                at: now)
        default: lose(reason, .byBackOff, at: now)
        }
    }
}
