import AgentKit
import JSONReading
import Vocabulary

// Decodes approvals, from events and from lists (openclaw.md#approvals).
extension OpenClawDecoder {
    static func decision(_ node: FrameNode?) -> ApprovalDecision? {
        switch node?.string {
        case "allow-once": .approve
        case "allow-always": .approveAlways
        case "deny": .deny
        default: nil
        }
    }

    func approvalRequested(_ payload: FrameNode, plugin: Bool, at now: Instant) -> [Observation] {
        guard let id = payload["id"]?.string else { return [] }
        let request = payload["request"]
        let isPlugin = plugin || id.hasPrefix("plugin:")
        let command = request?["command"]?.string
        let allowed = request?["allowedDecisions"]?.elements.compactMap { Self.decision($0) }
        let severity: ApprovalRequest.Severity =
            switch request?["severity"]?.string {
            case "critical": .critical
            case "info": .low
            default: .medium
            }
        let asks = GatewayAsk(request)
        var made = ApprovalRequest(
            id: ApprovalID(id), subject: isPlugin ? .plugin : .exec,
            title: request?["title"]?.string ?? (isPlugin ? "Plugin approval" : "Run a command"),
            message: asks.message, command: asks.command, host: request?["host"]?.string,
            call: request?["toolCallId"]?.string.map { ToolCallID($0) }, severity: severity,
            expiresAt: expiryToCome(payload, at: now), allowed: allowed.flatMap { $0.isEmpty ? nil : Set($0) },
            facts: asks.facts)
        // No member of the request names what would run.
        made.isIncomplete = !isPlugin && asks.command == nil && !asks.hasPlan
        let asked = signal(nil, request ?? payload, .approvalRequested(made))
        guard detachesApprovals, !isPlugin else { return [asked] }
        let waiting = openCommands.call(of: command, in: request?["sessionKey"]?.string)
        // `paused` precedes the question: its record must say that the answer comes in another
        // run. A process that ends between the two would not wait for that run.
        return [
            signal(waiting?.run, request ?? payload, .paused(PausedCall(call: waiting?.call, approval: made.id))),
            asked,
        ]
    }

    /// Approvals that wait for a decision, without those that expired by the gateway's clock (openclaw.md#disconnects).
    func approvals(_ list: FrameNode?, at now: Instant) -> [Observation] {
        (list?.elements ?? []).flatMap { entry -> [Observation] in
            if let expiry = expiry(entry, at: now), expiry <= now { return [] }
            return approvalRequested(entry, plugin: false, at: now)
        }
    }

    /// When a request that arrives live expires, or nil if its number lies in the past. The
    /// request waits all the same, and a person's decision would never leave.
    private func expiryToCome(_ payload: FrameNode, at now: Instant) -> Instant? {
        expiry(payload, at: now).flatMap { $0 > now ? $0 : nil }
    }

    /// Expiry by the gateway's clock, known from its challenge. Without a challenge, the approval's lifetime counts from now.
    private func expiry(_ payload: FrameNode, at now: Instant) -> Instant? {
        guard let end = payload["expiresAtMs"]?.integer(clampedTo: .wallMilliseconds) else { return nil }
        let day = 86_400_000
        if let gatewayClock {
            return gatewayClock.at + .milliseconds(min(max(end - gatewayClock.milliseconds, 0), 366 * day))
        }
        guard let begin = payload["createdAtMs"]?.integer(clampedTo: .wallMilliseconds) else { return nil }
        return now + .milliseconds(min(max(end - begin, 0), day))
    }
}
