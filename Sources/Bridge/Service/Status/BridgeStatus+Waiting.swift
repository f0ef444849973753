package import BridgeCore
package import Vocabulary

extension BridgeStatus {
    /// Open asks of one connection, how cards ended, and the other bridge.
    package struct Waiting: Hashable, Sendable {
        fileprivate var asks: [Ask]
        fileprivate var cardEnds: [String: Int]
        fileprivate var another: Another?

        package init(_ figures: BridgeFigures, at now: Instant, wallMilliseconds wall: Int64) {
            func milliseconds(_ moment: Instant) -> Int64 { wall + (moment - now).nanoseconds / 1_000_000 }
            asks = figures.asks.map { ask in
                Ask(
                    chat: ask.chat.text, agent: "", since: milliseconds(ask.since), cards: ask.cards,
                    until: ask.until.map(milliseconds))
            }
            cardEnds = figures.cardEnds
            another = figures.another.map { Another(last: milliseconds($0.last), messages: $0.messages) }
        }
    }
}

extension BridgeStatus.Connection {
    mutating func take(_ waiting: BridgeStatus.Waiting) {
        asks = waiting.asks.map { ask in
            var ask = ask
            ask.agent = agent.kind
            return ask
        }
        cardEnds = waiting.cardEnds
        anotherBridge = waiting.another
    }
}
