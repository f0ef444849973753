import Testing

@Suite("How many stored properties a type has")
struct WidthTests {
    @Test("no machine of the bridge has more than the bound without a reason")
    func widths() throws {
        let sources = try Project.swift.get().filter { $0.room.map(Rules.roomsOfBoundedWidth.contains) ?? false }
        let found =
            sources.flatMap { Rules.tooWide($0, excused: Rules.wideTypes) }
            + Rules.needlesslyWide(sources, excused: Rules.wideTypes)
        #expect(found.isEmpty, "\(found)")
        #expect(Rules.wideTypes.values.allSatisfy { !$0.reason.isEmpty && $0.count > Rules.widthLimit })
        let lane = sources.first { $0.path.hasSuffix("Delivery/Lane.swift") }
        #expect(lane.map(Rules.storedProperties)?.first { $0.name == "Lane" }?.names.count ?? 0 > 8, "fields are found")
    }

    private func source(_ text: String) -> SourceText { SourceText(path: "Sources/A/a.swift", text: text) }

    @Test("what is stored is counted, and nothing else")
    func counted() {
        let found = Rules.storedProperties(
            source(
                """
                package struct A: Sendable {
                    struct Inner { let one: Int }
                    struct Other {
                        private(set) var two = 2
                    }
                    static let shared = A()
                    let three: Int
                    package internal(set) var four: [Int] = []
                    private var five: (Int) -> Bool = { $0 > 0 }
                    var six: Int { 6 }
                    var seven: Int {
                        let eight = 8
                        return eight
                    }
                    weak var nine: B?
                    @Guarded(by: lock) private var ten = 10
                    var eleven = 11 {
                        didSet { changed() }
                    }
                    func f() {
                        var twelve = 12
                    }
                }
                final class B {
                    let one = 1
                }
                """))
        #expect(found.map(\.name) == ["Other", "A", "B"])
        #expect(found.map(\.names) == [["two"], ["three", "four", "five", "nine", "ten", "eleven"], ["one"]])
    }

    @Test("a type that grew too wide is found, and one that is excused only when it grows on")
    func planted() {
        func type(_ count: Int) -> SourceText {
            source("struct A {\n" + (0..<count).map { "    var a\($0) = 0\n" }.joined() + "}\n")
        }
        #expect(Rules.tooWide(type(12), excused: [:]).isEmpty)
        #expect(Rules.tooWide(type(13), excused: [:]).map(\.line) == [1])
        let excused = ["Sources/A/a.swift:A": (count: 14, reason: "why")]
        #expect(Rules.tooWide(type(14), excused: excused).isEmpty)
        #expect(Rules.tooWide(type(15), excused: excused).count == 1)
    }

    @Test("an exception that is wider than its type is found")
    func needless() {
        let fields = (0..<14).map { "    let field\($0): Int\n" }.joined()
        let wide = source("struct A {\n\(fields)}\n")
        func found(_ excused: [String: (count: Int, reason: String)]) -> [String] {
            Rules.needlesslyWide([wide], excused: excused).map(\.what)
        }
        #expect(found(["Sources/A/a.swift:A": (14, "why")]).isEmpty)
        #expect(found(["Sources/A/a.swift:A": (15, "why")]) == ["Sources/A/a.swift:A has 14: lower it"])
        #expect(found(["Sources/A/a.swift:B": (13, "why")]) == ["Sources/A/a.swift:B is not over 12: take it out"])
    }
}
