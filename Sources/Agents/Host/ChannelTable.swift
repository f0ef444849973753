import AgentKit
import Vocabulary

/// What is open, in two views: the machine's channels by their ids, and all sockets and children by a number that is never used
/// again, also those that are closing.
///
/// - A channel that the machine has closed has no number: what its socket or child still says belongs to no channel.
/// - A child that outlives the bridge does not hold up its end.
struct ChannelTable {
    enum Line {
        case socket(any WebSocketLink)
        case child(any ChildLink, ChildPlan.Life)
    }

    struct Open {
        let number: Int
        var mayPause = false
        var isPaused = false
        /// The child receives nothing more.
        var isInputClosed = false
        /// Works that `send` promised to answer.
        var telling: [WorkID] = []
    }

    private var open: [ChannelID: Open] = [:]
    private var lines: [Int: Line] = [:]
    /// Being opened, or open.
    private var alive: [Int: ChannelID] = [:]
    private var lastNumber = 0
    private var outliving: Set<Int> = []

    var isEmpty: Bool { alive.keys.allSatisfy { outliving.contains($0) } }

    subscript(id: ChannelID) -> Open? {
        get { open[id] }
        set { open[id] = newValue }
    }

    var ids: [ChannelID] { open.keys.sorted { $0.number < $1.number } }

    /// The channel under that number, while the machine has it.
    func channel(_ number: Int) -> ChannelID? {
        guard let id = alive[number], open[id]?.number == number else { return nil }
        return id
    }

    func line(_ number: Int) -> Line? { lines[number] }

    /// The number of what is to be opened.
    mutating func opens(_ id: ChannelID, _ channel: Channel) -> Int {
        lastNumber += 1
        open[id] = Open(number: lastNumber)
        alive[lastNumber] = id
        if case .child(let plan) = channel, case .outlives = plan.life { outliving.insert(lastNumber) }
        return lastNumber
    }

    /// It may have ended before it was known here.
    mutating func opened(_ number: Int, _ line: Line) { if alive[number] != nil { lines[number] = line } }

    /// What its machine was promised and will not get.
    mutating func closed(_ id: ChannelID) -> [WorkID] { open.removeValue(forKey: id)?.telling ?? [] }

    /// The socket or the child has ended. Nil: the machine had closed it.
    mutating func ended(_ number: Int) -> (id: ChannelID, unanswered: [WorkID])? {
        let id = channel(number)
        lines[number] = nil
        alive[number] = nil
        outliving.remove(number)
        return id.map { ($0, closed($0)) }
    }

    /// Lets go of everything.
    mutating func leave() -> [Line] {
        defer { (open, lines, alive) = ([:], [:], [:]) }
        return lines.sorted { $0.key < $1.key }.map(\.value)
    }
}
