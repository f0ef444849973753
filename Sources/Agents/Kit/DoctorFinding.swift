package import Vocabulary

/// One thing that was looked at, and how it is.
package struct DoctorFinding: Hashable, Sendable {
    package enum Outcome: String, Hashable, Sendable {
        case ok
        /// It works, and should be looked after.
        case warning
        /// The bridge cannot do its work.
        case failed
        /// Nothing could be said, because something before it failed or is done elsewhere.
        case skipped
    }

    package enum Check: String, Hashable, Sendable {
        case config
        case stateDirectory = "state_dir"
        case credentials
        case relay
        case clock
        case relayToken = "relay_token"
        /// Another bridge that answers with the same token.
        case anotherBridge = "another_bridge"
        /// The keys of sealed chats, and the phones that may have them.
        case devices
        /// Where those keys are.
        case keyFolder = "key_folder"
        /// A folder that the agent works in.
        case workspace
        /// The recipient of notices.
        case notify
        case agent
        case agentToken = "agent_token"
        /// The user whose program listens at the agent's address.
        case agentListener = "agent_listener"
        case gateway
        case scopes
    }

    package var check: Check
    /// Nil: it is about the machine.
    package var connection: String?
    package var outcome: Outcome
    package var message: String
    package var remedy: String?
    /// Where it failed.
    package var exitCode: ExitCode?

    package init(
        _ check: Check, _ outcome: Outcome, _ message: String, remedy: String? = nil, connection: String? = nil,
        exitCode: ExitCode? = nil
    ) {
        self.check = check
        self.outcome = outcome
        self.message = message
        self.remedy = remedy
        self.connection = connection
        self.exitCode = exitCode
    }

    /// The finding as one line of text, prefixed with its connection.
    package var line: String { line(named: connection.map { "\($0): " } ?? "") }

    /// The same line without the prefix.
    package var lineOfOne: String { line(named: "") }

    private func line(named name: String) -> String {
        let sign =
            switch outcome {
            case .ok: "ok  "
            case .warning: "warn"
            case .failed: "FAIL"
            case .skipped: "skip"
            }
        guard let remedy else { return "\(sign)  \(name)\(message)" }
        // Trailing full stops of a foreign message are removed.
        var said = message[...]
        while said.last == "." { said.removeLast() }
        return "\(sign)  \(name)\(said); what to do: \(remedy)"
    }
}

/// All findings, and what the command ends with.
package struct DoctorReport: Hashable, Sendable {
    package private(set) var findings: [DoctorFinding] = []

    package init() {}

    /// The finding as it counts: an agent that is not installed is not missed once more where it should answer.
    @discardableResult
    package mutating func add(_ finding: DoctorFinding) -> DoctorFinding {
        var finding = finding
        let isKnown = findings.contains {
            $0.check == .agent && $0.outcome == .failed && $0.connection == finding.connection
        }
        if isKnown, finding.check == .gateway, finding.exitCode == .agentUnreachable {
            finding.outcome = .skipped
            finding.remedy = nil
            finding.exitCode = nil
        }
        findings.append(finding)
        return finding
    }

    package func count(_ outcome: DoctorFinding.Outcome) -> Int { findings.count { $0.outcome == outcome } }

    /// That of the first failure: later ones often follow from it.
    package var exitCode: ExitCode {
        findings.first { $0.outcome == .failed }.map { $0.exitCode ?? .unexpected } ?? .clean
    }
}
