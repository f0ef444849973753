import Vocabulary

/// Requests to the agent's scheduler that the relay may make. Neither they nor the answers are ever sealed (relay.md#not-sealed).
enum RoutinePolicy {
    enum Verdict: Hashable, Sendable {
        case asked
        /// The answer goes out without prompts and reports.
        case askedWithoutWords
        case refused(String)
    }

    /// `hasHeldKey` is true if some chat of this installation had a key, so that words of runs are sealed.
    static func verdict(
        _ verb: String, _ routines: Configuration.Routines, _ encryption: Encryption, hasHeldKey: Bool
    ) -> Verdict {
        switch routines {
        case .allow: return .asked
        case .off: return .refused("Routines are switched off in the bridge's configuration (routines).")
        case .auto: break
        }
        if encryption == .require {
            return .refused(
                "Routines are not encrypted, and the bridge's configuration requires encryption (routines).")
        }
        guard hasHeldKey else { return .asked }
        if verb == "runs" {
            return .refused("What routines have said is encrypted, and this answer would not be (routines).")
        }
        return .askedWithoutWords
    }
}
