import AgentKit
import JSONReading
import Vocabulary

/// A pi without a session, which is started to say which models it has, and ended.
struct PiModelList {
    private static let limit = Duration.seconds(20)
    private static let request = "sb-models"

    private var channel: ChannelID?
    private var queries: [QueryID] = []
    private var deadline: Instant?

    var nextDeadline: Instant? { channel == nil ? nil : deadline }
    func isOn(_ channel: ChannelID) -> Bool { self.channel == channel }

    /// `begin` makes the channel where none is open.
    mutating func ask(
        _ query: QueryID, _ plan: ChildPlan, at now: Instant, begin: () -> ChannelID
    ) -> [AgentOrder] {
        queries.append(query)
        guard channel == nil else { return [] }
        let new = begin()
        (channel, deadline) = (new, now + Self.limit)
        return [.open(new, .child(plan))]
    }

    mutating func happened(_ event: ChannelEvent) -> [AgentOrder] {
        switch event {
        case .spawned: channel.map { [.send($0, PiFrames.models(Self.request))] } ?? []
        case .waits(let running, _):
            conclude(.refused(message: "\(PiSeat.words(running)); ask again when one has ended"))
        case .failed(let message, _):
            conclude(.refused(message: "pi could not be started: \(message)"), isOpen: false)
        case .exited(let end, let lastWords):
            conclude(.refused(message: "pi ended: \(end.words(lastWords))"), isOpen: false)
        case .opened, .heard, .skipped, .refused, .closed, .wanted: []
        }
    }

    mutating func received(_ root: FrameNode) -> [AgentOrder] {
        let isOurs = root["id"]?.equals(Self.request) == true
        let isFailure = root["type"]?.holds("response") == true && root["success"]?.flag == false
        return isOurs || isFailure ? conclude(PiModel.list(root)) : []
    }

    mutating func timePassed(at now: Instant) -> [AgentOrder] {
        guard let nextDeadline, nextDeadline <= now else { return [] }
        return conclude(.refused(message: "pi did not answer"))
    }

    mutating func slept(at now: Instant) { deadline = now + Self.limit }

    private mutating func conclude(_ reply: AgentReply, isOpen: Bool = true) -> [AgentOrder] {
        guard let channel else { return [] }
        self.channel = nil
        defer { queries = [] }
        let closing: [AgentOrder] = isOpen ? [.close(channel, .child(atOnce: true))] : []
        return queries.map { .replied($0, reply) } + closing
    }
}
