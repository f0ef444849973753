import AgentKit
import ConversationEngine
import LeastAgent
import Vocabulary

typealias LeastConversation = EngineConversation<LeastDialect>

extension EngineConversation where D == LeastDialect {
    static func make(_ habits: (inout Habits) -> Void = { _ in }, reach: LeastDialect.Reach = .atOnce) -> Self {
        var settings = LeastDialect.Settings()
        habits(&settings.habits)
        settings.reach = reach
        return Self(settings: settings)
    }

    /// Answers the newest request of that kind, with further members.
    mutating func confirms(_ kind: String, _ more: String = "", _ channel: Int = 1) -> [String] {
        guard let request = written.last(where: { $0.contains(" \(kind)") })?.prefix(while: { $0 != " " }) else {
            return ["nothing to confirm"]
        }
        let session = kind == "hello" ? #","session":"/s/1""# : ""
        return says("{\"answer\":\"\(request)\"\(session)\(more)}", channel)
    }

    /// The child answers, and its place is recorded.
    mutating func opens(_ channel: Int = 1) -> [String] {
        spawns(channel) + confirms("hello", "", channel) + (channel == 1 ? keeps() : [])
    }
}
