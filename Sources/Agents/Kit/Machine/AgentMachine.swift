package import Vocabulary

/// The link of one connection to its agent, with all of its channels, for ever: events go in, orders come back.
///
/// - No I/O, no clock, no randomness: each event brings its `Occasion`, and every look at the outside is a `Work` whose result
///   is an event again.
/// - Orders are carried out in the order in which they were returned.
/// - A channel that the machine has closed never speaks again; one that has ended by itself said so last.
/// - Each work is answered once by `finished`, also one that failed.
///
/// The host (`AgentHost`) owns the sockets, the children and one timer, and makes one call at a time.
package protocol AgentMachine: ~Copyable, SendableMetatype {
    /// What its plug-in reads from the configuration and from files, and may reread while the machine runs.
    associatedtype Settings: Sendable = NoSettings

    /// When `timePassed` is due, if nothing else happens.
    var nextDeadline: Instant? { get }
    /// Likewise, by the reading clock (`Occasion.read`).
    var nextReadingDeadline: Instant? { get }
    /// Of messages that it has taken and not passed on.
    var heldBytes: Int { get }

    // One of two beginnings, once.

    /// `run`. No turn of the past is sent again before the agent was asked what became of it, unless the agent cannot run it twice.
    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder]
    /// `doctor`: connects as `run` does, changes nothing, reports a `.finding` for each check and `.done` at the end.
    mutating func check(_ now: Occasion) -> [AgentOrder]

    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder]
    /// Answered by one `.replied`.
    mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder]

    /// The hot path: a message of a socket, a line of a child. `capacity` says how many bytes from its beginning may be read.
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder])
    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder]
    mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder]
    mutating func timePassed(_ now: Occasion) -> [AgentOrder]
    /// The computer was suspended: what was open is dead, though nothing may say so.
    mutating func slept(_ now: Occasion) -> [AgentOrder]
    /// The settings were reread, because a person changed the configuration or the machine asked for it (`.readSettings`).
    mutating func use(_ settings: Settings, _ now: Occasion) -> [AgentOrder]
    /// Closes what does not outlive the bridge. No command follows.
    mutating func shutDown(_ now: Occasion) -> [AgentOrder]
}

/// Of a machine whose settings cannot change.
package enum NoSettings: Sendable {}

extension AgentMachine where Self: ~Copyable {
    package var nextDeadline: Instant? { nil }
    package var nextReadingDeadline: Instant? { nil }
    package var heldBytes: Int { 0 }
    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        [.replied(id, .refused(message: "this agent does not answer that"))]
    }
    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] { [] }
    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] { [] }
    package mutating func use(_ settings: Settings, _ now: Occasion) -> [AgentOrder] { [] }
}

/// When something happens. `random` is new for each event, so that no method is generic over a generator.
package struct Occasion: Hashable, Sendable {
    package var now: Instant
    /// The same moment on the clock that stands while the host does not read the machine's channels: silence and unanswered requests
    /// count by it. An instant of one clock is never compared with one of the other.
    package var read: Instant
    /// Since 1970.
    package var wallMilliseconds: Int64
    package var random: UInt64

    package init(now: Instant, wallMilliseconds: Int64, random: UInt64, read: Instant? = nil) {
        self.now = now
        self.read = read ?? now
        self.wallMilliseconds = wallMilliseconds
        self.random = random
    }

    /// A moment of the reading clock on that of `now`.
    package func moment(ofReading deadline: Instant) -> Instant { deadline + unread }

    /// For how long the host did not read, in all.
    package var unread: Duration { now - read }
}

/// What an earlier process of the bridge knew.
package struct AgentPast: Hashable, Sendable {
    /// As they were kept (`Work.keep`).
    package var facts: [Fact] = []
    /// Children that were written down and are not known to have ended.
    package var processes: [ProcessName] = []
    package var turns: [EarlierTurn] = []

    package init() {}
}

/// What must be known after a restart: a chat's native session, a server's socket. Never a secret. Nil forgets.
package struct Fact: Hashable, Sendable {
    package var name: String
    package var value: [UInt8]?

    package init(_ name: String, _ value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}
