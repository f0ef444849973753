package import BridgeCore
import Locking
import Vocabulary

// Open asks, and the hours that their cards name.
extension LiveConnection {
    /// Nil: nothing is known.
    package var waiting: BridgeStatus.Waiting? {
        let (now, wall) = (clock.now, clock.wallMilliseconds)
        return ask { BridgeStatus.Waiting($0.figures(at: now), at: now, wallMilliseconds: wall) }
    }

    /// Other settings from the configuration, also for asks that are open.
    package func use(_ asks: AskSettings) {
        runner?.tell { bridge, now in bridge.use(asks: asks, at: now) }
        lookAtLocalTime()
    }

    func tellOfUnanswered() {
        guard let asks = ask({ $0.figures(at: clock.now).asks }) else { return }
        let news = condition.withLock { $0.reported.unanswered.news(asks) }
        for ask in news { tell(.askUnanswered(name, ask.chat, cards: ask.cards)) }
    }

    /// The wall clock may have been set, and its zone or the half of the year changed.
    func lookAtLocalTime() {
        condition.withLock { $0.chores.lookedAtTimeAt = clock.now }
        guard let time = clock.localTime else { return }
        runner?.tell { bridge, _ in bridge.use(localTime: time) }
        notices?.lookAtLocalTime()
    }
}

/// What housekeeping does less often than it is called.
struct Chores: Sendable {
    static let timeInterval = Duration.seconds(600)

    var purgedAt: Instant?
    var lookedAtTimeAt: Instant?
}

/// What is reported once.
struct Reported: Sendable {
    /// Until the journal works again.
    var failures: Set<JournalFailure.Code> = []
    var unanswered = UnansweredCards()
}

/// Unanswered cards that have been reported. The bridge's note names no card, since its turn may hold several asks.
package struct UnansweredCards: Sendable {
    private struct Name: Hashable {
        var chat: SessionID
        var since: Instant
    }

    /// Expired cards of each open ask. Asks of one chat and moment are counted together.
    private var known: [Name: Int] = [:]

    package init() {}

    /// From an earlier process, which has reported them.
    package mutating func restore(_ asks: [OpenAsk]) { known = Self.ended(asks) }

    /// The asks of which another card is over.
    package mutating func news(_ asks: [OpenAsk]) -> [OpenAsk] {
        let before = known
        known = Self.ended(asks)
        return asks.filter { ask in
            let name = Name(chat: ask.chat, since: ask.since)
            return known[name, default: 0] > before[name, default: 0]
        }
    }

    private static func ended(_ asks: [OpenAsk]) -> [Name: Int] {
        let counts = asks.map { (Name(chat: $0.chat, since: $0.since), $0.ended) }
        return Dictionary(counts, uniquingKeysWith: +)
    }
}
