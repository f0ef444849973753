package import Vocabulary

/// The agents' words for how long a model thinks. The bridge passes on no word of the phone: each is one of these, or none.
package enum ThoughtWords {
    /// Ranks, the least first; words of one rank mean the same level.
    private static let ranks = [
        "none": 0, "off": 0, "minimal": 1, "low": 2, "medium": 3, "high": 4, "xhigh": 5, "max": 6, "ultra": 7,
    ]
    private static let least = 2

    package struct Found: Hashable, Sendable {
        package var word: String
        /// The model has nothing as high as the chosen level.
        package var isLower: Bool
    }

    /// The word for `level` among those of a model, in any order, or nil if it has no known word.
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

    /// Words to try one after the other if no list says which of them a model has.
    package static func ladder(for level: ThoughtLevel, from top: String) -> [String] {
        let first = level == .max ? top : "high"
        return ["max", "xhigh", "high", "medium", "low"].filter { rank($0) <= rank(first) }
    }

    /// `word` ranks below `asked`.
    package static func isLower(_ word: String, than asked: String) -> Bool { rank(word) < rank(asked) }

    private static func rank(_ word: String) -> Int { ranks[word] ?? .max }
}
