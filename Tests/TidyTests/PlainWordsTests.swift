import Testing

@Suite("Plain words in comments")
struct PlainWordsTests {
    @Test("odd phrases are as rare as they have become")
    func density() throws {
        let sources = try Project.swift.get()
        let rooms = Dictionary(grouping: sources) { source in
            source.path.split(separator: "/").prefix(2).joined(separator: "/")
        }.mapValues { $0.map(PlainWords.count).reduce(PlainWords.Count(), +) }
        let whole = rooms.values.reduce(PlainWords.Count(), +)
        let worst = rooms.filter { $0.value.phrases > 0 }.sorted { $0.value.phrases > $1.value.phrases }.map {
            "\($0.key): \($0.value.phrases) in \($0.value.comments)"
        }
        #expect(whole.comments > 1_000)
        #expect(
            whole.perThousand <= Double(PlainWords.bound),
            "\(whole.phrases) in \(whole.comments) lines of comment, over \(PlainWords.bound) in 1,000; say it in a term of art. \(worst)"
        )
    }

    @Test(
        "an odd phrase is counted, and a plain one is not",
        arguments: [
            ("// What waits is sent first.", 1), ("/// what still stands there", 1),
            ("// Whoever told of it, nobody heard.", 3),
            ("// What a caller wants is a timeout.", 0), ("let nobody = 1", 0), ("// Acknowledged by the owner.", 0),
            ("    /// Somebody tells of what comes.", 3), ("// It is told once.", 1), ("// Sent anew.", 1),
            ("// standing of a token", 0), ("// anybody", 0),
        ])
    func planted(text: String, phrases: Int) {
        let found = PlainWords.count(in: SourceText(path: "a.swift", text: text))
        #expect(found.phrases == phrases)
        #expect(found.comments == (text.contains("//") ? 1 : 0))
    }
}
