import LocalServer
import Locking
import RelayRules

// The phone's event stream (relay.md#resume, relay.md#gaps-and-what-the-emulator-should-do).
extension RelaySimulator {
    func phoneStream(_ request: LocalRequest) -> LocalAnswer {
        guard Self.query("access_token", in: request.target) == nil, Self.query("token", in: request.target) == nil
        else {
            return .whole(
                ControlReply.failure(
                    400, "invalid_token_location", "Tokens go into the Authorization header, never into the URL."))
        }
        // The rules judge the token, as in any call of the phone, and name the request.
        let headers = request.headers.map { RawHeader($0.name, $0.value) }
        let now = clock.now()
        let admitted = change { state in
            state.relay.respond(to: RawRequest(method: "GET", target: "/v1/me/snapshot", headers: headers), at: now)
        }
        guard admitted.response.status == 200 else { return .whole(Self.localResponse(admitted.response)) }

        let last = Self.lastEventID(request)
        return .feed(Self.head(admitted.response), state.withLock { $0.attachPhone(after: last) })
    }

    private static func head(_ admitted: RawResponse) -> LocalResponse {
        let kept = ["x-request-id", "traceparent", "tracestate"]
        let named = admitted.headers.filter { kept.contains($0.name.lowercased()) }
        return LocalResponse(
            status: 200,
            headers: [LocalHeader("Content-Type", "text/event-stream"), LocalHeader("Cache-Control", "no-store")]
                + named.map { LocalHeader($0.name, $0.value) })
    }

    /// Id of the last event that the phone has. An unreadable one counts as unknown, which replays the whole ring.
    private static func lastEventID(_ request: LocalRequest) -> UInt64? {
        guard let text = request.header("Last-Event-ID") ?? query("last_event_id", in: request.target) else {
            return nil
        }
        return UInt64(text) ?? 0
    }

    static func query(_ name: String, in target: String) -> String? {
        guard let mark = target.firstIndex(of: "?") else { return nil }
        for pair in target[target.index(after: mark)...].split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts[0] == name { return parts.count == 2 ? String(parts[1]) : "" }
        }
        return nil
    }
}
