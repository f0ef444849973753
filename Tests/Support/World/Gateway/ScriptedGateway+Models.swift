package import Vocabulary

/// A run as the gateway admitted it, with the model of its session at that moment.
package struct GatewayBegin: Sendable, Hashable {
    package var run: String
    package var session: String
    package var text: String
    /// Nil if the agent's own model applied.
    package var model: String?
    package var at: Instant
}

/// How the gateway handles `sessions.patch` (openclaw.md#others).
package struct GatewayModels: Sendable {
    /// Allowed models. The gateway refuses all others.
    package var known: Set<String> = []
    /// Number of patches still to fail, whatever they name.
    package var failures = 0
    /// Chosen model by session.
    var patched: [String: String] = [:]
    package internal(set) var begun: [GatewayBegin] = []
    /// Session and model of each refused patch, in order.
    package internal(set) var refused: [String] = []
}

extension ScriptedGateway {
    mutating func patchSession(_ id: String, _ params: GatewayValue) {
        guard era == .e4 || connection?.scopes.contains("operator.admin") == true else {
            return refuse(
                id, era.isNew ? "FORBIDDEN" : "INVALID_REQUEST", "missing scope: operator.admin",
                details: era.isNew ? ["code": "MISSING_SCOPE", "missingScope": "operator.admin"] : nil)
        }
        let session = params["key"]?.string ?? ""
        let model = params["model"]?.string
        if models.failures > 0 {
            models.failures -= 1
            models.refused.append("\(session) \(model ?? "-")")
            return refuse(id, "UNAVAILABLE", "the store is locked")
        }
        if let model, !models.known.contains(model) {
            models.refused.append("\(session) \(model)")
            return refuse(id, "INVALID_REQUEST", "model not allowed: \(model)")
        }
        models.patched[session] = model
        answer(id, ["ok": true, "key": "\(session)", "entry": ["key": "\(session)"]])
    }

    mutating func noteBegin(_ run: String, _ session: String, _ text: String, at now: Instant) {
        models.begun.append(
            GatewayBegin(run: run, session: session, text: text, model: models.patched[session], at: now))
    }

    /// Whether a run of this text is at work or waits.
    package func isRunning(_ text: String) -> Bool { runs.values.contains { $0.question == text && !$0.isOver } }

    package func wasAborted(_ text: String) -> Bool {
        runs.values.contains { $0.question == text && $0.state == .aborted }
    }
}
