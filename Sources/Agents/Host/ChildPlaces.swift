import AgentKit
import Locking

/// Places for children that all connections of a process share (`limits.agents`). A child that outlives the bridge takes none.
package final class ChildPlaces: Sendable {
    /// One child, from its request for a place to its end.
    struct Ticket: Hashable, Sendable { fileprivate let number: Int }

    private struct Owner {
        var granted: @Sendable () -> Void
        var wanted: @Sendable () -> Void
        var heldUp: @Sendable (Int, [WaitingChat]) -> Void
        /// Chat whose person the child waits for.
        var chat: WaitingChat?
    }

    private struct State {
        var table: PlaceTable
        var owners: [Int: Owner] = [:]
        var lastNumber = 0
        /// Chats as last reported to the waiting children.
        var blockers: [WaitingChat] = []

        /// Chats that hold all places while each waits for a person, the longest waiting first.
        var holdingAll: [WaitingChat] {
            let chats = table.holding.compactMap { owners[$0]?.chat }
            guard chats.count == table.taken else { return [] }
            return chats.sorted { ($0.since, $0.session) < ($1.since, $1.session) }
        }

        /// Calls to make outside the lock.
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

    /// Sets another limit. Above it the longest idle children leave.
    package func use(limit: Int) {
        let news = state.withLock { state in
            state.table.limit = limit
            return state.news()
        }
        for tell in news { tell() }
    }

    /// `granted` follows an `ask` that found no place, and `wanted` comes to a child that said that it is idle. `heldUp` comes to a
    /// waiting child when the chats change that hold all places without working. All run on the thread that causes them.
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

    /// Nil if the child has a place at once. Otherwise it waits: the number of taken places, and their chats if each of them waits
    /// for a person.
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

    /// The child waits for this chat's person, or nil once it waits no more.
    func asks(_ ticket: Ticket, _ chat: WaitingChat?) {
        let news = state.withLock { state in
            state.owners[ticket.number]?.chat = chat
            return state.news()
        }
        for tell in news { tell() }
    }
}
