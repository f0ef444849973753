import Vocabulary

/// Names of an ask's cards at the relay. The first is the ask's own name, so that earlier records fit.
enum CardName {
    static func card(_ ask: ApprovalID, _ number: Int) -> ApprovalID {
        number <= 1 ? ask : ApprovalID("\(ask.text)-ask-\(number)")
    }

    /// All names that the cards of an ask have had.
    static func cards(_ ask: ApprovalID, _ count: Int) -> [ApprovalID] {
        (1...max(1, count)).map { card(ask, $0) }
    }
}
