/// Reason of a refused handshake (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
package struct GatewayRefusal: Sendable, Hashable {
    package var code: String
    package var message: String
    /// `details.code`, which E1 does not send.
    package var detail: String?
    /// Id of the pairing request.
    package var request: String?
    /// The reason stands in the close frame alone.
    package var onlyCloses: Bool

    package init(
        _ message: String, code: String = "INVALID_REQUEST", detail: String? = nil, request: String? = nil,
        onlyCloses: Bool = false
    ) {
        self.message = message
        self.code = code
        self.detail = detail
        self.request = request
        self.onlyCloses = onlyCloses
    }

    package static let pairing = GatewayRefusal(
        "pairing required", code: "NOT_PAIRED", detail: "PAIRING_REQUIRED", request: "req-1")
}
