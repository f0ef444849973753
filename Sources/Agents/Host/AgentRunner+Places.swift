import AgentKit
import Locking
import Vocabulary

// Places that the children of all connections share.
extension AgentRunner where Machine: ~Copyable {
    /// Starts a child, or lets it wait for a place.
    func takePlace(_ number: Int, _ id: ChannelID, _ plan: ChildPlan) {
        guard let places = edges.places, plan.life != .outlives else { return startChild(number, id, plan) }
        let ticket = places.ticket { [weak self] in
            self?.placeIsFree(number)
        } wanted: { [weak self] in
            self?.happened(.wanted, on: number)
        } heldUp: { [weak self] running, chats in
            self?.happened(.waits(running: running, behind: chats), on: number)
        }
        state.withLock { $0.seats.waits(number, id, plan, ticket) }
        if let (running, chats) = places.ask(ticket) {
            return happened(.waits(running: running, behind: chats), on: number)
        }
        guard state.withLock({ $0.seats.starts(number) }) != nil else { return }
        startChild(number, id, plan)
    }

    private func placeIsFree(_ number: Int) {
        let mayPerform = state.withLock { state in
            guard let waiting = state.seats.starts(number) else { return false }
            state.steps.append(.begin(number, waiting))
            return takesTurn(state)
        }
        if mayPerform { perform() }
    }

    /// Starts a child whose place is free. If its channel was closed in the meantime, the place passes on.
    func beginChild(_ number: Int, _ waiting: Seats.Waiting) {
        let (isOpen, ticket) = state.withLock { state in
            guard state.channels.channel(number) == nil else { return (true, ChildPlaces.Ticket?.none) }
            defer { state.seats.ended(number) }
            _ = state.channels.ended(number)
            return (false, state.seats.ticket(number))
        }
        if isOpen { startChild(number, waiting.id, waiting.plan) }
        if let ticket { edges.places?.leave(ticket) }
    }

    /// Closure for the child's last event, which frees the place even if the host is gone.
    func leavingPlace(_ number: Int) -> @Sendable () -> Void {
        guard let places = edges.places, let ticket = state.withLock({ $0.seats.ticket(number) }) else { return {} }
        return { [weak self] in
            self?.state.withLock { $0.seats.ended(number) }
            places.leave(ticket)
        }
    }

    /// The channel was closed while its child waited for a place: the child never ran.
    func callOff(_ number: Int) {
        let ticket = state.withLock { state in
            let ticket = state.seats.calledOff(number)
            if ticket != nil { _ = state.channels.ended(number) }
            return ticket
        }
        if let ticket { edges.places?.leave(ticket) }
    }
}
