import RelayRules
import Vocabulary

/// A row of the relay's table of codes (relay.md#codes), or a code that the table lacks.
package struct WorldCode: Sendable, Hashable {
    /// Effect on the call that gets the code, and on no other.
    package enum Effect: Sendable, Hashable {
        /// The bridge retries, and the phone notices nothing.
        case waits
        /// The relay refuses for good, and the content appears in another way.
        case refuses
        /// The turn ends or counts as done, or its text is refused.
        case endsTurn
        /// The connection waits for another token and then continues.
        case stops
    }

    let status: Int
    let code: String
    package let effect: Effect
    /// "upgrade", or a method of the relay.
    package internal(set) var method = ""

    private init(_ status: Int, _ code: String, _ effect: Effect) {
        (self.status, self.code, self.effect) = (status, code, effect)
    }

    static let all = [
        WorldCode(400, "invalid_request", .refuses), WorldCode(400, "validation_failed", .refuses),
        WorldCode(400, "invalid_token_location", .stops), WorldCode(401, "invalid_token", .stops),
        WorldCode(401, "invalid_signature", .refuses), WorldCode(403, "permission_denied", .refuses),
        WorldCode(403, "installation_revoked", .stops), WorldCode(403, "memory_access_denied", .refuses),
        WorldCode(404, "session_not_found", .endsTurn), WorldCode(404, "agent_not_found", .stops),
        WorldCode(404, "interaction_not_found", .endsTurn), WorldCode(409, "idempotency_conflict", .endsTurn),
        WorldCode(409, "message_finalized", .endsTurn), WorldCode(409, "concurrent_long_poll_disallowed", .refuses),
        WorldCode(410, "installation_revoked", .stops), WorldCode(410, "session_deleted", .endsTurn),
        WorldCode(410, "interaction_expired", .endsTurn), WorldCode(413, "payload_too_large", .refuses),
        WorldCode(422, "tool_not_declared", .refuses), WorldCode(422, "egress_denied", .refuses),
        WorldCode(429, "rate_limited", .waits), WorldCode(451, "content_blocked", .endsTurn),
        WorldCode(500, "internal_error", .waits), WorldCode(502, "upstream_error", .waits),
        WorldCode(503, "temporarily_unavailable", .waits), WorldCode(503, "agent_degraded", .waits),
        WorldCode(400, "unheard_of", .refuses), WorldCode(401, "unheard_of", .refuses),
        WorldCode(403, "unheard_of", .refuses), WorldCode(404, "unheard_of", .refuses),
        WorldCode(408, "unheard_of", .waits), WorldCode(409, "unheard_of", .refuses),
        WorldCode(410, "unheard_of", .refuses), WorldCode(425, "unheard_of", .waits),
        WorldCode(429, "unheard_of", .waits), WorldCode(500, "unheard_of", .waits),
        WorldCode(503, "unheard_of", .waits), WorldCode(507, "unheard_of", .waits),
    ]

    static func removal(_ status: Int, by method: String) -> WorldCode {
        var code = WorldCode(status, "installation_revoked", .stops)
        code.method = method
        return code
    }

    /// At the upgrade the codes that stop are final, as is any 401 or 403.
    func asUpgrade() -> WorldCode {
        let isFinal = effect == .stops || status == 401 || status == 403
        var upgrade = WorldCode(status, code, isFinal ? .stops : .waits)
        upgrade.method = "upgrade"
        return upgrade
    }
}

// One refusal in the relay's own envelope, on one method.
extension WorldPlan {
    mutating func drawCode(using random: inout SeededGenerator) {
        let drawn = random.pick(WorldCode.all)
        // Methods whose refusal a person always notices come up more often.
        let seen = ["sendMessage", "requestApproval"]
        var method = random.pick(["upgrade"] + Self.methods.dropLast() + seen + seen)
        // A card that counts as asked but does not exist would hold its run for as long as the agent waits.
        if drawn.code == "idempotency_conflict", method == "requestApproval" { method = "sendMessage" }
        let side = Int.random(in: eras.indices, using: &random)
        let at = Duration.milliseconds(Int64.random(in: 0...9_000, using: &random))
        // A message that asks early guarantees a call to refuse.
        if method == "requestApproval", let index = messages.firstIndex(where: { $0.side == side }) {
            messages[index].script = WorldScript(.approval, name: messages[index].script.name, using: &random)
            messages[index].decision?.tap = random.pick(["approve", "approve", "approve", "deny"])
            messages[index].chat = 20
        }
        quietAt = max(quietAt, .seconds(26))
        func trouble(_ at: Duration, _ misfortune: Misfortune) {
            troubles.append(Trouble(at: at, side: side, misfortune: misfortune))
        }
        if method == "upgrade" {
            code = drawn.asUpgrade()
            trouble(at, .socket(SocketFault(.refused(status: drawn.status, code: drawn.code))))
            trouble(at + .milliseconds(2), .cutRelay)
        } else {
            code = drawn
            code?.method = method
            let early = method == "requestApproval" ? .zero : at
            trouble(early, .call(Fault(.refused(status: drawn.status, code: drawn.code), method: method)))
        }
        // The fault strikes at its call; the person supplies a token later than that.
        if code?.effect == .stops { trouble(.seconds(18), .anotherToken) }
    }
}

extension WorldPlan {
    /// The relay reports the installation as removed: the bridge denies asks at the agent, stops runs, and posts
    /// nothing further.
    var isRemoved: Bool { code?.code == "installation_revoked" }

    /// A removed installation takes its open turns along: their bubbles can neither end nor open.
    func abandons(_ answers: [PhoneMessage]) -> Bool {
        isRemoved && (answers.isEmpty || answers.contains { !$0.isFinal })
    }

    /// The relay may have refused something for good.
    var mayBeRefused: Bool { themes.contains(.refusals) || code?.effect == .refuses || code?.effect == .endsTurn }
}
