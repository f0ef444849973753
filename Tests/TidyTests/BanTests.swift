import Testing

@Suite("What may not be written")
struct BanTests {
    /// Files that contain banned words on purpose.
    private static let planted = ["Tests/TidyTests/Ban.swift", "Tests/TidyTests/BanTests.swift"]

    @Test("no source has what is banned in its room", arguments: Ban.all)
    func clean(ban: Ban) throws {
        let sources = try Project.swift.get().filter { !Self.planted.contains($0.path) }
        #expect(sources.count > 100)
        let found = sources.flatMap(ban.found)
        #expect(found.isEmpty, "\(found)")
    }

    @Test("each ban finds its planted lines and leaves alone what only looks like them", arguments: Ban.all)
    func planted(ban: Ban) {
        let path =
            switch ban.rooms {
            case .all, .except: "\(Rooms.folder(of: "BridgeService"))/Planted.swift"
            case .only(let rooms): "\(Rooms.folder(of: rooms.min() ?? ""))/Planted.swift"
            }
        let text = (ban.bad + ban.good).joined(separator: "\n")
        let lines = ban.found(in: SourceText(path: path, text: text)).compactMap(\.line)
        #expect(lines == Array(1...ban.bad.count))
    }

    @Test("a ban of pure rooms holds there alone")
    func rooms() throws {
        let clock = try #require(Ban.all.first { $0.what == "the clock of the machine" })
        for (path, count) in [
            ("Sources/Bridge/Core/Turn/A.swift", 1), ("Sources/Outside/HTTP/A.swift", 0),
            ("Tests/BridgeCoreTests/A.swift", 0),
        ] {
            #expect(clock.found(in: SourceText(path: path, text: "let a = clock.now")).count == count)
        }
    }

    @Test("a comment may speak of what code may not do")
    func comments() {
        let source = SourceText(path: "Sources/Bridge/Core/A.swift", text: "/// Never `Date()`.\n    // Nor print(1).")
        #expect(Ban.all.flatMap { $0.found(in: source) }.isEmpty)
    }

    @Test("the pure rooms are those of the package")
    func pureRooms() throws {
        let package = try Project.text("Package.swift").text
        let named = package.matches(of: /pureRoom\("(\w+)"/).map { String($0.output.1) }
        #expect(Set(named) == Ban.pure)
    }
}
