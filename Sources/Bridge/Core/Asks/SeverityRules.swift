package import Vocabulary

/// Raises the severity of an ask by what its command does, so that the phone asks for a slower gesture.
///
/// Help for the eye, and no wall: an agent that means harm finds words that no rule knows, and a card without a raised severity is not
/// harmless. Nothing is allowed or refused here. A rule that meets many everyday asks would make the slow gesture a habit; the corpora in
/// Tests/Fixtures/severity bound that to one card in ten for each rule and agent.
package struct SeverityRules {
    package typealias Severity = ApprovalRequest.Severity

    package enum Rule: String, CaseIterable, Hashable, Sendable {
        case sandboxLeft, otherUser, deletionOutside, forcedPush, downloadRun, startUpFile, keyFile, agentSettings,
            ownFolder, unread

        package var severity: Severity {
            switch self {
            // The usual reason for an agent to ask at all, and mostly right: time to read is enough.
            case .sandboxLeft: .high
            // Usual where software is installed. The other rules judge what the command does as that user.
            case .otherUser: .high
            // Others may lose work, but their clones and the server's log of references still have it for a while.
            case .forcedPush: .high
            // Nothing brings the files back, and no history of the workspace has them.
            case .deletionOutside: .critical
            // No person has seen the code that runs, and the card cannot show it.
            case .downloadRun: .critical
            // The file runs later and again and again, and no card asks then.
            case .startUpFile: .critical
            // Keys decide who may enter, here and on other machines.
            case .keyFile: .critical
            // Settings decide whether a card comes at all the next time.
            case .agentSettings, .ownFolder: .critical
            // The text is nested or expanded beyond all use, so that the rules did not see its end.
            case .unread: .critical
            }
        }
    }

    /// The part of an ask that the rules judge.
    package struct Subject: Hashable, Sendable {
        /// The whole command, or the whole compact input of a tool.
        package var command: String
        /// False if `command` is a text, such as the content of a file: then only the paths count.
        package var runs: Bool
        /// The folder in which the command runs.
        package var folder: String?
        /// The workspace of the chat, or nil if unknown: then `folder` counts.
        package var workspace: String?
        package var leavesSandbox: Bool
        package var reachesNetwork: Bool
        /// Paths that a yes opens or touches, as the agent names them, including those of a patch.
        package var paths: [String]
        /// The home folder of the person, or nil if unknown: then every home folder counts.
        package var home: String?
        /// The bridge's configuration and state.
        package var ownFolders: [String]
        /// `command` is the text of a dialog, and any of its lines may hold a command.
        package var isProse = false
        /// Every text shown beside `command`.
        package var others: [String] = []

        /// Reads the ask of an agent. The title of a dialog says the command as often as its message.
        package init(_ request: ApprovalRequest, workspace: String?, home: String?, ownFolders: [String]) {
            let facts = request.facts
            let isDialog = request.subject == .dialog && request.command == nil
            let said = isDialog ? "\(request.title)\n\(request.message)" : request.message
            self.init(
                command: request.command ?? said,
                // A permission without a command shows changes of files.
                runs: request.command != nil || request.subject != .permission, folder: facts.folder,
                workspace: workspace, leavesSandbox: facts.leavesSandbox, reachesNetwork: facts.reachesNetwork,
                paths: facts.paths, home: home, ownFolders: ownFolders)
            isProse = isDialog
            others = [request.title, request.message, request.host ?? "", facts.folder ?? ""]
            others += facts.lines.map { "\($0.label): \($0.value)" }
        }

        package init(
            command: String, runs: Bool = true, folder: String? = nil, workspace: String? = nil,
            leavesSandbox: Bool = false,
            reachesNetwork: Bool = false, paths: [String] = [], home: String? = nil, ownFolders: [String] = []
        ) {
            self.command = command
            self.runs = runs
            self.folder = folder
            self.workspace = workspace
            self.leavesSandbox = leavesSandbox
            self.reachesNetwork = reachesNetwork
            self.paths = paths
            self.home = home
            self.ownFolders = ownFolders
        }
    }

    /// The built-in rules that the ask meets.
    package static func met(_ subject: Subject) -> Set<Rule> {
        // A text that no card can show is not read either.
        guard subject.command.utf8.count <= CardText.fieldLimit + CardText.overflowLimit else { return [.unread] }
        var scan = AskScan(subject)
        for path in subject.paths { scan.writes(AskScan.home(Array(path.utf8))) }
        if subject.runs, !scan.toolInput(subject.command) { scan.run(script: Array(subject.command.utf8)) }
        var met = scan.met
        if scan.isExhausted { met.insert(.unread) }
        for script in subject.runs && subject.isProse ? commands(in: subject.command) : [] {
            var scan = AskScan(subject)
            scan.run(script: Array(script.utf8))
            met.formUnion(scan.met)
        }
        if subject.leavesSandbox, subject.reachesNetwork || scan.touchesOutside { met.insert(.sandboxLeft) }
        return met
    }

    /// The rest of a line behind the words that lead to a command, as in "Run sudo make install?".
    private static func commands(in text: String) -> [String] {
        text.split(separator: "\n").prefix(lineLimit).compactMap { line in
            let words = line.split(separator: " ")
            let rest = words.drop { word in
                word.hasSuffix(":") || leads.contains(word.lowercased().filter { $0.isLetter })
            }
            guard rest.count < words.count, !rest.isEmpty else { return nil }
            return rest.joined(separator: " ")
        }
    }

    private static let lineLimit = 64
    private static let leads: Set = [
        "run", "allow", "execute", "approve", "confirm", "permit", "proceed", "with", "really", "dangerous", "command",
        "shell", "the", "agent", "wants", "to", "this", "following", "please", "may", "i", "can", "do", "you", "want",
        "me", "warning", "tool",
    ]

    /// Raises the severity, and never lowers it. In a sealed chat a rule raises to `critical` or not at all: the relay reads the
    /// severity, and learns one bit of a sealed ask rather than two.
    package static func severity(
        of said: Severity, _ subject: Subject, matches: [SeverityMatch], isSealed: Bool
    ) -> Severity {
        let raised =
            met(subject).map(\.severity)
            + matches.filter { match in ([subject.command] + subject.others).contains { match.meets($0) } }
            .map(\.severity)
        return raised.filter { !isSealed || $0 == .critical }.reduce(said) { rank($1) > rank($0) ? $1 : $0 }
    }

    private static func rank(_ severity: Severity) -> Int {
        switch severity {
        case .low: 0
        case .medium: 1
        case .high: 2
        case .critical: 3
        }
    }
}
