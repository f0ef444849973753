import Vocabulary

/// Stops for messages that have not come yet: a Stop can overtake its message (DESIGN.md#the-turn-machine).
///
/// At most `limit` are remembered, each for the memory that `add` is given. A second message of the interaction that was written after
/// the Stop is not stopped by it.
struct RememberedStops: Sendable {
    enum Kind: Sendable, Hashable {
        case pressed(StopReach)
        /// Nothing more can be written into the chat.
        case chatDeleted
    }

    static let limit = 1_000

    private var stops: [InteractionID: (kind: Kind, made: RelayMoment?, at: Instant)] = [:]

    mutating func add(_ name: InteractionID, _ kind: Kind, made: RelayMoment? = nil, at now: Instant, memory: Duration)
    {
        stops = stops.filter { now - $0.value.at < memory }
        // A deleted chat outweighs a stopped message.
        if stops[name]?.kind == .chatDeleted { return }
        // A person's Stop outweighs a reason of the relay's.
        let kind = stops[name]?.kind == .pressed(.everyRun) && kind == .pressed(.ownRuns) ? .pressed(.everyRun) : kind
        if stops[name] != nil || stops.count < Self.limit { stops[name] = (kind, made, now) }
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
