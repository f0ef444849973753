package import Vocabulary

/// Result of one check.
package struct DoctorFinding: Hashable, Sendable {
    package enum Outcome: String, Hashable, Sendable {
        case ok
        /// Works, but needs attention.
        case warning
        /// The bridge cannot work.
        case failed
        /// Unknown: an earlier check failed, or the work is done elsewhere.
        case skipped
    }

    package enum Check: String, Hashable, Sendable {
        case config
        case stateDirectory = "state_dir"
        case credentials
        case relay
        case clock
        case relayToken = "relay_token"
        /// Another bridge that uses the same token.
        case anotherBridge = "another_bridge"
        /// Keys of sealed chats, and the phones that may get them.
        case devices
        /// Folder of those keys.
        case keyFolder = "key_folder"
        /// A working folder of the agent.
        case workspace
        /// Recipient of notices.
        case notify
        case agent
        case agentToken = "agent_token"
        /// User whose program listens at the agent's address.
        case agentListener = "agent_listener"
        case gateway
        case scopes
    }

    package var check: Check
    /// Nil if the finding concerns the machine.
    package var connection: String?
    package var outcome: Outcome
    package var message: String
    package var remedy: String?
    /// Code of the failure.
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
        // Foreign messages may end in full stops.
        var said = message[...]
        while said.last == "." { said.removeLast() }
        return "\(sign)  \(name)\(said); what to do: \(remedy)"
    }
}

/// All findings, and the command's exit code.
package struct DoctorReport: Hashable, Sendable {
    package private(set) var findings: [DoctorFinding] = []

    package init() {}

    /// Returns the finding as it counts: a missing program also explains an agent that does not answer.
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

    /// Code of the first failure; later ones often follow from it.
    package var exitCode: ExitCode {
        findings.first { $0.outcome == .failed }.map { $0.exitCode ?? .unexpected } ?? .clean
    }
}
