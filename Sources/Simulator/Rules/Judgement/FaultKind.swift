/// One kind of misfortune, with a name.
///
/// This table is the one source of the flags of `simulate`, the control routes, their errors, the
/// list of `GET /v1/simulator/faults` and the table in docs/SIMULATOR.md.
package struct FaultKind: Sendable {
    /// Targets of a fault: it strikes the next ones.
    package enum Target: String, Sendable, CaseIterable {
        case call, connection, update, message, grant, acknowledgement, approval
    }

    enum Plan {
        case call(Fault.Kind)
        case socket(SocketFault.Kind)
    }

    package let name: String
    package let target: Target
    package let sentence: String
    /// Whether a faultless bridge still completes every answer. A mix that names no kinds consists of these.
    package let isBearable: Bool
    let plan: @Sendable (FaultParameters) -> Plan

    /// Whether something between the bridge and the relay answers.
    var isPage: Bool {
        switch plan(FaultParameters()) {
        case .call(.page), .call(.pageAfter), .socket(.page): true
        case .call, .socket: false
        }
    }

    package static var names: [String] { all.map(\.name) }

    package static func named(_ name: String) -> FaultKind? { all.first { $0.name == name } }

    private static func call(
        _ name: String, _ sentence: String, bearable: Bool = false,
        _ kind: @escaping @Sendable (FaultParameters) -> Fault.Kind
    ) -> FaultKind {
        FaultKind(name: name, target: .call, sentence: sentence, isBearable: bearable) { .call(kind($0)) }
    }

    /// A refusal with a code of relay.md#codes.
    private static func refusal(_ status: Int, _ code: String, _ sentence: String) -> FaultKind {
        call(code, "\(status): \(sentence)") { _ in .refused(status: status, code: code) }
    }

    private static func socket(
        _ name: String, _ target: Target, _ sentence: String, bearable: Bool = false,
        _ kind: @escaping @Sendable (FaultParameters) -> SocketFault.Kind
    ) -> FaultKind {
        FaultKind(name: name, target: target, sentence: sentence, isBearable: bearable) { .socket(kind($0)) }
    }

    package static let all: [FaultKind] = answers + pages + refusals + beside + connections + updates + cards

    private static let answers = [
        call("429", "too many calls, with Retry-After and retry_after_ms", bearable: true) {
            .rateLimited(retryAfterMilliseconds: $0.retryAfterMilliseconds ?? 1_000, namesBucket: true)
        },
        call("500", "internal_error", bearable: true) {
            .status(500, retryAfterMilliseconds: $0.retryAfterMilliseconds)
        },
        call("502", "upstream_error", bearable: true) {
            .status(502, retryAfterMilliseconds: $0.retryAfterMilliseconds)
        },
        call("503", "temporarily_unavailable, with both hints", bearable: true) {
            .status(503, retryAfterMilliseconds: $0.retryAfterMilliseconds ?? 1_000)
        },
        call("reset", "the connection is reset, and nothing took effect", bearable: true) { _ in .reset },
        call("reply_lost", "the write took effect, and the connection is reset before the answer", bearable: true) {
            _ in .replyLost
        },
        call("slow", "the answer comes after `milliseconds` (1000)", bearable: true) {
            .slow(milliseconds: $0.milliseconds ?? 1_000)
        },
        call("truncated", "half an answer; the write took effect", bearable: true) { _ in .truncated },
        call("html", "200 with the page of a sign-in portal, and nothing took effect", bearable: true) { _ in .html },
        call("huge", "an answer of 10 MB; the write took effect") { _ in .huge },
        call("retry_after_soon", "429 whose Retry-After is the word soon") { _ in .oddRetryAfter("soon") },
        call("redirect", "302 to another address") { _ in .redirect },
    ]

    /// Pages are never the relay's word, with any status.
    private static let pages = [
        call("proxy_html", "a proxy answers with a page and `status` (403), and nothing took effect") {
            .page(.html, status: $0.status ?? 403)
        },
        call("proxy_empty", "a proxy answers with `status` (404) and no body, and nothing took effect") {
            .page(.empty, status: $0.status ?? 404)
        },
        call("proxy_json", "a proxy answers with `status` (403) and JSON of another shape, and nothing took effect") {
            .page(.json, status: $0.status ?? 403)
        },
        call("proxy_after", "the write took effect, and a proxy answers with a page and `status` (502)") {
            .pageAfter(.html, status: $0.status ?? 502)
        },
    ]

    private static let refusals = [
        call("401", "invalid_token in mid-life: the token was taken back") { _ in .unauthorized },
        call("410", "`code` says which, interaction_expired if nothing else") {
            .refused(status: 410, code: $0.errorCode ?? "interaction_expired")
        },
        refusal(410, "interaction_expired", "the turn is over 30 minutes old"),
        refusal(410, "session_deleted", "the chat was deleted in mid-stream"),
        refusal(410, "installation_revoked", "the installation was revoked in mid-stream"),
        refusal(409, "message_finalized", "the message has ended already"),
        refusal(409, "idempotency_conflict", "the key was used with another body"),
        call("invalid_request", "400: the body does not fit, at `path` where that is said") {
            .refused(status: 400, code: "invalid_request", path: $0.path)
        },
        refusal(400, "validation_failed", "the same under its other name"),
        refusal(403, "permission_denied", "a scope is missing"),
        refusal(403, "memory_access_denied", "the namespace is not granted"),
        refusal(404, "session_not_found", "the chat is not known"),
        refusal(404, "interaction_not_found", "the turn is not known"),
        refusal(404, "agent_not_found", "the agent is not known"),
        refusal(413, "payload_too_large", "the body is over the limit"),
        refusal(451, "content_blocked", "the content filter"),
        refusal(400, "invalid_token_location", "the token stands in the URL"),
        refusal(401, "invalid_signature", "of webhooks only"),
        refusal(409, "concurrent_long_poll_disallowed", "of bots only"),
        refusal(422, "tool_not_declared", "of bots only"),
        refusal(422, "egress_denied", "of bots only"),
        call("unheard_of", "the relay's envelope with `status` (418) and any `code`") {
            .refused(status: $0.status ?? 418, code: $0.errorCode ?? "unheard_of", path: $0.path)
        },
        refusal(503, "agent_degraded", "the agent was put to sleep, with both hints"),
    ]

    /// Faults beside a call, which is answered normally.
    private static let beside = [
        call("close", "the open sockets are closed cleanly, with `code` (1000)", bearable: true) {
            .socketsClosed(code: $0.closeCode ?? 1000)
        },
        call("drop", "the open sockets end without a word", bearable: true) { _ in .socketsCut },
        call("silence", "the open sockets fall silent and stay open") { _ in .socketsSilent },
        call("freeze", "the open sockets are not even read any more") { _ in .socketsHalfOpen },
        call("phone_away", "the phones' streams end and the ring is empty: they were off for longer", bearable: true) {
            _ in .phoneAway
        },
        call("restart", "the relay goes down after the call took effect, for `milliseconds` (1000)") {
            .restart(milliseconds: $0.milliseconds ?? 1_000)
        },
    ]

    private static let connections = [
        socket("refused", .connection, "the upgrade is answered with `status` (503)") {
            .refused(
                status: $0.status ?? 503, code: $0.errorCode ?? FaultParameters.errorCode(ofStatus: $0.status ?? 503))
        },
        socket("upgrade_html", .connection, "a proxy answers the upgrade with a page and `status` (403)") {
            .page(.html, status: $0.status ?? 403)
        },
        socket("upgrade_empty", .connection, "a proxy answers the upgrade with `status` (404) and no body") {
            .page(.empty, status: $0.status ?? 404)
        },
        socket(
            "upgrade_json", .connection, "a proxy answers the upgrade with `status` (401) and JSON of another shape"
        ) {
            .page(.json, status: $0.status ?? 401)
        },
        socket("silent", .connection, "accepted, and never a word") { _ in .silent },
        socket("half_open", .connection, "ready, and from then on nothing is sent or read") { _ in .halfOpen },
        socket("accept_then_close", .connection, "accepted and closed at once, with `code` (1000)", bearable: true) {
            .acceptedThenClosed(code: $0.closeCode ?? 1000)
        },
        socket("accept_then_drop", .connection, "accepted and cut at once", bearable: true) { _ in .acceptedThenCut },
        socket("no_pings", .connection, "no pings come on it") { _ in .withoutPings },
        socket(
            "second_bridge", .connection,
            "joins the open ones instead of replacing them: two bridges on one token, both are told everything"
        ) { _ in .joined },
    ]

    private static let updates = [
        socket("doubled", .update, "sent two times in a row", bearable: true) { _ in .doubled },
        socket("flat", .update, "in the RFC's flat form", bearable: true) { _ in .flat },
        socket(
            "second_id", .message, "comes a second time under another update id, as from another node", bearable: true
        ) { _ in .secondIdentifier },
        socket(
            "backlog", .message, "the sockets are cut before it goes out: it waits for the reconnect", bearable: true
        ) {
            _ in .backlog
        },
        socket("early_stop", .message, "its Stop comes right behind it, before any placeholder") { _ in .earlyStop },
        socket("grant_late", .grant, "a session_key_granted goes out after the next message of the user") { _ in
            .lateGrant
        },
        socket("grant_never", .grant, "a session_key_granted never goes out") { _ in .noGrant },
        socket("ack_lost", .acknowledgement, "is not heard: what it covers is sent again after 5 s", bearable: true) {
            _ in .lostAcknowledgement
        },
    ]

    private static let cards = [
        socket(
            "card_ends", .approval,
            "nobody answers it: denied after `milliseconds` (1000), for the reason `code` (expired)"
        ) {
            .cardEnds(reason: $0.errorCode ?? "expired", milliseconds: $0.milliseconds ?? 1_000)
        },
        socket("card_limit", .approval, "denied at once, unseen by the phone, for the reason `code` (limit)") {
            .cardOverLimit(reason: $0.errorCode ?? "limit")
        },
        socket("card_life_unknown", .approval, "400 where it has `expires_in_ms`: a field that the relay does not know")
        { _ in
            .cardLifeUnknown
        },
    ]
}

/// Parameters of a kind.
package struct FaultParameters: Hashable, Sendable {
    package var milliseconds: Int?
    package var retryAfterMilliseconds: Int64?
    package var status: Int?
    package var closeCode: Int?
    package var errorCode: String?
    /// Path of the entry in `errors[]`.
    package var path: String?

    package init() {}

    static func errorCode(ofStatus status: Int) -> String {
        switch status {
        case 401: "invalid_token"
        case 403: "installation_revoked"
        case 429: "rate_limited"
        case 502: "upstream_error"
        case 503: "temporarily_unavailable"
        default: "internal_error"
        }
    }
}

extension Relay {
    package mutating func plan(
        _ kind: FaultKind, method: String? = nil, count: Int = 1, _ parameters: FaultParameters = FaultParameters()
    ) {
        switch kind.plan(parameters) {
        case .call(let fault): plan(Fault(fault, method: method, count: count))
        case .socket(let fault): plan(SocketFault(fault, count: count))
        }
    }
}
