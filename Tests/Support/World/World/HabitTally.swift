import RelayRules

/// Number of times that habits of the outside happened in one world, and what the person had open at those moments.
package final class HabitTally: @unchecked Sendable {
    /// Asks, Stops and prompts under way when a habit happened.
    package struct Met: Sendable {
        package var asks = 0
        package var stops = 0
        package var prompts = 0

        package init(asks: Int = 0, stops: Int = 0, prompts: Int = 0) {
            self.asks = asks
            self.stops = stops
            self.prompts = prompts
        }
    }

    package struct Entry: Sendable {
        package var times = 0
        package var met = Met()
    }

    package private(set) var entries: [String: Entry] = [:]
    /// Reports what is under way on the side of this tally.
    var meets: (() -> Met)?

    package init() {}

    package func note(_ habit: String) {
        let met = meets?() ?? Met()
        entries[habit, default: Entry()].times += 1
        entries[habit]?.met.asks += met.asks
        entries[habit]?.met.stops += met.stops
        entries[habit]?.met.prompts += met.prompts
    }

    /// Adds what a habit met while it lasted, after `note` at its beginning.
    package func meets(_ habit: String, asks: Int = 0, stops: Int = 0, prompts: Int = 0) {
        guard entries[habit] != nil else { return }
        entries[habit]?.met.asks += asks
        entries[habit]?.met.stops += stops
        entries[habit]?.met.prompts += prompts
    }

    package static func add(_ other: [String: Entry], to all: inout [String: Entry]) {
        for (habit, entry) in other {
            all[habit, default: Entry()].times += entry.times
            all[habit]?.met.asks += entry.met.asks
            all[habit]?.met.stops += entry.met.stops
            all[habit]?.met.prompts += entry.met.prompts
        }
    }
}

extension WorldSide {
    /// Asks that the phone can decide, Stops that no bridge has taken, and messages without an end.
    var underWay: HabitTally.Met {
        let answered = Set(
            relay.sessions.flatMap(\.messages).filter { $0.role == .agent && $0.isFinal }.compactMap(\.interaction))
        return HabitTally.Met(
            asks: relay.pendingApprovals.count + (scripted?.openQuestions ?? 0),
            stops: relay.pendingUpdates().count { $0.type == "session.cancelled" },
            prompts: sent.count { !answered.contains($0.interaction) })
    }

    /// Habits of everything outside this side.
    var habitEntries: [String: HabitTally.Entry] {
        var all = habits.entries
        if let scripted { HabitTally.add(scripted.tally.entries, to: &all) }
        return all
    }
}

extension ScriptedAgent {
    /// Questions with several options that have no answer yet.
    var openQuestions: Int { questions.subtracting(decided.map(\.approval)).count }
}
