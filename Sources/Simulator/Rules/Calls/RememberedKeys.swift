/// Answers for a repeat under the same key, kept for 24 hours (relay.md#rules): the newest, up to a number of keys and a
/// number of bytes. A bridge repeats a call that just failed, not one of thousands of calls ago.
struct RememberedKeys: Sendable {
    private var answers: [String: Relay.Remembered] = [:]
    /// Oldest first.
    private var order: [String] = []
    private(set) var byteCount = 0
    let limit: Int
    let byteLimit: Int

    init(limit: Int, byteLimit: Int) {
        self.limit = limit
        self.byteLimit = byteLimit
    }

    /// Oldest first.
    var all: [(key: String, answer: Relay.Remembered)] {
        order.compactMap { key in answers[key].map { (key, $0) } }
    }

    subscript(key: String) -> Relay.Remembered? { answers[key] }

    /// Removes an expired key. Rare.
    mutating func forget(_ key: String) {
        guard answers[key] != nil else { return }
        drop(key)
        order.removeAll { $0 == key }
    }

    mutating func remember(_ answer: Relay.Remembered, as key: String) {
        forget(key)
        answers[key] = answer
        order.append(key)
        byteCount += Self.size(of: answer, as: key)
        // Remove in steps: taking one off the front for each call would move all others every time.
        if order.count >= limit + Self.step { forgetOldest(Self.step) }
        guard byteCount > byteLimit else { return }
        let wanted = byteLimit - byteLimit / 16
        var excess = byteCount - wanted
        forgetOldest(
            order.dropLast().prefix { key in
                guard excess > 0, let answer = answers[key] else { return excess > 0 }
                excess -= Self.size(of: answer, as: key)
                return true
            }.count)
    }

    private mutating func forgetOldest(_ count: Int) {
        for key in order.prefix(count) { drop(key) }
        order.removeFirst(count)
    }

    private mutating func drop(_ key: String) {
        guard let answer = answers.removeValue(forKey: key) else { return }
        byteCount -= Self.size(of: answer, as: key)
    }

    private static func size(of answer: Relay.Remembered, as key: String) -> Int {
        // The body may have unknown members, up to 1 MB of them.
        key.utf8.count + answer.body.count + answer.result.count
    }

    private static let step = 1_024
}
