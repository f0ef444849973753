import Vocabulary

/// Looks in flight. A result that arrives after its chat or installation was left is discarded.
struct FileLooks: Sendable {
    private var underWay = 0
    private var generation = 0
    private var forgotten: [SessionID: Int] = [:]
    private var allForgotten = 0

    /// Begins a look; returns the number to give to `ended`.
    mutating func began() -> Int {
        underWay += 1
        return generation
    }

    mutating func forget(_ session: SessionID) {
        generation += 1
        if underWay > 0 { forgotten[session] = generation }
    }

    mutating func forgetAll() {
        generation += 1
        allForgotten = generation
    }

    /// True if the look began in the present installation.
    func isCurrent(_ start: Int) -> Bool { start >= allForgotten }
    var start: Int { generation }

    /// True if the look's result still counts.
    mutating func ended(_ start: Int, in session: SessionID) -> Bool {
        underWay -= 1
        defer { if underWay == 0 { forgotten = [:] } }
        return isCurrent(start) && start >= forgotten[session] ?? 0
    }
}
