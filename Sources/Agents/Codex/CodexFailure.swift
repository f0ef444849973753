import JSONReading
import Vocabulary

/// Reads why a turn failed (codex.md#ends-and-errors): Codex's own words, and a kind that the bridge knows.
enum CodexFailure {
    static let loginRemedy = "run `codex login` on the computer where Codex runs"

    static func read(_ error: FrameNode?, usage: Usage?) -> RunFailure {
        let message = error?["message"]?.string ?? "Codex did not say why"
        let kind = error?["codexErrorInfo"].map { self.kind(of: $0) } ?? .other
        return RunFailure(kind: kind, message: kind == .noLogin ? "\(message) (\(loginRemedy))" : message, usage: usage)
    }

    /// The model's limit cut the text, which has come as an ended message.
    static func isLength(_ error: FrameNode?) -> Bool {
        error?["message"]?.string?.contains("reason: max_output_tokens") == true
    }

    private static func kind(of info: FrameNode) -> RunFailure.Kind {
        switch info.string {
        case "usageLimitExceeded", "rateLimitExceeded": return .rateLimit
        case "contextWindowExceeded": return .contextLength
        case "cyberPolicy", "misalignmentPolicyViolation": return .refusal
        default: break
        }
        switch status(of: info) {
        case 401: return .noLogin
        case 429: return .rateLimit
        default: return info.holds("unauthorized") ? .noLogin : .other
        }
    }

    /// HTTP status of the provider, from an object with one key.
    private static func status(of info: FrameNode) -> Int? {
        let keys: [StaticString] = [
            "responseTooManyFailedAttempts", "httpConnectionFailed", "responseStreamConnectionFailed",
            "responseStreamDisconnected",
        ]
        for key in keys {
            if let status = info[key]?["httpStatusCode"]?.integer(in: 100...999) { return status }
        }
        return nil
    }
}

/// Token sums of a thread since its beginning (codex.md#notifications).
struct CodexTotals: Hashable {
    var input: Int
    var output: Int

    static let zero = Self(input: 0, output: 0)

    init(input: Int, output: Int) {
        self.input = input
        self.output = output
    }

    init?(_ params: FrameNode) {
        guard let total = params["tokenUsage"]?["total"], let input = total["inputTokens"]?.integer(in: .counts),
            let output = total["outputTokens"]?.integer(in: .counts)
        else { return nil }
        self.init(input: input, output: output)
    }

    func usage(since before: Self?, model: String?, provider: String?) -> Usage? {
        // Codex repeats equal sums where a request broke off: its usage is unknown.
        guard let before, self != before, input >= before.input, output >= before.output else { return nil }
        return Usage(
            inputTokens: input - before.input, outputTokens: output - before.output, model: model, provider: provider)
    }
}
