import Testing

/// References to a heading of a document, such as `relay.md#codes`, in code, tests and documents.
enum References {
    /// Documents whose headings a reference may name by the document's name alone.
    static let pages = [
        "relay": "docs/protocol/relay.md", "openclaw": "docs/protocol/openclaw.md", "oppi": "docs/protocol/oppi.md",
        "pi": "docs/protocol/pi.md", "codex": "docs/protocol/codex.md", "claude-code": "docs/protocol/claude-code.md",
        "DESIGN": "docs/DESIGN.md",
        "ARCHITECTURE": "docs/ARCHITECTURE.md", "AGENTS": "docs/AGENTS.md", "OPERATING": "docs/OPERATING.md",
        "TROUBLESHOOTING": "docs/TROUBLESHOOTING.md", "CONFIGURATION": "docs/CONFIGURATION.md",
        "SIMULATOR": "docs/SIMULATOR.md", "THREAT_MODEL": "docs/THREAT_MODEL.md", "HACKING": "docs/HACKING.md",
    ]

    /// The anchors that a renderer makes of the headings.
    static func anchors(of document: SourceText) -> Set<String> {
        var isCode = false
        var anchors: Set<String> = []
        for (_, line) in document.lines {
            if line.hasPrefix("```") { isCode.toggle() }
            guard !isCode, line.hasPrefix("#") else { continue }
            let title = line.drop { $0 == "#" }.drop { $0 == " " }.lowercased()
            anchors.insert(
                String(title.filter { $0.isLetter || $0.isNumber || "_- ".contains($0) }.map { $0 == " " ? "-" : $0 }))
        }
        return anchors
    }

    /// Links of a document to a heading that it does not have.
    static func brokenWithin(_ document: SourceText) -> [Untidiness] {
        let anchors = anchors(of: document)
        return document.lines(with: ["](#"]).flatMap { number, line in
            line.matches(of: /\]\(#([\w-]+)\)/).map { String($0.output.1) }.filter { !anchors.contains($0) }.map {
                Untidiness(path: document.path, line: number, what: "#\($0) is no heading of it: mend the link")
            }
        }
    }

    /// References that lead to no heading, and papers named without a heading.
    static func broken(_ source: SourceText, anchors: [String: Set<String>]) -> [Untidiness] {
        source.lines(with: [".md#", "sheet"]).flatMap { number, line -> [Untidiness] in
            let dangling = line.matches(of: /\b([\w-]+)\.md#([\w-]+)/).compactMap { match -> String? in
                guard let known = anchors[String(match.output.1)] else { return nil }
                return known.contains(String(match.output.2))
                    ? nil : "\(match.output.0) is no heading: mend the reference"
            }
            let vague = line.matches(of: /\bsheet,? (section )?\d/).map { _ in
                "names a paper by number: name its heading, such as relay.md#codes"
            }
            return (dangling + vague).map { Untidiness(path: source.path, line: number, what: $0) }
        }
    }
}

@Suite("References to the documents")
struct ReferenceTests {
    @Test("every reference to a heading resolves, and no paper is named by number")
    func references() throws {
        let anchors = try References.pages.mapValues { References.anchors(of: try Project.text($0)) }
        let texts = try Project.texts(ending: ".swift", ".md", ".py", ".js", ".c", ".h", ".cpp", "Makefile")
            .filter { $0.path != "Tests/TidyTests/ReferenceTests.swift" }
        #expect(texts.contains { $0.text.contains("relay.md#") })
        let found = texts.flatMap { References.broken($0, anchors: anchors) }
        #expect(found.isEmpty, "\(found)")
    }

    @Test("every link of a document to a heading of its own leads there")
    func ownHeadings() throws {
        let found = try Project.texts(ending: ".md").flatMap(References.brokenWithin)
        #expect(found.isEmpty, "\(found)")
    }

    @Test(
        "a link to a heading that is not there is found",
        arguments: [("[a](#codes)", 0), ("[a](#code) [b](#codes)", 1)])
    func plantedOwnHeading(text: String, count: Int) {
        #expect(References.brokenWithin(SourceText(path: "a.md", text: "## Codes\n\(text)")).count == count)
    }

    @Test(
        "a reference that leads nowhere is found, and others are let be",
        arguments: [
            ("as in relay.md#codes", 0), ("(relay.md#codes, relay.md#code)", 1), ("other.md#any", 0),
            ("relay " + "sheet 6.2", 1), ("OpenClaw " + "sheet, section 9", 1), ("the sheet is closed", 0),
        ])
    func planted(text: String, count: Int) {
        let anchors = [
            "relay": References.anchors(of: SourceText(path: "a.md", text: "# The relay\n## Codes\n```\n# x\n```"))
        ]
        #expect(anchors == ["relay": ["the-relay", "codes"]])
        #expect(References.broken(SourceText(path: "b.swift", text: text), anchors: anchors).count == count)
    }

    @Test(
        "anchors are those of the renderer",
        arguments: [
            ("### `chat.send`", "chatsend"), ("## Lanes, buckets, pacing", "lanes-buckets-pacing"),
            ("### Client caps (`connect.params.caps`)", "client-caps-connectparamscaps"),
            ("## A run's journey", "a-runs-journey"),
        ])
    func anchor(heading: String, expected: String) {
        #expect(References.anchors(of: SourceText(path: "a.md", text: heading)) == [expected])
    }
}
