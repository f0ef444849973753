import Testing

@Suite("One name, one type")
struct TwinTests {
    @Test("no two rooms have types of one name without a reason")
    func project() throws {
        let found = Rules.twins(try Project.swift.get(), excused: Rules.twinTypes)
        #expect(found.isEmpty, "\(found)")
        #expect(Rules.twinTypes.values.allSatisfy { !$0.isEmpty })
    }

    private func source(_ path: String, _ text: String) -> SourceText { SourceText(path: path, text: text) }

    @Test("a name of two rooms is found in both, and an excuse that is not needed")
    func planted() {
        let sources = [
            source("Sources/A/a.swift", "package struct One {\n    struct Inner {}\n}\nstruct Two {}\n"),
            source("Sources/A/b.swift", "extension One {}\nenum Three {}\n"),
            source("Sources/B/c.swift", "@Suite(\"x\") final class One {}\nstruct Inner {}\n// struct Two {}\n"),
            source("Tests/ATests/d.swift", "private enum Three {}\nstruct ATests {}\n"),
            source("Tests/BTests/e.swift", "struct ATests {}\n"),
        ]
        let found = Rules.twins(sources, excused: ["Three": "why", "Two": "gone"])
        #expect(
            found.map { "\($0.path) \($0.line ?? 0)" } == [
                "Sources/A/a.swift 1", "Sources/B/c.swift 1", "Rules.twinTypes 0",
            ])
    }
}
