import Testing

@Suite("Files and functions that documents name")
struct NamedFilesTests {
    /// Documents of the project. Protocol papers are left out, since they may name files of the outside.
    private func documents() throws -> [SourceText] {
        try Project.texts(ending: ".md").filter { !$0.path.contains("docs/protocol/") }
    }

    @Test("every file that a document names is there, once")
    func files() throws {
        let paths = try Project.paths()
        let found = try documents().flatMap { NamedFiles.missing($0, among: paths) }
        #expect(found.isEmpty, "\(found)")
    }

    @Test("every function that a table names beside a file is declared in it")
    func functions() throws {
        let paths = try Project.paths()
        let found = try documents().flatMap { document in
            try NamedFiles.undeclared(document, among: paths) { try Project.text($0).text }
        }
        #expect(found.isEmpty, "\(found)")
    }

    @Test("every test that a document names is there")
    func tests() throws {
        let tests = NamedFiles.tests(in: try Project.texts(ending: ".py"))
        #expect(tests.contains("test_kills") && tests.count > 100)
        let found = try documents().flatMap { NamedFiles.missingTests($0, among: tests) }
        #expect(found.isEmpty, "\(found)")
    }

    @Test("a test that is not there is found", arguments: [("`test_a` and `test_file`", 0), ("`test_b`, `test_a`", 1)])
    func plantedTests(text: String, count: Int) {
        let tests = NamedFiles.tests(in: [SourceText(path: "A/test_file.py", text: "    async def test_a(self):")])
        #expect(NamedFiles.missingTests(SourceText(path: "a.md", text: text), among: tests).count == count)
    }

    @Test(
        "a file that is not there is found, and so is a name of several",
        arguments: [
            ("`A/one.swift` and `one.swift`", 0), ("`B/one.swift`", 1), ("`two.py`", 1), ("`B/two.py`", 0),
            ("```\n`gone.swift`\n```", 0), ("gone.swift", 0), ("`swift`", 0),
        ])
    func plantedFiles(text: String, count: Int) {
        let paths = ["Sources/A/one.swift", "Sources/A/two.py", "Sources/B/two.py"]
        #expect(NamedFiles.missing(SourceText(path: "a.md", text: text), among: paths).count == count)
    }

    @Test(
        "a function that is declared elsewhere, or only spoken of, is found",
        arguments: [
            ("| `A/one.swift` | `begin`, `end` | x |", 0), ("| `one.swift` | `gone` | x |", 1),
            ("| `one.swift` | `beg` | x |", 1), ("| `one.swift` | `spoken` | x |", 1),
            ("| `one.swift` | `limit` | `gone` |", 0), ("| x | `two.swift`, `one.swift` | `begin` |", 0),
            ("| `two.swift` | `begin` and `other` | see `one.swift` |", 0), ("`begin` in `one.swift`", 0),
            ("(`other` in `one.swift`)", 1), ("`begin` in it, `one.swift`", 0), ("```\n`gone` in `one.swift`\n```", 0),
        ])
    func plantedFunctions(text: String, count: Int) {
        let code = [
            "A/one.swift":
                "    mutating func begin(at now: Instant) {}\nfunc end<A>() {}\n// func spoken()\nlet limit = 1",
            "A/two.swift": "struct other {}",
        ]
        let found = NamedFiles.undeclared(SourceText(path: "a.md", text: text), among: code.keys.sorted()) {
            code[$0] ?? ""
        }
        #expect(found.count == count)
    }

    @Test("the glossary has at most 30 words, and none twice")
    func glossary() throws {
        let page = try Project.text("docs/ARCHITECTURE.md").text
        let section = try #require(page.components(between: "\n## Glossary\n", and: "\n## "))
        let words = section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map {
            $0.split(separator: "|")[0]
        }
        #expect((20...30).contains(words.count))
        #expect(Set(words).count == words.count)
    }
}

extension String {
    fileprivate func components(between start: String, and end: String) -> Substring? {
        guard let begin = firstRange(of: start)?.upperBound else { return nil }
        return self[begin...].prefix(upTo: self[begin...].firstRange(of: end)?.lowerBound ?? endIndex)
    }
}
