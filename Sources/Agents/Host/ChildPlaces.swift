import AgentKit
import Locking

/// The places for children that all connections of a process share (`limits.agents`). A child that outlives the bridge takes none.
package final class ChildPlaces: Sendable {
    /// One child, from the wish to start it to its end.
    struct Ticket: Hashable, Sendable { fileprivate let number: Int }

    private struct Owner {
        var granted: @Sendable () -> Void
        var wanted: @Sendable () -> Void
        var heldUp: @Sendable (Int, [WaitingChat]) -> Void
        /// Whose person it waits for.
        var chat: WaitingChat?
    }

    private struct State {
        var table: PlaceTable
        var owners: [Int: Owner] = [:]
        var lastNumber = 0
        /// As last reported to the children that wait for a place.
        var blockers: [WaitingChat] = []

        /// The chats that hold all places, where each of them waits for a person; the longest waiting first.
        var holdingAll: [WaitingChat] {
            let chats = table.holding.compactMap { owners[$0]?.chat }
            guard chats.count == table.taken else { return [] }
            return chats.sorted { ($0.since, $0.session) < ($1.since, $1.session) }
        }

        /// What is to be said, outside the lock.
        mutating func news() -> [@Sendable () -> Void] {
            var news = table.granted().compactMap { owners[$0]?.granted }
            news += table.wanted().compactMap { owners[$0]?.wanted }
            let (chats, running) = (holdingAll, table.taken)
            guard chats != blockers else { return news }
            blockers = chats
            let heldUp = table.waitingNumbers.compactMap { owners[$0]?.heldUp }
            return news + heldUp.map { heldUp in { heldUp(running, chats) } }
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
    /// `heldUp` comes to one that waits, when it changes which chats hold all places without working.
    func ticket(
        granted: @escaping @Sendable () -> Void, wanted: @escaping @Sendable () -> Void,
        heldUp: @escaping @Sendable (Int, [WaitingChat]) -> Void
    ) -> Ticket {
        state.withLock { state in
            state.lastNumber += 1
            state.owners[state.lastNumber] = Owner(granted: granted, wanted: wanted, heldUp: heldUp)
            return Ticket(number: state.lastNumber)
        }
    }

    /// Nil: it has a place. Else how many have one, and it waits; with the chats where all of them wait for a person.
    func ask(_ ticket: Ticket) -> (running: Int, behind: [WaitingChat])? {
        let (answer, news) = state.withLock { state in
            let hasPlace = state.table.ask(ticket.number)
            let news = state.news()
            return (hasPlace ? nil : (state.table.taken, state.blockers), news)
        }
        for tell in news { tell() }
        return answer
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

    /// It waits for this chat's person; nil: not any more.
    func asks(_ ticket: Ticket, _ chat: WaitingChat?) {
        let news = state.withLock { state in
            state.owners[ticket.number]?.chat = chat
            return state.news()
        }
        for tell in news { tell() }
    }
}
