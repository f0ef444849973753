import Vocabulary

/// The part of an ask that a person was shown, or is about to be.
///
/// Invariant: `card` is the newest one. Together with the parts that went out before it, it shows all that `fingerprint` covers.
struct AskCards: Hashable, Sendable {
    var card: ApprovalCard
    var life = CardLife()
    /// Nil if a record of an earlier version does not say: no yes can be given then.
    var fingerprint: AskFingerprint?
    /// The text beyond the card, posted before each card of the ask. Empty if the card holds all of it, or the ask has ended.
    var parts: [String] = []
    /// The parts were posted, for this card or for an earlier one.
    var isInParts = false
    /// The ask could not be shown in full.
    var canOnlyBeDenied = false
    /// The relay refused the card, and was sent one with the least that a request must have.
    var askedWithLeast = false
    /// The relay refused the card, and was sent one without its end, which it may not know.
    var askedWithoutEnd = false
    /// Names in a row under which the relay had something else.
    var conflicts = 0
    /// The chat has the line that no person answered.
    var toldUnanswered = false

    /// The agent withholds part of the ask.
    mutating func isUnsaid() {
        canOnlyBeDenied = true
        card.title = CardText.title(CardText.onlyDeniedUnsaid, card.title)
    }

    /// Parts of the ask cannot be shown: a yes would allow words that no person read.
    mutating func isTooLong() {
        parts = []
        canOnlyBeDenied = true
        card.title = CardText.title(CardText.onlyDenied, card.title)
    }
}
