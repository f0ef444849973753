import AgentKit
import Pi
import Vocabulary

typealias PiConversation = EngineConversation<PiDialect>

extension EngineConversation where D == PiDialect {
    init(
        _ settings: PiSettings = PiSettings(command: ["pi", "--mode", "rpc"], folder: "/work"), facts: [Fact] = [],
        turns: [EarlierTurn] = []
    ) {
        self.init(settings: settings, facts: facts, turns: turns)
    }

    /// The process runs, has answered, and its session file is recorded.
    static func ready() -> Self {
        var conversation = Self()
        _ = conversation.looksUp("none")
        _ = conversation.spawns()
        _ = conversation.says(PiSays.state(1, #""sessionFile":"/s/1""#))
        _ = conversation.keeps()
        _ = conversation.says(PiSays.messages(2, "[]"))
        return conversation
    }

    /// The run of a prompt with the request id `sb-3` is under way.
    static func going() -> Self {
        var conversation = ready()
        _ = conversation.sends("r1", "one")
        _ = conversation.says(PiSays.accepted(3))
        _ = conversation.says(PiSays.started)
        return conversation
    }

    /// A process of the bridge had a run in its only chat, and this one comes after it.
    /// `receivedAt` is the time of the message, in milliseconds.
    static func after(_ run: String, _ text: String, receivedAt: Int64 = 0) -> Self {
        let turn = EarlierTurn(
            session: chat, runs: [EarlierTurn.Run(RunID(run), text: text)], isAccepted: true, isStopping: false,
            receivedAt: Instant.zero + .milliseconds(receivedAt), decisions: [], detached: [])
        return Self(facts: [Fact("session:\(chat)", Array("/s/1".utf8))], turns: [turn])
    }
}
