package import Vocabulary

/// The link of one connection to its agent, with all its channels, through every loss: events go in, orders come back.
///
/// - No I/O, no clock, no randomness: each event brings its `Occasion`, and every look at the outside is a `Work` whose result is
///   an event again.
/// - The host carries orders out in the order in which they were returned.
/// - A channel that the machine has closed never speaks again; one that ends by itself says so last.
/// - `finished` answers each work once, also a failed one.
///
/// The host (`AgentHost`) owns the sockets, the children and one timer, and makes one call at a time.
package protocol AgentMachine: ~Copyable, SendableMetatype {
    /// Settings that the plug-in reads from the configuration and from files, and may reread while the machine runs.
    associatedtype Settings: Sendable = NoSettings

    /// When `timePassed` is due without an earlier event.
    var nextDeadline: Instant? { get }
    /// The same by the reading clock (`Occasion.read`).
    var nextReadingDeadline: Instant? { get }
    /// Bytes of messages that the machine has taken and not passed on.
    var heldBytes: Int { get }

    // One of two beginnings, once.

    /// `run`. A turn of the past is sent again only after the agent was asked about it, or if the agent cannot run it twice.
    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder]
    /// `doctor`: connects as `run` does, changes nothing, reports a `.finding` for each check and `.done` at the end.
    mutating func check(_ now: Occasion) -> [AgentOrder]

    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder]
    /// One `.replied` answers the query.
    mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder]

    /// The hot path: a message of a socket, a line of a child. `capacity`: readable bytes from its beginning.
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder])
    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder]
    mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder]
    mutating func timePassed(_ now: Occasion) -> [AgentOrder]
    /// The computer was suspended: open channels are dead, though nothing may say so.
    mutating func slept(_ now: Occasion) -> [AgentOrder]
    /// New settings: a person changed the configuration, or the machine asked for them (`.readSettings`).
    mutating func use(_ settings: Settings, _ now: Occasion) -> [AgentOrder]
    /// Closes all that does not outlive the bridge. No command follows. A message that the agent has had nothing of, and that no
    /// look-up would find again, is answered by `.neverLeft`.
    mutating func shutDown(_ now: Occasion) -> [AgentOrder]
}

/// Settings of a machine that has none to change.
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

/// Time of an event. `random` is new for each, so no method is generic over a generator.
package struct Occasion: Hashable, Sendable {
    package var now: Instant
    /// The same moment on the reading clock, which stands while the host does not read the machine's channels. Silence and
    /// unanswered requests count by it. An instant of one clock is never compared with one of the other.
    package var read: Instant
    /// Milliseconds since 1970.
    package var wallMilliseconds: Int64
    package var random: UInt64

    package init(now: Instant, wallMilliseconds: Int64, random: UInt64, read: Instant? = nil) {
        self.now = now
        self.read = read ?? now
        self.wallMilliseconds = wallMilliseconds
        self.random = random
    }

    /// Moment of the host's clock for a deadline of the reading clock.
    package func moment(ofReading deadline: Instant) -> Instant { deadline + unread }

    /// Time during which the host did not read, in all.
    package var unread: Duration { now - read }
}

/// Past that an earlier process of the bridge left.
package struct AgentPast: Hashable, Sendable {
    /// Facts of earlier `Work.keep`.
    package var facts: [Fact] = []
    /// Recorded children that are not known to have ended.
    package var processes: [ProcessName] = []
    package var turns: [EarlierTurn] = []

    package init() {}
}

/// A fact for after a restart, such as a chat's native session or a server's socket. Never a secret. A nil value deletes it.
package struct Fact: Hashable, Sendable {
    package var name: String
    package var value: [UInt8]?

    package init(_ name: String, _ value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}
