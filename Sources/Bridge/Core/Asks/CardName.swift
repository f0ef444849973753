import Vocabulary

/// What the relay calls the cards of an ask: the first has the ask's own name, so that earlier records fit.
enum CardName {
    static func card(_ ask: ApprovalID, _ number: Int) -> ApprovalID {
        number <= 1 ? ask : ApprovalID("\(ask.text)-ask-\(number)")
    }

    /// All that an ask has had.
    static func cards(_ ask: ApprovalID, _ count: Int) -> [ApprovalID] {
        (1...max(1, count)).map { card(ask, $0) }
    }
}
