import AgentKit
import JSONReading
import Vocabulary

/// The server's description of itself, requested after its stream has greeted the bridge.
struct OppiServer {
    enum Question: Hashable, CaseIterable { case info, workspaces, pending }

    struct Workspace: Hashable {
        var id: String
        var name: String
    }

    enum Choice: Hashable {
        case workspace(String)
        /// A sentence for the reader of a bubble.
        case none(String)
    }

    private var open: Set<Question> = []
    private(set) var version = "unknown"
    private(set) var workspaces: [Workspace] = []
    /// The instant at which the server's clock reads 1970, or nil if unknown.
    private(set) var epoch: Instant?
    /// The earliest start of the server's process, or nil if it does not report its age.
    private(set) var startedAfter: Instant?
    private var askedAt = Instant.zero

    static func path(_ question: Question) -> String {
        switch question {
        case .info: "/server/info"
        case .workspaces: "/workspaces"
        case .pending: "/permissions/pending"
        }
    }

    mutating func asks(at now: Instant) -> [Question] {
        askedAt = now
        open = Set(Question.allCases)
        return Question.allCases
    }

    var isKnown: Bool { open.isEmpty }

    /// False if the question was not open.
    mutating func answered(_ question: Question, _ body: FrameNode?, at now: Instant) -> Bool {
        guard open.remove(question) != nil else { return false }
        take(question, body, at: now)
        return true
    }

    /// Whether the body answers the question at all.
    static func isAnswer(_ body: FrameNode, to question: Question) -> Bool {
        switch question {
        case .info: true
        case .workspaces: body["workspaces"]?.elements != nil
        case .pending: body["pending"]?.elements != nil
        }
    }

    mutating func take(_ question: Question, _ body: FrameNode?, at now: Instant) {
        switch question {
        case .info:
            version = body?["version"]?.string ?? version
            // The age is in whole seconds, rounded down, at some moment after the request.
            startedAfter = body?["uptime"]?.number(in: 0...1e9).map { askedAt - .seconds($0 + 1) }
        case .workspaces:
            guard let body else { return }
            workspaces = (body["workspaces"]?.elements ?? []).compactMap { workspace in
                guard let id = workspace["id"]?.string, OppiPlace.isName(id) else { return nil }
                return Workspace(id: id, name: workspace["name"]?.string ?? id)
            }
        case .pending:
            let time = body?["serverTime"]?.integer(in: .wallMilliseconds)
            epoch = time.map { now - .milliseconds(Int64($0)) } ?? epoch
        }
    }

    /// Whether the current process began after that moment.
    func hasRestarted(since heard: Instant) -> Bool {
        // In doubt the trace decides (`Look.isInDoubt`): to drop the numbers would lose the replay.
        startedAfter.map { $0 > heard } ?? false
    }

    func choice(_ configured: String?) -> Choice {
        let names = workspaces.map(\.name).joined(separator: ", ")
        if let configured {
            let found = workspaces.first { $0.id == configured } ?? workspaces.first { $0.name == configured }
            if let found { return .workspace(found.id) }
            return .none(
                "Oppi has no workspace “\(configured)”. It has: \(names.isEmpty ? "none" : names). "
                    + "Please set agent.workspace (OPPI_WORKSPACE) to one of them.")
        }
        switch workspaces.count {
        case 0: return .none("Oppi has no workspace yet. Please make one in Oppi, and send the message again.")
        case 1: return .workspace(workspaces[0].id)
        default:
            return .none(
                "Oppi has several workspaces: \(names). Please set agent.workspace (OPPI_WORKSPACE) to one of them.")
        }
    }
}
