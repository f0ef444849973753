import AgentKit
import Vocabulary

/// Open channels in two views: those of the machine by id, and all sockets and children, also closing ones, by numbers that are
/// never reused.
///
/// - A channel that the machine has closed has no number: its socket or child speaks for no channel.
/// - A child that outlives the bridge does not delay the bridge's end.
struct ChannelTable {
    enum Line {
        case socket(any WebSocketLink)
        case child(any ChildLink, ChildPlan.Life)
    }

    struct Open {
        let number: Int
        var mayPause = false
        var isPaused = false
        /// The child gets no more input.
        var isInputClosed = false
        /// Works that `send` promised to answer.
        var telling: [WorkID] = []
    }

    private var open: [ChannelID: Open] = [:]
    private var lines: [Int: Line] = [:]
    /// Channels that are opening or open.
    private var alive: [Int: ChannelID] = [:]
    private var lastNumber = 0
    private var outliving: Set<Int> = []

    var isEmpty: Bool { alive.keys.allSatisfy { outliving.contains($0) } }

    subscript(id: ChannelID) -> Open? {
        get { open[id] }
        set { open[id] = newValue }
    }

    var ids: [ChannelID] { open.keys.sorted { $0.number < $1.number } }

    /// The channel with this number, while the machine has it.
    func channel(_ number: Int) -> ChannelID? {
        guard let id = alive[number], open[id]?.number == number else { return nil }
        return id
    }

    func line(_ number: Int) -> Line? { lines[number] }

    /// Number for the next socket or child.
    mutating func opens(_ id: ChannelID, _ channel: Channel) -> Int {
        lastNumber += 1
        open[id] = Open(number: lastNumber)
        alive[lastNumber] = id
        if case .child(let plan) = channel, case .outlives = plan.life { outliving.insert(lastNumber) }
        return lastNumber
    }

    /// Stores the line, unless it has already ended.
    mutating func opened(_ number: Int, _ line: Line) { if alive[number] != nil { lines[number] = line } }

    /// Promised works that will get no answer.
    mutating func closed(_ id: ChannelID) -> [WorkID] { open.removeValue(forKey: id)?.telling ?? [] }

    /// Removes an ended socket or child. Nil if the machine had closed its channel.
    mutating func ended(_ number: Int) -> (id: ChannelID, unanswered: [WorkID])? {
        let id = channel(number)
        lines[number] = nil
        alive[number] = nil
        outliving.remove(number)
        return id.map { ($0, closed($0)) }
    }

    /// Empties the table and returns the open lines.
    mutating func leave() -> [Line] {
        defer { (open, lines, alive) = ([:], [:], [:]) }
        return lines.sorted { $0.key < $1.key }.map(\.value)
    }
}
