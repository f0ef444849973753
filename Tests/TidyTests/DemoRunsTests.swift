import Testing

/// The program carries recordings in itself, to work without files; these must be the ones that the tests judge.
@Suite("The recordings of `demo`")
struct DemoRunsTests {
    /// The raw strings of a Swift file, without their indentation.
    private func rawStrings(_ source: String) -> [String] {
        var strings: [String] = []
        var lines: [Substring]?
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let word = line.drop { $0 == " " }
            if word == ##"#""""## {
                lines = []
            } else if word == ##""""#"##, let found = lines {
                let indentation = line.count - word.count
                strings.append(found.map { $0.dropFirst(indentation) }.joined(separator: "\n"))
                lines = nil
            } else {
                lines?.append(line)
            }
        }
        return strings
    }

    @Test("each is one of the recordings in Tests/Fixtures/traces, to the letter, and none is there twice")
    func same() throws {
        let traces = try Project.texts(ending: ".jsonl").filter { $0.path.hasPrefix("Tests/Fixtures/traces/") }
        let runs = rawStrings(try Project.text("Sources/sophon-bridge/Demo/DemoRuns.swift").text)
        #expect(runs.count == 5)
        for (number, run) in runs.enumerated() {
            let beginning = run.prefix(120)
            #expect(traces.contains { $0.text == run }, "run \(number + 1), which begins with \(beginning)")
        }
        #expect(Set(runs).count == runs.count)
    }

    @Test("a letter that differs is seen")
    func planted() {
        let source = "    (\"a\", #\"\"\"\n" + "    #\"\"\"\n    {\"at_ms\":0}\n      x\n\n    \"\"\"#\n"
        #expect(rawStrings(source) == ["{\"at_ms\":0}\n  x\n"])
    }
}
