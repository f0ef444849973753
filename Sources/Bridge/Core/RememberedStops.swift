import Vocabulary

/// Stops for messages that have not come yet: a Stop can overtake its message (DESIGN.md#the-turn-machine).
///
/// At most `limit` are remembered, each for the memory that `add` is given. A second message of the interaction that was written after
/// the Stop is not stopped by it.
struct RememberedStops: Sendable {
    enum Kind: Sendable, Hashable {
        case pressed(StopReach)
        /// Nothing can be written into the chat any more.
        case chatDeleted
    }

    static let limit = 1_000

    private var stops: [InteractionID: (kind: Kind, made: RelayMoment?, at: Instant)] = [:]

    mutating func add(_ name: InteractionID, _ kind: Kind, made: RelayMoment? = nil, at now: Instant, memory: Duration)
    {
        stops = stops.filter { now - $0.value.at < memory }
        // That the chat is gone says more than that its message was stopped.
        if stops[name]?.kind == .chatDeleted { return }
        // That a person pressed Stop says more than a reason of the relay's.
        let kind = stops[name]?.kind == .pressed(.everyRun) && kind == .pressed(.ownRuns) ? .pressed(.everyRun) : kind
        if stops.count < Self.limit { stops[name] = (kind, made, now) }
    }

    mutating func take(of opening: TurnOpening) -> Kind? {
        let named = stops.filter { name, stop in
            opening.isNamed(name) && !(stop.kind != .chatDeleted && opening.isNewer(than: stop.made))
        }.keys
        let kinds = named.compactMap { stops.removeValue(forKey: $0)?.kind }
        if kinds.contains(.chatDeleted) { return .chatDeleted }
        return kinds.contains(.pressed(.everyRun)) ? .pressed(.everyRun) : kinds.first
    }
}
