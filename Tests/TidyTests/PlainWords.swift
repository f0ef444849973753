/// How odd our comments read: phrases that say in everyday words what has a term of art (`no reader`, `caller`, `pending`, `owner`).
///
/// A density and not a ban, because each of them is right now and then.
enum PlainWords {
    /// Odd phrases in 1,000 lines of comment, in all Swift files together. Never up.
    static let bound = 6

    struct Count: Hashable {
        var comments = 0
        var phrases = 0

        var perThousand: Double { comments == 0 ? 0 : Double(phrases) * 1_000 / Double(comments) }

        static func + (left: Self, right: Self) -> Self {
            Self(comments: left.comments + right.comments, phrases: left.phrases + right.phrases)
        }
    }

    static func count(in source: SourceText) -> Count {
        let comments = source.text.split(separator: "\n").filter {
            $0.utf8.drop { $0 == UInt8(ascii: " ") }.starts(with: "//".utf8)
        }
        return Count(comments: comments.count, phrases: comments.map(phrases).reduce(0, +))
    }

    static func phrases(in comment: Substring) -> Int {
        // Asked first, because the expression alone would take seconds.
        let words = comment.lowercased()
        guard ["what ", "body", "whoever", "tell", "told", "stand", "stood", "anew"].contains(where: words.contains)
        else { return 0 }
        let expression =
            /\bwhat (?:\w+ )?(?:waits?|waited|stands?|stood|comes?|came)\b|\b(?:nobody|somebody|whoever)\b|\b(?:told|tells?|stands?|stood|anew)\b/
        return words.matches(of: expression).count
    }
}
