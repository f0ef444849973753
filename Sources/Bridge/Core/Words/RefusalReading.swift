/// The meaning of a message while a card of its chat is open (DESIGN.md#words-refuse). No message allows.
enum RefusalReading: Hashable {
    /// A refusal, and what to do instead.
    case refuses(String)
    /// A refusal without further words.
    case refusesAlone
    /// The message is too short to be an instruction, or its first word agrees: a person taps for that.
    case decidesNothing

    /// An instruction is longer than two words; in scripts without spaces it has five letters at least.
    private static let shortest = (words: 3, letters: 5)

    init(_ text: String) {
        let said = ReplyWords(text)
        switch said.verdict {
        case .no(let isAll): self = isAll ? .refusesAlone : .refuses(text)
        case .yes: self = .decidesNothing
        case .neither:
            let isLong =
                said.isWhollyUnspaced ? said.letters >= Self.shortest.letters : said.size >= Self.shortest.words
            self = isLong && said.letters > 0 ? .refuses(text) : .decidesNothing
        }
    }
}

/// A reply cut into words, and the yes or no that it begins with.
struct ReplyWords {
    enum Verdict: Hashable {
        case yes
        /// `isAll`: the reply says nothing else.
        case no(isAll: Bool)
        case neither
    }

    let words: [String]
    let letters: Int
    /// Every letter is of a script without spaces.
    let isWhollyUnspaced: Bool
    /// Number of words. Two letters of a script without spaces count as one.
    let size: Int
    private let unspaced: String

    init(_ text: String) {
        let folded: [Character] = text.lowercased().map { Self.apostrophes.contains($0) ? "'" : Self.narrow($0) }
        let pieces = folded.split { !Self.isOfWord($0) }.map { String($0) }
        words = pieces.filter { $0.contains { $0.isLetter || $0.isNumber } }
        letters = folded.reduce(0) { $0 + ($1.isLetter ? 1 : 0) }
        isWhollyUnspaced =
            letters > 0 && folded.allSatisfy { !$0.isLetter || $0.unicodeScalars.first.map(Self.isUnspaced) ?? false }
        let isUnspaced = folded.map { $0.unicodeScalars.first.map(Self.isUnspaced) ?? false }
        let spaced = zip(folded, isUnspaced).map { Self.isOfWord($0) && !$1 }
        size = zip(spaced, [false] + spaced).count { $0 && !$1 } + isUnspaced.count { $0 } / 2
        unspaced = String(folded.filter { $0.isLetter || Self.isMark($0) })
    }

    /// The longest phrase of the lists decides, behind words of politeness.
    var verdict: Verdict {
        if let first = unspaced.unicodeScalars.first, Self.isUnspaced(first) { return unspacedVerdict }
        let polite = words.prefix { ReplyLists.fillers.contains($0) }.count
        return Self.verdict(words[...]) ?? Self.verdict(words.dropFirst(polite)) ?? .neither
    }

    private static func verdict(_ rest: ArraySlice<String>) -> Verdict? {
        for count in stride(from: min(ReplyLists.longestPhrase, rest.count), through: 1, by: -1) {
            let phrase = rest.prefix(count).joined(separator: " ")
            if ReplyLists.yes.contains(phrase) { return .yes }
            if ReplyLists.no.contains(phrase) { return .no(isAll: isOnlyNo(rest.dropFirst(count))) }
        }
        return nil
    }

    private static func isOnlyNo(_ rest: ArraySlice<String>) -> Bool {
        rest.allSatisfy {
            ReplyLists.no.contains($0) || ReplyLists.thanks.contains($0) || ReplyLists.fillers.contains($0)
        }
    }

    private var unspacedVerdict: Verdict {
        let beginnings = (ReplyLists.unspacedYes + ReplyLists.unspacedNo).filter { unspaced.hasPrefix($0) }
        guard let longest = beginnings.max(by: { $0.count < $1.count }) else { return .neither }
        return ReplyLists.unspacedYes.contains(longest)
            ? .yes : .no(isAll: ReplyLists.unspacedNo.contains(unspaced))
    }

    /// Makes full-width Latin letters ordinary ones.
    private static func narrow(_ character: Character) -> Character {
        guard let scalar = character.unicodeScalars.first, (0xFF01...0xFF5E).contains(scalar.value),
            let narrow = Unicode.Scalar(scalar.value - 0xFEE0)
        else { return character }
        return Character(narrow)
    }

    private static let apostrophes: Set<Character> = ["\u{2019}", "\u{02BC}", "`", "\u{00B4}"]

    private static func isOfWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "'" || isMark(character)
    }

    /// Signs of Indic scripts that belong to the letter before them, and may stand as characters of their own.
    private static func isMark(_ character: Character) -> Bool {
        character.unicodeScalars.allSatisfy {
            [.nonspacingMark, .spacingMark].contains($0.properties.generalCategory)
        }
    }

    private static func isUnspaced(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        // Thai and Lao; Burmese; Khmer; Kana; Han.
        case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF,
            0xF900...0xFAFF, 0x20000...0x3FFFF:
            true
        default: false
        }
    }
}
