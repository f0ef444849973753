import AgentKit
import Vocabulary

/// Places of one connection's children by channel number, and children whose start waits for a place.
struct Seats {
    struct Waiting {
        var id: ChannelID
        var plan: ChildPlan
    }

    private var tickets: [Int: ChildPlaces.Ticket] = [:]
    private var waiting: [Int: Waiting] = [:]

    func ticket(_ number: Int) -> ChildPlaces.Ticket? { tickets[number] }

    mutating func waits(_ number: Int, _ id: ChannelID, _ plan: ChildPlan, _ ticket: ChildPlaces.Ticket) {
        tickets[number] = ticket
        waiting[number] = Waiting(id: id, plan: plan)
    }

    /// Nil if the child does not wait.
    mutating func starts(_ number: Int) -> Waiting? { waiting.removeValue(forKey: number) }

    mutating func ended(_ number: Int) { tickets[number] = nil }

    /// Ticket of a child that was closed before its start, or nil if it did not wait.
    mutating func calledOff(_ number: Int) -> ChildPlaces.Ticket? {
        waiting.removeValue(forKey: number) == nil ? nil : tickets.removeValue(forKey: number)
    }

    mutating func leave() -> [ChildPlaces.Ticket] {
        defer { waiting = [:] }
        return waiting.keys.sorted().compactMap { tickets.removeValue(forKey: $0) }
    }
}
