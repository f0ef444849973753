import Vocabulary

/// What a person was shown of an ask, or is about to be.
///
/// Invariant: `card` is the newest one, and shows what `fingerprint` is of, but for the parts that went out before it.
struct AskCards: Hashable, Sendable {
    var card: ApprovalCard
    var life = CardLife()
    /// Nil: a record of an earlier version does not say, and no yes can be given.
    var fingerprint: AskFingerprint?
    /// The text beyond the card, posted before each card of the ask. Empty: the card holds all of it, or the ask has ended.
    var parts: [String] = []
    /// The parts were posted, for this card or for an earlier one.
    var isInParts = false
    /// Not all of it could be shown.
    var canOnlyBeDenied = false
    /// The relay refused the card, and has one with the least that a request must have.
    var askedWithLeast = false
    /// The relay refused the card, and has one without its end, which it may not know.
    var askedWithoutEnd = false
    /// Names in a row that the relay had something else under.
    var conflicts = 0
    /// The chat has the line that no person answered.
    var toldUnanswered = false

    /// The agent does not say all of it.
    mutating func isUnsaid() {
        canOnlyBeDenied = true
        card.title = CardText.title(CardText.onlyDeniedUnsaid, card.title)
    }

    /// Not all of it can be shown, so that a yes would be one to words that no person read.
    mutating func isTooLong() {
        parts = []
        canOnlyBeDenied = true
        card.title = CardText.title(CardText.onlyDenied, card.title)
    }
}
