import Testing
import Vocabulary

@testable import BridgeService

@Suite("The mark of a state directory, from one start to the next")
struct MarkRecordTests {
    private static let known = MarkRecord.Mark(bits: 7, since: 1_000, place: "here", start: "first")

    private static func mark(_ known: MarkRecord.Mark?, at place: String, start: String?) -> MarkRecord.Mark {
        MarkRecord.mark(known, at: place, start: start, wall: 5_000) { 9 }
    }

    @Test("it is the same in each process of one start of the machine")
    func same() {
        #expect(Self.mark(Self.known, at: "here", start: "first") == Self.known)
        let silent = MarkRecord.Mark(bits: 7, since: 1_000, place: "here")
        #expect(Self.mark(silent, at: "here", start: nil) == silent)
    }

    @Test(
        "clones of a machine, whose files and names are alike, have marks of their own and answer for what was before")
    func clones() {
        let mark = Self.mark(Self.known, at: "here", start: "second")
        #expect(mark == MarkRecord.Mark(bits: 9, since: 1_000, place: "here", start: "second"))
        let earlier = MarkRecord.Mark(bits: 7, since: 1_000, place: "here")
        #expect(Self.mark(earlier, at: "here", start: "second").bits == 9, "of a version that did not keep the start")
    }

    @Test("a copy in another place answers for nothing that was before it", arguments: ["first", "second"])
    func copy(start: String) {
        #expect(
            Self.mark(Self.known, at: "there", start: start)
                == MarkRecord.Mark(bits: 9, since: 5_000, place: "there", start: start))
        #expect(Self.mark(nil, at: "here", start: start).since == 5_000)
    }
}
