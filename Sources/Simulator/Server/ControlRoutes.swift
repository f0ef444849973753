import FoundationEssentials
import LocalServer
import RelayRules

// Routes that drive the simulator, for tests of foreign bridges and clients. They require this machine
// and the user's token: no other program on the machine interferes by accident.
extension RelaySimulator {
    private static let routes = [
        "GET /v1/simulator/breaches", "GET /v1/simulator/warnings", "GET /v1/simulator/state",
        "GET /v1/simulator/watch",
        "POST /v1/simulator/sessions", "POST /v1/simulator/files",
    ]

    /// Nil if this machine asks, with the user's token.
    func refusesControl(_ request: LocalRequest) -> LocalResponse? {
        guard request.isFromThisMachine else {
            return ControlReply.failure(403, "permission_denied", "The control routes answer to this machine only.")
        }
        guard request.header("Authorization") == "Bearer \(userToken)" else {
            return ControlReply.failure(
                401, "invalid_token", "The control routes need the header Authorization: Bearer <user token>.")
        }
        return nil
    }

    func control(_ request: LocalRequest) -> LocalResponse {
        if let refusal = refusesControl(request) { return refusal }
        switch (request.method, request.path) {
        case ("GET", "/v1/simulator"): return ControlReply.success(["routes": Self.routes + Relay.controlRoutes])
        case ("GET", "/v1/simulator/breaches"):
            return ControlReply.success(["breaches": breaches.map { BreachReport($0) }])
        case ("GET", "/v1/simulator/warnings"):
            return ControlReply.success(["warnings": warnings.map { WarningReport($0) }])
        case ("GET", "/v1/simulator/state"): return ControlReply.success(stateReport())
        case ("POST", "/v1/simulator/files"): return addFile(request)
        case ("POST", "/v1/simulator/sessions"): return writeAsUser(request.body)
        default:
            let now = clock.now()
            if let answer = change({ $0.relay.controlCall(Self.raw(request), at: now) }) {
                return Self.localResponse(answer)
            }
            let routes = Self.routes + Relay.controlRoutes
            return ControlReply.failure(
                404, "not_found", "No such control route; there are \(routes.joined(separator: ", ")).")
        }
    }

    private struct UserOrder: Decodable {
        var text: String
        var session_id: String?
    }

    private func writeAsUser(_ body: [UInt8]) -> LocalResponse {
        guard let order = try? JSONDecoder().decode(UserOrder.self, from: Data(body)), !order.text.isEmpty else {
            return ControlReply.failure(
                400, "invalid_request",
                "The body must be a JSON object such as {\"text\":\"Hello\"}; session_id is optional.")
        }
        if let session = order.session_id, let refusal = refusesMessage(in: session) { return refusal }
        let sent = userSends(text: order.text, session: order.session_id)
        return ControlReply.success([
            "session_id": sent.session, "interaction_id": sent.interaction, "message_id": sent.message,
        ])
    }

    /// Nil if the user may write there, as on the phone (relay.md#codes).
    private func refusesMessage(in session: String) -> LocalResponse? {
        guard let known = sessions.first(where: { $0.id == session }) else {
            return ControlReply.failure(
                404, "session_not_found", "The session is not known; without session_id a new one begins.")
        }
        guard !known.isDeleted else {
            return ControlReply.failure(410, "session_deleted", "The session was deleted.")
        }
        return nil
    }
}
