import AgentKit
import Vocabulary

/// An order, bound to its channel's number or its receiver.
enum AgentStep: Sendable {
    case open(Int, ChannelID, Channel)
    case send(Int, ChannelID, [UInt8], WorkID?)
    case close(Int, Closing)
    /// The child's place is free.
    case begin(Int, Seats.Waiting)
    case idle(Int, Bool)
    case asks(Int, WaitingChat?)
    case start(WorkTable.Start)
    case refuse(WorkID, WorkFailure)
    case answer(@Sendable (AgentReply) -> Void, AgentReply)
    case readSettings
    case cover(Secret)
    case tell(AgentLinkEvent)
}

/// Queries that the machine has not answered; each times out after half a minute.
struct QueryTable {
    private static let limit = Duration.seconds(30)

    private struct Waiting {
        var completion: @Sendable (AgentReply) -> Void
        var until: Instant
    }

    private var waiting: [QueryID: Waiting] = [:]
    private var lastNumber = 0

    var nextDeadline: Instant? { waiting.isEmpty ? nil : waiting.values.map(\.until).min() }

    mutating func add(_ completion: @escaping @Sendable (AgentReply) -> Void, at now: Instant) -> QueryID {
        lastNumber += 1
        waiting[QueryID(lastNumber)] = Waiting(completion: completion, until: now + Self.limit)
        return QueryID(lastNumber)
    }

    /// Nil if the query was answered before.
    mutating func remove(_ id: QueryID) -> (@Sendable (AgentReply) -> Void)? {
        waiting.removeValue(forKey: id)?.completion
    }

    mutating func expired(at now: Instant) -> [@Sendable (AgentReply) -> Void] {
        let late = waiting.filter { $0.value.until <= now }.keys.sorted { $0.number < $1.number }
        return late.compactMap { remove($0) }
    }

    mutating func leave() -> [@Sendable (AgentReply) -> Void] {
        defer { waiting = [:] }
        return waiting.sorted { $0.key.number < $1.key.number }.map(\.value.completion)
    }
}

/// Reasons to pause reading.
struct Pressure {
    /// Longest backlog of frames whose orders another thread still carries out. Above it reading pauses until half of it is left.
    static let backlogLimit = 4 << 20

    /// Bytes of frames whose orders are pending.
    var heldBytes = 0
    /// The owner has no room for more.
    var isHeld = false
    /// A channel is paused.
    var isPausing = false

    var mustPause: Bool { isHeld || heldBytes > (isPausing ? Self.backlogLimit / 2 : Self.backlogLimit) }
    /// Without pressure no channel needs a pause or a resume.
    var concernsChannels: Bool { isPausing || mustPause }
}

extension ChannelTable.Line {
    func pauseReading(_ pauses: Bool) {
        switch self {
        case .socket(let link): pauses ? link.pauseReading() : link.resumeReading()
        case .child(let link, _): pauses ? link.pauseReading() : link.resumeReading()
        }
    }

    func close(_ closing: Closing) {
        switch (self, closing) {
        case (.socket(let link), .socket(let code, let reason)): link.close(code: code, reason: reason)
        case (.socket(let link), .input), (.socket(let link), .child): link.cut()
        case (.child(let link, _), .input): link.closeInput()
        case (.child(let link, _), .child(let atOnce)): link.end(atOnce: atOnce)
        case (.child(let link, _), .socket): link.end(atOnce: false)
        }
    }

    /// Ends the line when the bridge stops: a child that lives by itself loses only its input.
    func cut() {
        switch self {
        case .socket(let link): link.cut()
        case .child(let link, .withBridge): link.end(atOnce: true)
        case .child(let link, .byItself): link.closeInput()
        case .child(_, .outlives): break
        }
    }
}

extension ChildEvent {
    var isLast: Bool {
        switch self {
        case .failed, .exited: true
        case .spawned, .line, .skipped, .complained, .written: false
        }
    }
}

extension WebSocketRequest {
    init(_ plan: SocketPlan) {
        self.init(url: plan.url, headers: plan.headers, messageLimit: plan.messageLimit, unixPath: plan.unixPath)
        listener = plan.trust.listener
        switch plan.trust.certificates {
        case .system: break
        case .authority(let file): authorityFile = file
        case .leaf(let digest): leafPin = digest
        }
    }
}
