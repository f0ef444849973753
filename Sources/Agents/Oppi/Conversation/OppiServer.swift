import AgentKit
import JSONReading
import Vocabulary

/// What the server said of itself after its stream had greeted us.
struct OppiServer {
    enum Question: Hashable, CaseIterable { case info, workspaces, pending }

    struct Workspace: Hashable {
        var id: String
        var name: String
    }

    enum Choice: Hashable {
        case workspace(String)
        /// In words for the reader of a bubble.
        case none(String)
    }

    private var open: Set<Question> = []
    private(set) var version = "unknown"
    private(set) var workspaces: [Workspace] = []
    /// 1970 on the server's clock; nil: not known.
    private(set) var epoch: Instant?
    /// The earliest moment at which its process can have begun; nil: it did not say.
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

    /// False: it was not asked for.
    mutating func answered(_ question: Question, _ body: FrameNode?, at now: Instant) -> Bool {
        guard open.remove(question) != nil else { return false }
        take(question, body, at: now)
        return true
    }

    /// False: whatever it is, it says nothing of what was asked.
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
            // The age is in whole seconds, rounded down, and of some moment since it was asked for.
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

    /// The process that answers now is another than the one that was heard then.
    func hasRestarted(since heard: Instant) -> Bool {
        // Where a doubt is left the trace decides (`Look.isInDoubt`): to give the numbers up would lose what is replayed.
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
