import Vocabulary

/// Failure of a turn, in words that a person can act on (claude-code.md#errors).
enum ClaudeFailure {
    struct Reason {
        var status: Int?
        var error: String?
        var terminal: String?
        var subtype: String?
        var isRefusal = false

        private var isCredit: Bool { status == 402 || error == "billing_error" }
        private var isLogin: Bool { status == 401 || status == 403 || error == "authentication_failed" }

        func failure(_ sentence: String, usage: Usage?) -> RunFailure {
            let said = sentence.isEmpty ? "" : " It says: \(sentence)"
            func failed(_ kind: RunFailure.Kind, _ message: String) -> RunFailure {
                RunFailure(kind: kind, message: message, usage: usage)
            }
            if isRefusal { return failed(.refusal, sentence) }
            if isCredit { return failed(.other, ClaudeFailure.credit + said) }
            if isLogin { return failed(.noLogin, ClaudeFailure.login + said) }
            if status == 429 || error == "rate_limit" { return failed(.rateLimit, sentence) }
            if status == 529 || error == "overloaded" {
                return failed(.rateLimit, "The servers of the model are overloaded.\(said)")
            }
            if terminal == "prompt_too_long" { return failed(.contextLength, sentence) }
            if terminal == "max_turns" || subtype == "error_max_turns" {
                return failed(.other, "Claude Code stopped at its limit of steps (--max-turns).\(said)")
            }
            if terminal == "budget_exhausted" || subtype == "error_max_budget_usd" {
                return failed(.other, "Claude Code stopped at its limit of cost (--max-budget-usd).\(said)")
            }
            let word = terminal ?? error ?? subtype ?? "no reason"
            return failed(.other, sentence.isEmpty ? "Claude Code gave up (\(word))." : sentence)
        }
    }

    static let login =
        "Claude Code is not logged in, or its login is no longer valid. On the bridge's machine, run claude and type /login there, "
        + "or mend the API key that it uses."
    static let credit = "The account that Claude Code uses has no credit left."
}
