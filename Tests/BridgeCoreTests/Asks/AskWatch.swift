import Vocabulary
import Worlds

@testable import BridgeCore

/// Cards that the person saw and allowed: a turn's cards as posted, with the parts before them.
struct AskWatch {
    private var replacements: [ApprovalID: Int] = [:]
    /// Shown text by the name of the card.
    private var shown: [ApprovalID: String] = [:]
    /// The command that each ask last asked about, and the commands that the person allowed, by the name of the ask.
    private var asked: [ApprovalID: String] = [:]
    private var allowed: [ApprovalID: Set<String>] = [:]
    /// Parts of the one ask that a chat sends in parts at a time.
    private var parts = ""

    /// One of two commands, sometimes longer than a card or than everything that can be shown.
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

    /// Notes the whole text of a card, or nothing if the card cannot be allowed. False if a card of this name exists.
    @discardableResult
    mutating func posted(_ card: ApprovalCard) -> Bool {
        let line = card.message.split(separator: "\n").last ?? ""
        // The least card that a relay accepts has the command only in its message.
        let isQuestion = line.hasPrefix("Run ") && line.hasSuffix("?")
        let text = card.command ?? String(isQuestion ? line.dropFirst(4).dropLast() : line)
        let isInParts = card.title.hasPrefix("In ")
        let isFirst = shown[card.approval] == nil
        shown[card.approval] = card.title.hasPrefix("Can only be denied") ? "" : isInParts ? text + parts : text
        return isFirst
    }

    /// A card comes again at most twice: without its end, then as the least card. False after that.
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
