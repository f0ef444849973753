import Vocabulary
import Worlds

@testable import BridgeCore

/// What a person saw of asks, and allowed: the cards of a turn as they were posted, with the parts before them.
struct AskWatch {
    private var replacements: [ApprovalID: Int] = [:]
    /// By the name of the card.
    private var shown: [ApprovalID: String] = [:]
    /// By the name of the ask: the command that the agent asked last, and those that a person allowed.
    private var asked: [ApprovalID: String] = [:]
    private var allowed: [ApprovalID: Set<String>] = [:]
    /// One ask of a chat goes out in parts at a time.
    private var parts = ""

    /// Two that differ, now and then longer than a card, or than all that can be shown.
    static func command(using random: inout SeededGenerator) -> String {
        let letter = random.pick(["a", "b"])
        return String(repeating: letter, count: random.happens(0.02) ? random.pick([60_000, 120_000]) : 1)
    }

    mutating func asked(_ request: ApprovalRequest) { asked[request.id] = request.command }

    mutating func posted(_ message: WholeMessage) {
        guard message.text.hasPrefix("Part ") else { return }
        let lines = message.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        parts = (message.text.hasPrefix("Part 2 ") ? "" : parts) + (lines.last.map(String.init) ?? "")
    }

    /// The whole of it, or nothing that could be allowed. False: there was a card of this name.
    @discardableResult
    mutating func posted(_ card: ApprovalCard) -> Bool {
        let line = card.message.split(separator: "\n").last ?? ""
        // The least that a relay takes has the command in its message alone.
        let isQuestion = line.hasPrefix("Run ") && line.hasSuffix("?")
        let text = card.command ?? String(isQuestion ? line.dropFirst(4).dropLast() : line)
        let isInParts = card.title.hasPrefix("In ")
        let isFirst = shown[card.approval] == nil
        shown[card.approval] = card.title.hasPrefix("Can only be denied") ? "" : isInParts ? text + parts : text
        return isFirst
    }

    /// False: without its end, then with the least, is all that a card is asked again for.
    mutating func replaced(by card: ApprovalCard) -> Bool {
        posted(card)
        replacements[card.approval, default: 0] += 1
        return replacements[card.approval, default: 0] <= 2
    }

    mutating func allowed(_ card: ApprovalID, of ask: ApprovalID) {
        if let text = shown[card] { allowed[ask, default: []].insert(text) }
    }

    func wasAllowed(_ ask: ApprovalID) -> Bool { asked[ask].map { allowed[ask]?.contains($0) == true } ?? false }
}

extension PostName {
    var isMessage: Bool { if case .message = self { true } else { false } }
}
