package import BridgeModel

// Asks as the connection sees them: what the configuration says of them, and when they come back (DESIGN.md#asks).
extension Bridge {
    /// The configuration changed, or is read for the first time: open asks follow it too.
    package mutating func use(asks: AskSettings, at now: Instant) {
        settings.turn.asks = asks
    }

    /// The hours that cards name are those of this clock; read again where the wall clock may have been set.
    package mutating func use(localTime: LocalTime) { settings.turn.localTime = localTime }
}
