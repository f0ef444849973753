package import Vocabulary

/// The agents' words for how long a model thinks. No word of the phone's is passed on: each is one of these, or none.
package enum ThoughtWords {
    /// The least first; two in a row are the same level.
    private static let ranks = [
        "none": 0, "off": 0, "minimal": 1, "low": 2, "medium": 3, "high": 4, "xhigh": 5, "max": 6, "ultra": 7,
    ]
    private static let least = 2

    package struct Found: Hashable, Sendable {
        package var word: String
        /// The model has nothing as high as was asked for.
        package var isLower: Bool
    }

    /// The word for `level` among those that a model has, in any order. Nil: it has none that is known.
    package static func word(for level: ThoughtLevel, among words: [String]) -> Found? {
        let known = words.compactMap { word in ranks[word].map { (word, $0) } }.sorted { $0.1 < $1.1 }
        guard let top = known.last else { return nil }
        switch level {
        case .max: return Found(word: top.0, isLower: top.1 < least)
        case .extended:
            let high = ranks["high"] ?? 0
            let found = known.last { $0.1 <= high } ?? known[0]
            return Found(word: found.0, isLower: found.1 < high)
        }
    }

    /// The words to be tried one after the other, where no list says which of them a model has.
    package static func ladder(for level: ThoughtLevel, from top: String) -> [String] {
        let first = level == .max ? top : "high"
        return ["max", "xhigh", "high", "medium", "low"].filter { rank($0) <= rank(first) }
    }

    /// `word` is lower than what was asked for by `asked`.
    package static func isLower(_ word: String, than asked: String) -> Bool { rank(word) < rank(asked) }

    private static func rank(_ word: String) -> Int { ranks[word] ?? .max }
}
