import JSONReading
import Vocabulary

/// Why a gateway refused the connection, from its error or, without one, from the reason of its close.
struct ConnectRefusal {
    var code: String
    var message: String
    /// `details.code`, or the code that an old gateway's message implies.
    var detail: String?
    var reason: String?
    var requestID: String?
    var nextStep: String?
    var mayRetryWithDeviceToken: Bool?
    var pausesReconnect: Bool?
    var expectedProtocol: Int?
    var isRetryable: Bool?
    var retryAfter: Duration?

    init(_ error: FrameNode?) {
        code = error?["code"]?.string ?? ""
        message = error?["message"]?.string ?? "no reason given"
        let details = error?["details"]
        reason = details?["reason"]?.string
        requestID = (details?["requestId"]?.string).flatMap { Self.isRequestID($0) ? $0 : nil }
        nextStep = details?["recommendedNextStep"]?.string
        mayRetryWithDeviceToken = details?["canRetryWithDeviceToken"]?.flag
        pausesReconnect = details?["pauseReconnect"]?.flag
        expectedProtocol = details?["expectedProtocol"]?.integer(in: 0...1_000_000)
        isRetryable = (error?["retryable"] ?? details?["retryable"])?.flag
        retryAfter = Self.delay(error?["retryAfterMs"] ?? details?["retryAfterMs"])
        detail = details?["code"]?.string ?? Self.meaning(of: message, code: code)
        if detail == nil, expectedProtocol != nil { detail = "PROTOCOL_MISMATCH" }
    }

    init(closeReason: String) {
        code = ""
        message = closeReason
        detail = Self.meaning(of: closeReason, code: "")
    }

    /// The requested delay, at most ten minutes.
    static func delay(_ node: FrameNode?) -> Duration? {
        (node?.integer(clampedTo: 0...600_000)).map { .milliseconds($0) }
    }

    /// Whether the id is safe in a command line that a person copies
    /// (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge).
    private static func isRequestID(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 128 else { return false }
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
        }
        return isAlphanumeric(first) && text.utf8.allSatisfy { isAlphanumeric($0) || "._:-".utf8.contains($0) }
    }

    /// The code of a message without details, as gateways of early 2026 send it
    /// (openclaw.md#auth-and-pairing-rules-that-matter-to-a-bridge). Longer phrases precede those that they contain.
    private static func meaning(of message: String, code: String) -> String? {
        if code == "NOT_PAIRED" { return "PAIRING_REQUIRED" }
        let said = message.lowercased()
        return phrases.first { said.contains($0.phrase) }?.code
    }

    private static let phrases: [(phrase: String, code: String)] = [
        ("protocol mismatch", "PROTOCOL_MISMATCH"),
        ("pairing required", "PAIRING_REQUIRED"),
        ("device token mismatch", "AUTH_DEVICE_TOKEN_MISMATCH"),
        ("token missing", "AUTH_TOKEN_MISSING"),
        ("token mismatch", "AUTH_TOKEN_MISMATCH"),
        ("password missing", "AUTH_PASSWORD_MISSING"),
        ("password mismatch", "AUTH_PASSWORD_MISMATCH"),
        ("device identity required", "DEVICE_IDENTITY_REQUIRED"),
        ("device identity mismatch", "DEVICE_AUTH_DEVICE_ID_MISMATCH"),
        ("signature expired", "DEVICE_AUTH_SIGNATURE_EXPIRED"),
        ("signature invalid", "DEVICE_AUTH_SIGNATURE_INVALID"),
        ("nonce", "DEVICE_AUTH_NONCE_MISMATCH"),
        ("public key invalid", "DEVICE_AUTH_PUBLIC_KEY_INVALID"),
        ("rate limit", "AUTH_RATE_LIMITED"),
        ("too many failed", "AUTH_RATE_LIMITED"),
        ("slow consumer", "SLOW_CONSUMER"),
        ("unauthorized", "AUTH_UNAUTHORIZED"),
    ]
}
