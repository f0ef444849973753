/// Answers kept for a repeat under the same key: for 24 hours (relay sheet 7.1), but never more than a number of them, the
/// newest. A bridge repeats a call that failed, not one of thousands of calls ago.
struct RememberedKeys: Sendable {
    private var answers: [String: Relay.Remembered] = [:]
    /// Oldest first.
    private var order: [String] = []
    let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { answers.count }
    /// Oldest first.
    var all: [(key: String, answer: Relay.Remembered)] {
        order.compactMap { key in answers[key].map { (key, $0) } }
    }

    subscript(key: String) -> Relay.Remembered? { answers[key] }

    /// Of one that has expired; rare.
    mutating func forget(_ key: String) {
        guard answers.removeValue(forKey: key) != nil else { return }
        order.removeAll { $0 == key }
    }

    mutating func remember(_ answer: Relay.Remembered, as key: String) {
        forget(key)
        answers[key] = answer
        order.append(key)
        guard order.count >= limit + Self.step else { return }
        // In steps: taking one off the front for each call would move all of them every time.
        for key in order.prefix(Self.step) { answers[key] = nil }
        order.removeFirst(Self.step)
    }

    private static let step = 1_024
}
