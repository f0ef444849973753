import JSONReading
import Vocabulary

/// A fault that a person has to mend before messages can be answered. Each message has the bridge look again.
enum CodexTrouble: Hashable {
    case notInstalled(String)
    case tooOld(String)
    case noPlaceForSocket
    /// Another user owns the socket or listens on it.
    case foreignSocket(String)
    case cannotStart(String)
    case loggedOut
    case configuration(String)

    /// The first version with one writer for each thread and with lists of turns (codex.md#versions).
    static let oldest = [0, 147, 0]

    var reason: String {
        switch self {
        case .notInstalled(let why): "Codex cannot be found: \(why)"
        case .tooOld(let version): "Codex \(version) is too old for the bridge, which needs 0.147 or later"
        case .noPlaceForSocket: "there is no folder with a path short enough for the socket of Codex's server"
        case .foreignSocket(let why): why
        case .cannotStart(let why): "Codex's server does not start: \(why)"
        case .loggedOut: "Codex is not logged in"
        case .configuration(let details): "Codex cannot read its configuration and would use other settings: \(details)"
        }
    }

    var remedy: String {
        switch self {
        case .notInstalled: "install Codex on the computer where the bridge runs, or name the program by CODEX_COMMAND"
        case .tooOld: "update Codex"
        case .noPlaceForSocket: "set SOPHON_STATE_DIR to a folder with a shorter path"
        case .foreignSocket: "remove that socket, and let no other user write to its folder"
        case .cannotStart: "try `codex app-server` in a terminal"
        case .loggedOut: CodexFailure.loginRemedy
        case .configuration: "mend config.toml in CODEX_HOME (~/.codex)"
        }
    }

    /// Text for the bubble.
    var sentence: String {
        "\(reason.prefix(1).uppercased())\(reason.dropFirst()). To mend it, \(remedy); then write again."
    }

    var exitCode: ExitCode {
        switch self {
        case .notInstalled: .agentNotInstalled
        case .loggedOut: .agentTokenMissing
        case .foreignSocket: .agentUnreachable
        case .tooOld, .noPlaceForSocket, .cannotStart, .configuration: .agentNotInitialised
        }
    }

    /// Reads the answer to `account/read`.
    static func isLoggedOut(_ account: FrameNode) -> Bool {
        account["requiresOpenaiAuth"]?.flag == true && account["account"]?.isObject != true
    }

    /// The first version number in the output of `codex --version` or in a server's `userAgent`.
    static func version(in text: String) -> String? {
        let words = text.split { $0.isWhitespace || $0 == "/" }
        return words.map(String.init).first { numbers($0) != nil }
    }

    static func isTooOld(_ version: String) -> Bool {
        numbers(version)?.lexicographicallyPrecedes(oldest) ?? true
    }

    private static func numbers(_ word: String) -> [Int]? {
        let core = word.prefix { $0 != "-" && $0 != "+" }.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = core.compactMap { part in part.utf8.count <= 6 ? Int(part) : nil }
        return core.count == 3 && numbers.count == 3 ? numbers : nil
    }

    /// Nil unless the `configWarning` rejects the file as a whole (codex.md#starting-it).
    static func configuration(summary: String?, details: String?) -> CodexTrouble? {
        guard let summary, summary.hasPrefix("Invalid configuration") else { return nil }
        return .configuration(details ?? summary)
    }
}
