/// Answers of a proxy, a sign-in portal or a wrong server in the relay's place: never the relay's envelope.
package enum ProxyPage: String, Hashable, Sendable, CaseIterable {
    /// A page for people.
    case html
    /// No body at all.
    case empty
    /// JSON of another content, or of another shape than the relay's.
    case json

    /// Shapes that a careless reader confuses with the relay's answer. Several have `ok` or `error.code`, none has both in the
    /// relay's form: `ok` a boolean and, if it is false, `error.code` a text (relay.md#response-envelope).
    static let foreignShapes = [
        #"{"error":"forbidden","message":"The request was blocked."}"#,
        #"{"error":{"code":"permission_denied","message":"The request was blocked."}}"#,
        #"{"ok":"false","error":{"code":"installation_revoked","message":"The request was blocked."}}"#,
        #"{"ok":false,"error":"invalid_token"}"#,
        #"{"ok":false,"error":{"code":403,"message":"The request was blocked."}}"#,
        #"{"ok":false}"#,
        #"[{"ok":false,"error":{"code":"session_deleted"}}]"#,
        #""blocked""#,
    ]

    /// `turn` selects one of the JSON shapes: consecutive pages differ.
    func response(status: Int, turn: Int) -> RawResponse {
        switch self {
        case .html:
            let page = "<!DOCTYPE html><html><head><title>\(status)</title></head><body>Blocked.</body></html>\n"
            return RawResponse(
                status: status, headers: [RawHeader("Content-Type", "text/html; charset=utf-8")],
                body: Array(page.utf8))
        case .empty: return RawResponse(status: status, headers: [], body: [])
        case .json:
            let shape = Self.foreignShapes[turn % Self.foreignShapes.count]
            return RawResponse(
                status: status, headers: [RawHeader("Content-Type", "application/json")], body: Array(shape.utf8))
        }
    }
}
