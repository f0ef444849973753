import Locking

/// The places for children that all connections of a process share (`limits.agents`). A child that outlives the bridge takes none.
package final class ChildPlaces: Sendable {
    /// One child, from the wish to start it to its end.
    struct Ticket: Hashable, Sendable { fileprivate let number: Int }

    private struct Owner {
        var granted: @Sendable () -> Void
        var wanted: @Sendable () -> Void
    }

    private struct State {
        var table: PlaceTable
        var owners: [Int: Owner] = [:]
        var lastNumber = 0

        /// What is to be said, outside the lock.
        mutating func news() -> [@Sendable () -> Void] {
            table.granted().compactMap { owners[$0]?.granted } + table.wanted().compactMap { owners[$0]?.wanted }
        }
    }

    private let state: Locked<State>

    package init(limit: Int) { state = Locked(State(table: PlaceTable(limit: limit))) }

    /// Another limit is in force. Above it the longest idle leave.
    package func use(limit: Int) {
        let news = state.withLock { state in
            state.table.limit = limit
            return state.news()
        }
        for tell in news { tell() }
    }

    /// `granted` follows `ask`, where that has no place; `wanted` comes to one that said that it is idle. Both on the thread that
    /// makes it so.
    func ticket(granted: @escaping @Sendable () -> Void, wanted: @escaping @Sendable () -> Void) -> Ticket {
        state.withLock { state in
            state.lastNumber += 1
            state.owners[state.lastNumber] = Owner(granted: granted, wanted: wanted)
            return Ticket(number: state.lastNumber)
        }
    }

    /// Nil: it has a place. Else how many have one, and it waits.
    func ask(_ ticket: Ticket) -> Int? {
        let (taken, news) = state.withLock { state in
            let taken: Int? = state.table.ask(ticket.number) ? nil : state.table.taken
            return (taken, state.news())
        }
        for tell in news { tell() }
        return taken
    }

    func leave(_ ticket: Ticket) {
        let news = state.withLock { state in
            state.owners[ticket.number] = nil
            state.table.leave(ticket.number)
            return state.news()
        }
        for tell in news { tell() }
    }

    func isIdle(_ ticket: Ticket, _ isIdle: Bool) {
        let news = state.withLock { state in
            state.table.isIdle(ticket.number, isIdle)
            return state.news()
        }
        for tell in news { tell() }
    }
}
