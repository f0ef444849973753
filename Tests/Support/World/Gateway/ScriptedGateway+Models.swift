package import Vocabulary

/// A run as it was admitted, with the model that its session had at that moment.
package struct GatewayBegin: Sendable, Hashable {
    package var run: String
    package var session: String
    package var text: String
    /// Nil: the agent's own.
    package var model: String?
    package var at: Instant
}

/// What the gateway does with `sessions.patch` (openclaw.md#others).
package struct GatewayModels: Sendable {
    /// Others are not allowed.
    package var known: Set<String> = []
    /// So many of the next patches fail, whatever they name.
    package var failures = 0
    /// By session.
    var patched: [String: String] = [:]
    package internal(set) var begun: [GatewayBegin] = []
    /// Sessions and models whose patch was not carried out, in order.
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

    /// Runs of this text that were asked for by the client and are not over.
    package func isRunning(_ text: String) -> Bool { runs.values.contains { $0.question == text && !$0.isOver } }

    package func wasAborted(_ text: String) -> Bool {
        runs.values.contains { $0.question == text && $0.state == .aborted }
    }
}
