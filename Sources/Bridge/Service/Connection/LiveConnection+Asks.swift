package import BridgeCore
import Locking
import Vocabulary

// Open asks, and the local time that their cards name.
extension LiveConnection {
    /// Asks that wait for a person, or nil without a runner.
    package var waiting: BridgeStatus.Waiting? {
        let (now, wall) = (clock.now, clock.wallMilliseconds)
        return ask { BridgeStatus.Waiting($0.figures(at: now), at: now, wallMilliseconds: wall) }
    }

    /// Applies other settings from the configuration, to open asks as well.
    package func use(_ asks: AskSettings) {
        runner?.tell { bridge, now in bridge.use(asks: asks, at: now) }
        lookAtLocalTime()
    }

    func tellOfUnanswered() {
        guard let asks = ask({ $0.figures(at: clock.now).asks }) else { return }
        let news = condition.withLock { $0.reported.unanswered.news(asks) }
        for ask in news { tell(.askUnanswered(name, ask.chat, cards: ask.cards)) }
    }

    /// Reads the local time again: the clock may have been set, or the time zone or daylight saving have changed.
    func lookAtLocalTime() {
        condition.withLock { $0.chores.lookedAtTimeAt = clock.now }
        guard let time = clock.localTime else { return }
        runner?.tell { bridge, _ in bridge.use(localTime: time) }
        notices?.lookAtLocalTime()
    }
}

/// Chores that housekeeping does less often than it runs.
struct Chores: Sendable {
    static let timeInterval = Duration.seconds(600)

    var purgedAt: Instant?
    var lookedAtTimeAt: Instant?
}

/// Conditions that are reported once.
struct Reported: Sendable {
    /// Journal failures reported since the journal last worked.
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

    /// Restores the asks of an earlier process, which has reported their cards.
    package mutating func restore(_ asks: [OpenAsk]) { known = Self.ended(asks) }

    /// Asks of which another card has expired.
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
