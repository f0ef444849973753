/// Holders of a bounded number of places, which of them could leave, and who waits, by numbers.
///
/// - A holder is busy, idle (could end without a loss), or asked to leave. An asked holder leaves, or says that it is busy.
/// - As many of the longest idle holders are asked as places are missing; the longest waiting gets the next place.
struct PlaceTable {
    enum Holder: Equatable {
        case busy
        /// Idle, with its rank in the order of idle holders.
        case idle(Int)
        case asked
    }

    var limit: Int
    private var holders: [Int: Holder] = [:]
    private var waiting: [Int] = []
    private var lastOrder = 0

    init(limit: Int) { self.limit = limit }

    var taken: Int { holders.count }
    var holding: Dictionary<Int, Holder>.Keys { holders.keys }
    var waitingNumbers: [Int] { waiting }

    /// True if a place is free at once.
    mutating func ask(_ number: Int) -> Bool {
        guard waiting.isEmpty, holders.count < limit else {
            waiting.append(number)
            return false
        }
        holders[number] = .busy
        return true
    }

    /// Frees the holder's place, or ends its wait.
    mutating func leave(_ number: Int) {
        holders[number] = nil
        waiting.removeAll { $0 == number }
    }

    mutating func isIdle(_ number: Int, _ isIdle: Bool) {
        switch holders[number] {
        case .busy where isIdle:
            lastOrder += 1
            holders[number] = .idle(lastOrder)
        case .idle where !isIdle, .asked where !isIdle: holders[number] = .busy
        case .busy, .idle, .asked, nil: break
        }
    }

    /// Grants free places to the longest waiting.
    mutating func granted() -> [Int] {
        let count = min(waiting.count, max(0, limit - holders.count))
        let next = Array(waiting.prefix(count))
        waiting.removeFirst(count)
        for number in next { holders[number] = .busy }
        return next
    }

    /// Asks as many idle holders to leave as places are missing.
    mutating func wanted() -> [Int] {
        let asked = holders.values.count { $0 == .asked }
        let missing = max(0, holders.count - asked + waiting.count - limit)
        let idle = holders.compactMap { number, holder in
            if case .idle(let order) = holder { (number, order) } else { nil }
        }
        let longest = idle.sorted { $0.1 < $1.1 }.prefix(missing).map(\.0)
        for number in longest { holders[number] = .asked }
        return longest
    }
}
