import Testing

@Suite("The project as a whole")
struct TidyTests {
    @Test("every file of the phone page is in the program, and none makes markup of text or leads outside")
    func page() throws {
        let folder = "Sources/C/CPhonePage/page/"
        let embedded = try Project.text("Sources/C/CPhonePage/page.c").text
        for path in try Project.paths() where path.hasPrefix(folder) {
            let name = path.dropFirst(folder.count)
            #expect(embedded.contains("#embed \"page/\(name)\""), "\(name) is in no #embed of page.c")
            let text = try Project.text(path).text
            for word in [
                ".innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", " style=\"",
                "onclick=", "src=\"http", "href=\"http", "url(http", "@import",
            ] {
                #expect(
                    !text.contains(word), "\(name) has \(word): text stays text, and everything is served from here")
            }
        }
    }

    @Test("the sentences by which the phone page knows a failed or a stopped run are the bridge's own")
    func endings() throws {
        let sentences = try Project.text("Sources/Bridge/Core/Turn/Sentences.swift").text
        let page = try Project.text("Sources/C/CPhonePage/page/endings.js").text
        let quoted = page.matches(of: /^  "([A-Z].*)",$/.anchorsMatchLineEndings())
        let known = quoted.map { String($0.output.1) }
        #expect(known.count > 10 && known.contains("Stopped."))
        for sentence in known {
            #expect(sentences.contains("\"\(sentence)"), "no sentence of the bridge begins with: \(sentence)")
        }
    }

    @Test("every relative link of a document leads somewhere")
    func links() throws {
        let paths = try Project.paths()
        let documents = try Project.texts(ending: ".md")
        #expect(documents.contains { $0.path == "README.md" })
        let found = documents.flatMap { Rules.brokenLinks($0, among: paths) }
        #expect(found.isEmpty, "\(found)")
    }

    @Test(
        "a broken link is found, and others are let be",
        arguments: [
            ("[a](b.md)", 0), ("[a](../README.md#top)", 0), ("![a](pictures)", 0), ("[a](https://x.y/z)", 0),
            ("[a](#here)", 0), ("`a[0](b)` and [a](mailto:a@b)", 1), ("[a](gone.md)", 1), ("[a](../../README.md)", 1),
            ("[a](b.md) [c](<gone.md>)", 1), ("```\n[a](gone.md)\n```", 0), ("[a](picture)", 1),
        ])
    func plantedLinks(text: String, count: Int) {
        let paths = ["README.md", "docs/b.md", "docs/pictures/p.png"]
        #expect(Rules.brokenLinks(SourceText(path: "docs/a.md", text: text), among: paths).count == count)
    }

    @Test("every Swift file is in a target")
    func targets() throws {
        let found = Rules.homeless(try Project.paths(), package: try Project.text("Package.swift").text)
        #expect(found.isEmpty, "\(found)")
    }

    @Test("a Swift file without a target is found")
    func plantedTargets() {
        let paths = [
            "Package.swift", "Sources/A/a.swift", "Tests/ATests/B/a.swift", "Sources/B/b.swift", "Sources/c.swift",
            "scripts/d.swift", "Sources/B/b.h",
        ]
        #expect(
            Rules.homeless(paths, package: #"room("A", at: "Sources/A", []), tests("ATests", [])"#).map(\.path)
                == ["Sources/B/b.swift", "Sources/c.swift", "scripts/d.swift"])
    }

    @Test("every room of the package is described")
    func rooms() throws {
        let page = try Project.text("docs/ARCHITECTURE.md")
        #expect(page.text.contains("```mermaid"))
        let found = Rules.undescribed(page, package: try Project.text("Package.swift").text)
        #expect(found.isEmpty, "\(found)")
    }

    @Test("a room that is described nowhere is found")
    func plantedRooms() {
        let package = #"pureRoom("A"), room("B", ["A"]), .systemLibrary( name: "CC"), tests("BTests", ["B"])"#
        let found = Rules.undescribed(SourceText(path: "a.md", text: "`A` and `CC`, B"), package: package)
        #expect(found.map(\.what) == ["B is described nowhere: say what it holds"])
    }

    @Test("no file names a path of one machine")
    func machinePaths() throws {
        let texts = try Project.texts(
            ending: ".swift", ".md", ".json", ".h", ".cpp", ".c", ".py", ".yml", ".yaml", "Makefile")
        let found = texts.filter { !$0.path.hasPrefix("Tests/TidyTests/") }.flatMap(Rules.machinePaths)
        #expect(found.isEmpty, "\(found)")
    }

    @Test("a path of one machine is found", arguments: ["home/somebody/x", "work/here", "root/a", "tmp/x", "Users/b"])
    func plantedMachinePaths(path: String) {
        // The parts are joined here: otherwise this file would contain such a path.
        for line in ["/\(path)", "let a = \"/\(path)\"", "cd /\(path)", "(/\(path))"] {
            #expect(Rules.machinePaths(SourceText(path: "a", text: line)).count == 1)
        }
    }

    @Test(
        "a path that any machine has is not",
        arguments: ["~/.config", "/v1/home/x", "a/work/b", "$HOME/work/x", "/etc/passwd", "/" + "home/ada/x"])
    func commonPaths(text: String) {
        #expect(Rules.machinePaths(SourceText(path: "a", text: text)).isEmpty)
    }
}
