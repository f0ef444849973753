import BridgeCore
import RelayProtocol
import Vocabulary

/// State of updates on their way in.
struct Arriving: Sendable {
    /// Messages that are being stored, by their own names.
    var accepting: [TurnID: TurnOpening] = [:]
    var relayTime = RelayTime()
    var relayClock = RelayClock()
    /// Place of the state directory, or nil if placeholders must not be marked as this bridge's.
    var place: LiveConnection.StatePlace?
    var mark: StateMark?
    /// Stops without a time, with their first delivery; at the limit the oldest is dropped.
    private var stops: [(stop: Heard, at: Instant)] = []
    private static let stopLimit = 1_000
    /// Numbers of updates may restart, and a later Stop may have the number of an earlier one.
    private static let stopMemory = Duration.seconds(30 * 60)

    private struct Heard: Hashable {
        var update: UpdateID
        var session: SessionID?
        var interaction: InteractionID?
    }

    mutating func firstHeard(_ update: RelayUpdate) -> Instant {
        let stop = Heard(update: update.id, session: update.session, interaction: update.interaction)
        stops.removeAll { update.receivedAt - $0.at >= Self.stopMemory }
        if let known = stops.first(where: { $0.stop == stop }) { return known.at }
        if stops.count == Self.stopLimit { stops.removeFirst() }
        stops.append((stop, update.receivedAt))
        return update.receivedAt
    }
}

/// Maps a message of the user to its turn: the names of turn, run and agent session, all made of durable facts, so that a restarted bridge
/// makes the same.
struct UpdateIntake {
    /// How long the relay accepts writes for an interaction (relay.md#sessionmessage-the-user-wrote).
    static let window = Duration.seconds(30 * 60)

    var agentSession: @Sendable (SessionID) -> AgentSession

    /// `made` is the message's moment as far as `RelayTime` knows it; `clock` is the estimate from the relay's answers.
    func opening(
        for message: UserMessage, of update: RelayUpdate, made: RelayMoment?, clock: RelayClock, at now: Instant,
        wall: Int64
    ) -> TurnOpening {
        let turn = message.interaction.map { TurnID($0.text) } ?? Self.ownTurn(of: message)
        // The window runs from the making of the update or its first sight, whichever is earlier.
        let age = update.createdAtWallMilliseconds.map { clock.age(of: $0, at: now, wall: wall) } ?? .zero
        return opening(for: message, as: turn, made: made, windowEnds: now - age + Self.window, at: now)
    }

    /// Opening for a second message under an interaction that has its turn already: a turn by the message's own name. It gets no bubble, since
    /// the interaction has one; its answer goes out as whole messages, as after the end of its window.
    func ownOpening(for message: UserMessage, made: RelayMoment?, at now: Instant) -> TurnOpening {
        opening(for: message, as: Self.ownTurn(of: message), made: made, windowEnds: now, at: now)
    }

    static func ownTurn(of message: UserMessage) -> TurnID { TurnID(StableHash.text(of: message.id.text)) }

    private func opening(
        for message: UserMessage, as turn: TurnID, made: RelayMoment?, windowEnds: Instant, at now: Instant
    ) -> TurnOpening {
        TurnOpening(
            id: turn, session: message.session, interaction: message.interaction,
            agentSession: agentSession(message.session), run: RunID("sophon-\(turn)"), message: message,
            receivedAt: now, windowEnds: windowEnds, made: made)
    }
}
