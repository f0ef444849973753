import AgentKit
import Vocabulary

/// Prompts have ids of ours: what the agent has not answered is said again on the next socket, and nothing runs twice.
struct ToySocketMachine: AgentMachine {
    private static let channel = ChannelID(1)
    /// What each answer is about.
    private static let answers = ["taken": "prompt", "stopped": "stop", "decided": "decide"]

    let url: String
    let connection: String
    private var decoder = ToySocketDecoder()
    private var isCheck = false
    private var isLive = false
    /// Of the greeting, or of the next try.
    private(set) var nextDeadline: Instant?
    /// Verb and subject, then the rest, in order.
    private var owed: [[String]] = []

    init(url: String, connection: String) { (self.url, self.connection) = (url, connection) }

    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        for turn in past.turns {
            for run in turn.runs where !turn.isAccepted && !turn.isStopping {
                if let text = run.text { owed.append(["prompt", run.id.text, turn.session.text, text]) }
            }
            for past in turn.decisions {
                owed.append(["decide", past.approval.text, past.decision == .deny ? "no" : "yes"])
            }
        }
        return open(now)
    }

    mutating func check(_ now: Occasion) -> [AgentOrder] {
        isCheck = true
        return open(now)
    }

    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        switch command {
        case .send(_, let session, let run, let message): owe("prompt", run.text, session.text, message.text)
        case .abort(_, let run, _): owe("stop", run.text)
        case .resolve(let approval, _, let decision, _, _, _, _):
            owe("decide", approval.text, decision == .deny ? "no" : "yes")
        // The core asks again by itself.
        case .lookUp(_, let run): isLive ? [say(["look", run.text])] : []
        // It asks nothing, and keeps nothing of a chat.
        case .answer, .release: []
        }
    }

    private mutating func owe(_ words: String...) -> [AgentOrder] {
        guard !owed.contains(where: { $0.prefix(2) == words.prefix(2) }) else { return [] }
        owed.append(words)
        return isLive ? [say(words)] : []
    }

    private func say(_ words: [String]) -> AgentOrder {
        let list = words.map { JSONText.string($0).text }.joined(separator: ",")
        return .send(Self.channel, Array(#"{"type":"toy-socket","words":[\#(list)]}"#.utf8))
    }

    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        let words = decoder.words(frame, capacity)
        owed.removeAll { $0[0] == Self.answers[words[0]] && $0[1] == words[1] }
        if words[0] != "ready" { return orders.append(.observed(decoder.observations(words))) }
        if isCheck {
            orders += end(.ok, "the toy \(words[1]) answers")
            return
        }
        (isLive, nextDeadline) = (true, nil)
        orders += [.state(.up(version: words[1], scopes: nil)), .mayPause(Self.channel, true)]
        orders += owed.map(say) + [.observed([.linkBack])]
    }

    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        switch event {
        case .opened: [say(["hello", ""])]
        case .failed(let reason, _): lost(reason, now)
        case .closed, .refused: lost("the toy closed the connection", now)
        case .spawned, .skipped, .heard, .exited, .waits, .wanted: []
        }
    }

    private mutating func open(_ now: Occasion) -> [AgentOrder] {
        nextDeadline = now.now + .seconds(10)
        return [.open(Self.channel, .socket(SocketPlan(url: url)))]
    }

    private mutating func lost(_ reason: String, _ now: Occasion) -> [AgentOrder] {
        if isCheck { return end(.failed, "no connection to the toy: \(reason)") }
        defer { isLive = false }
        let retryAt = now.now + .milliseconds(1_000 + Int64(now.random % 1_000))
        nextDeadline = retryAt
        return (isLive ? [.observed([.linkLost])] : []) + [
            .state(.waiting(reason: reason, retryAt: retryAt, remedy: nil))
        ]
    }

    private mutating func end(_ outcome: DoctorFinding.Outcome, _ words: String) -> [AgentOrder] {
        let exitCode: ExitCode? = outcome == .ok ? nil : .agentUnreachable
        let finding = DoctorFinding(.agent, outcome, words, connection: connection, exitCode: exitCode)
        return [.finding(finding)] + shutDown() + [.done]
    }

    private mutating func shutDown() -> [AgentOrder] {
        (isLive, nextDeadline) = (false, nil)
        return [.close(Self.channel, .socket(code: 1000, reason: ""))]
    }

    mutating func shutDown(_ now: Occasion) -> [AgentOrder] { shutDown() }

    mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        guard let due = nextDeadline, due <= now.now else { return [] }
        // A greeting that is late is no connection either.
        return shutDown() + open(now)
    }

    mutating func slept(_ now: Occasion) -> [AgentOrder] { isLive ? shutDown() + lost("the computer slept", now) : [] }
}
