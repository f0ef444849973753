import Vocabulary

/// Moments at which a turn acts, one for each reason. Taking one that has come clears it.
struct TurnDeadlines: Sendable, Hashable {
    /// The bubble must end before the relay's window does.
    var window: Instant?
    /// The bubble of a sealed message is opened without its key.
    var open: Instant?
    /// The key of a sealed message does not come.
    var key: Instant?
    /// The files of a message do not come.
    var fetch: Instant?
    /// The agent stays away, and the message was never sent.
    var agent: Instant?
    /// The partial text of a stopped run does not come.
    var stop: Instant?
    /// The follow-up run of a detached approval does not begin.
    var followUp: Instant?
    /// The agent is silent after a failed attempt.
    var retry: Instant?
    /// The next look for a run that may be lost.
    var look: Instant?
    /// A look-up is not answered.
    var ask: Instant?
    /// A run that outlived its bubble has not ended within any reasonable time.
    var abandon: Instant?

    /// Read after every event, so it builds no array.
    var earliest: Instant? {
        var earliest = window
        func consider(_ moment: Instant?) {
            guard let moment else { return }
            if let known = earliest, known <= moment { return }
            earliest = moment
        }
        consider(open)
        consider(key)
        consider(fetch)
        consider(agent)
        consider(stop)
        consider(followUp)
        consider(retry)
        consider(look)
        consider(ask)
        consider(abandon)
        return earliest
    }

    mutating func takeWindow(at now: Instant) -> Bool { take(\.window, at: now) }
    mutating func takeOpen(at now: Instant) -> Bool { take(\.open, at: now) }
    mutating func takeKey(at now: Instant) -> Bool { take(\.key, at: now) }
    mutating func takeFetch(at now: Instant) -> Bool { take(\.fetch, at: now) }
    mutating func takeAgent(at now: Instant) -> Bool { take(\.agent, at: now) }
    mutating func takeStop(at now: Instant) -> Bool { take(\.stop, at: now) }
    mutating func takeFollowUp(at now: Instant) -> Bool { take(\.followUp, at: now) }
    mutating func takeRetry(at now: Instant) -> Bool { take(\.retry, at: now) }
    mutating func takeLook(at now: Instant) -> Bool { take(\.look, at: now) }
    mutating func takeAsk(at now: Instant) -> Bool { take(\.ask, at: now) }
    mutating func takeAbandon(at now: Instant) -> Bool { take(\.abandon, at: now) }

    private mutating func take(_ path: WritableKeyPath<Self, Instant?>, at now: Instant) -> Bool {
        guard let moment = self[keyPath: path], moment <= now else { return false }
        self[keyPath: path] = nil
        return true
    }
}
