import FoundationEssentials
import Vocabulary

@testable import BridgeCore

/// A line of Tests/Fixtures/severity; its README explains the keys.
struct SeverityLine: Decodable, Sendable {
    var command: String
    var runs: Bool?
    var folder: String?
    var workspace: String?
    var leavesSandbox: Bool?
    var reachesNetwork: Bool?
    var paths: [String]?
    var expected: String?

    var subject: SeverityRules.Subject {
        SeverityRules.Subject(
            command: command, runs: runs ?? true, folder: folder, workspace: workspace,
            leavesSandbox: leavesSandbox ?? false, reachesNetwork: reachesNetwork ?? false, paths: paths ?? [],
            home: Self.home, ownFolders: Self.ownFolders)
    }

    /// The command as a dialog of pi, with a short line as its title and any other text as its message.
    var subjectOfDialog: SeverityRules.Subject {
        let isLong = command.utf8.count > 120 || command.contains(where: \.isNewline)
        let request = ApprovalRequest(
            id: ApprovalID("a"), subject: .dialog, title: isLong ? "The agent asks" : command,
            message: isLong ? command : "")
        return SeverityRules.Subject(request, workspace: workspace, home: Self.home, ownFolders: Self.ownFolders)
    }

    /// `none` if no rule matches.
    var found: String {
        let severity = SeverityRules.severity(of: .low, subject, matches: [], isSealed: false)
        return severity == .low ? "none" : severity.rawValue
    }

    static let home = "/home/ada"
    static let ownFolders = ["/home/ada/.config/sophon-bridge", "/home/ada/.local/state/sophon-bridge"]

    private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fixtures/severity")

    static func read(_ name: String) throws -> [Self] {
        let text = try String(contentsOf: fixtures.appending(path: name), encoding: .utf8)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Self.self, from: Data($0.utf8)) }
    }

    static func tricks() throws -> [(file: String, line: Self)] {
        let names = try FileManager.default.contentsOfDirectory(atPath: fixtures.path()).filter {
            $0.hasPrefix("tricks-") && $0.hasSuffix(".jsonl")
        }
        return try names.sorted().flatMap { name in try read(name).map { (name, $0) } }
    }
}
