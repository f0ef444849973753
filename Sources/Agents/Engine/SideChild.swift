import AgentKit
import JSONReading
import Vocabulary

/// A child without a session beside the chats: started to list its models or for `doctor`, then ended.
struct SideChild<D: Dialect> {
    enum Errand {
        case list([QueryID])
        /// A look for `doctor`, with the connection's name.
        case examine(String)
    }

    private static var listLimit: Duration { .seconds(20) }
    private static var examineLimit: Duration { .seconds(30) }

    private struct Life {
        let channel: ChannelID
        var errand: Errand
        var reading: D.Reading
        let limit: Duration
        var deadline: Instant
    }

    private var life: Life?

    var nextDeadline: Instant? { life?.deadline }
    func isOn(_ channel: ChannelID) -> Bool { life?.channel == channel }

    /// `begin` makes a channel if none is open.
    mutating func list(
        _ query: QueryID, _ dialect: D, _ now: Occasion, begin: () -> ChannelID
    ) -> [AgentOrder] {
        guard case .list(let queries)? = life?.errand else {
            return start(.list([query]), dialect, on: begin(), within: Self.listLimit, now)
        }
        life?.errand = .list(queries + [query])
        return []
    }

    mutating func examine(
        for connection: String, _ dialect: D, on channel: ChannelID, _ now: Occasion
    ) -> [AgentOrder] {
        start(.examine(connection), dialect, on: channel, within: Self.examineLimit, now)
    }

    private mutating func start(
        _ errand: Errand, _ dialect: D, on channel: ChannelID, within limit: Duration, _ now: Occasion
    ) -> [AgentOrder] {
        life = Life(
            channel: channel, errand: errand, reading: dialect.reading(of: AgentSession(""), mark: ""), limit: limit,
            deadline: now.now + limit)
        return [.open(channel, .child(dialect.sidePlan))]
    }

    mutating func happened(_ event: ChannelEvent, _ dialect: D, _ now: Occasion) -> [AgentOrder] {
        switch event {
        case .spawned: walks(.begin, dialect, now)
        case .waits(let running, _):
            if case .list? = life?.errand {
                fails("\(Seat.words(running)); ask again when one has ended", .agentUnreachable, dialect)
            } else {
                []
            }
        case .failed(let message, _):
            fails(message, .agentNotInstalled, dialect, how: "could not be started", isOpen: false)
        case .exited(let end, let lastWords):
            fails(end.words(lastWords), .agentNotInitialised, dialect, how: "ended", isOpen: false)
        case .opened, .heard, .skipped, .refused, .closed, .wanted: []
        }
    }

    mutating func received(_ frame: FrameNode, _ dialect: D, _ now: Occasion) -> [AgentOrder] {
        guard let answer = dialect.answer(in: frame) else { return [] }
        guard answer.request == request || answer.request == nil && answer.isRefusal else { return [] }
        return walks(.answer(frame), dialect, now)
    }

    mutating func timePassed(_ dialect: D, _ now: Occasion) -> [AgentOrder] {
        guard let nextDeadline, nextDeadline <= now.now else { return [] }
        return switch life?.errand {
        case .list, nil: fails("\(dialect.name) did not answer", .agentUnreachable, dialect)
        case .examine: fails("it did not answer within 30 seconds", .agentUnreachable, dialect)
        }
    }

    mutating func slept(_ now: Occasion) { if let limit = life?.limit { life?.deadline = now.now + limit } }

    /// The host answers open queries at the end of the process.
    mutating func shutDown() -> [AgentOrder] {
        life.take().map { [.close($0.channel, .child(atOnce: true))] } ?? []
    }

    // MARK: The walk

    private var request: String {
        switch life?.errand {
        case .list, nil: "sb-models"
        case .examine: "sb-check"
        }
    }

    private mutating func walks(_ heard: Heard, _ dialect: D, _ now: Occasion) -> [AgentOrder] {
        guard var known = life else { return [] }
        let here = Here(now: now, session: AgentSession(""), request: request)
        switch known.errand {
        case .list:
            let step = dialect.list(heard, &known.reading, here)
            life = known
            return take(step, dialect) { $0.concludes($1) }
        case .examine(let connection):
            let step = dialect.examine(heard, &known.reading, here)
            life = known
            return take(step, dialect) { side, examined in
                switch examined {
                case .runs(let more):
                    let words = "\(dialect.name) runs (\(dialect.program))\(more)"
                    return side.concludes(DoctorFinding(.agent, .ok, words, connection: connection))
                case .lacks(let reason, let code, let remedy):
                    return side.concludes(
                        DoctorFinding(
                            .agent, .failed, "\(dialect.name) cannot be used: \(reason)", remedy: remedy,
                            connection: connection, exitCode: code))
                }
            }
        }
    }

    private mutating func take<End>(
        _ step: Step<End>, _ dialect: D, done: (inout Self, End) -> [AgentOrder]
    ) -> [AgentOrder] {
        switch step {
        case .ask(let frame, _): life.map { [.send($0.channel, frame)] } ?? []
        case .done(let end): done(&self, end)
        case .failed(let reason): fails(reason, .agentNotInitialised, dialect)
        // Looks at the outside belong to chats alone.
        case .work, .pause: fails("it was asked for more than it can say", .agentNotInitialised, dialect)
        }
    }

    // MARK: The end

    private mutating func fails(
        _ reason: String, _ code: ExitCode, _ dialect: D, how: String? = nil, isOpen: Bool = true
    ) -> [AgentOrder] {
        switch life?.errand {
        case .list:
            let sentence = how.map { "\(dialect.name) \($0): \(reason)" } ?? reason
            return concludes(.refused(message: sentence), isOpen: isOpen)
        case .examine(let connection):
            let finding = DoctorFinding(
                .agent, .failed, "\(dialect.name) cannot be used: \(reason)", remedy: dialect.remedy,
                connection: connection, exitCode: code)
            return concludes(finding, isOpen: isOpen)
        case nil: return []
        }
    }

    private mutating func concludes(_ reply: AgentReply, isOpen: Bool = true) -> [AgentOrder] {
        guard let ended = life.take(), case .list(let queries) = ended.errand else { return [] }
        let closing: [AgentOrder] = isOpen ? [.close(ended.channel, .child(atOnce: true))] : []
        return queries.map { .replied($0, reply) } + closing
    }

    private mutating func concludes(_ finding: DoctorFinding, isOpen: Bool = true) -> [AgentOrder] {
        guard let ended = life.take() else { return [] }
        let closing: [AgentOrder] = isOpen ? [.close(ended.channel, .child(atOnce: false))] : []
        return [.finding(finding)] + closing + [.done]
    }
}
