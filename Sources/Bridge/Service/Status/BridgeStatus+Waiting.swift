package import BridgeCore
package import Vocabulary

extension BridgeStatus {
    /// Open asks and chats of one connection, how cards ended, and the other bridge.
    package struct Waiting: Hashable, Sendable {
        fileprivate var asks: [Ask]
        fileprivate var chats: [Chat]
        fileprivate var cardEnds: [String: Int]
        fileprivate var another: Another?

        package init(_ figures: BridgeFigures, at now: Instant, wallMilliseconds wall: Int64) {
            func milliseconds(_ moment: Instant) -> Int64 { wall + (moment - now).nanoseconds / 1_000_000 }
            asks = figures.asks.map { ask in
                Ask(
                    chat: ask.chat.text, agent: "", since: milliseconds(ask.since), cards: ask.cards,
                    until: ask.until.map(milliseconds))
            }
            chats = figures.chats.prefix(BridgeStatus.Chat.limit).map {
                Chat(chat: $0.chat?.text, state: $0.state.rawValue, since: milliseconds($0.since))
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
        chats = waiting.chats
        cardEnds = waiting.cardEnds
        anotherBridge = waiting.another
    }
}
