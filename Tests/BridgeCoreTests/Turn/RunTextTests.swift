import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The text of a run")
struct RunTextTests {
    private func text(_ changes: TextChange...) -> RunText {
        var text = RunText()
        for change in changes { _ = text.apply(change) }
        return text
    }

    @Test("additions grow it")
    func append() {
        var text = RunText()
        #expect(text.apply(.append("Hel")) == .grew(by: "Hel"))
        #expect(text.apply(.append("lo")) == .grew(by: "lo"))
        #expect(text.apply(.append("")) == .none)
        #expect(text.whole == "Hello")
    }

    @Test("a snapshot replaces all of it")
    func snapshot() {
        #expect(text(.append("Hello wor"), .snapshot("Hello")).whole == "Hello")
        #expect(text(.snapshot("one"), .snapshot("")).whole == "")
    }

    @Test("segments are joined by a blank line, and an empty one leaves no trace")
    func segments() {
        #expect(
            text(.append("first"), .segmentEnded("first."), .segmentEnded(""), .append("second")).whole
                == "first.\n\nsecond")
        #expect(text(.append("kept"), .segmentEnded(nil), .append("b")).whole == "kept\n\nb")
    }

    @Test("the first addition of a segment brings the blank line")
    func joint() {
        var text = text(.segmentEnded("first"))
        #expect(text.apply(.append("second")) == .grew(by: "\n\nsecond"))
        #expect(text.apply(.append("!")) == .grew(by: "!"))
    }

    @Test("a segment that extends or trims the newest is the newest; any other begins a new one")
    func reducer() {
        #expect(text(.segment("I look"), .segment("I look now."), .segment("I look")).whole == "I look")
        #expect(text(.segment("I look."), .segment("Found it")).whole == "I look.\n\nFound it")
    }

    @Test("after a gap additions are left out until the bus says what the segment is")
    func gap() {
        var text = text(.append("one "))
        text.missed()
        #expect(text.apply(.append("three")) == .none)
        #expect(text.apply(.segmentEnded("one two three")) == .changed)
        #expect(text.whole == "one two three")
        #expect(text.apply(.append("four")) == .grew(by: "\n\nfour"))
    }

    @Test("a segment that ends after a gap without its text keeps what is known")
    func gapUnrepaired() {
        var text = text(.append("one "))
        text.missed()
        #expect(text.apply(.segmentEnded(nil)) == .none)
        #expect(text.whole == "one ")
        #expect(!text.hasGap)
    }

    @Test("a segment that lost its end in a gap stops what is streamed, until the whole is told")
    func torn() {
        var text = text(.segment("I look at"))
        text.missed()
        #expect(text.apply(.segment("Found")) == .none)
        #expect(text.apply(.append(" it")) == .none)
        #expect(text.apply(.segment("Found it.")) == .none)
        #expect(text.whole == "I look at\n\nFound it.")
        #expect(text.isIncomplete, "the end looks for the whole")
        #expect(text.apply(.snapshot("I look at the disk.\n\nFound it.")) == .changed)
        #expect(text.apply(.append(" It is full.")) == .grew(by: " It is full."))
    }

    @Test("a segment that goes on after a gap streams on")
    func mended() {
        var text = text(.segment("I look at"))
        text.missed()
        #expect(text.apply(.segment("I look at the disk.")) == .changed)
        #expect(text.apply(.segment("Found it.")) == .changed)
        #expect(!text.isIncomplete)
    }

    @Test("nothing of a failed attempt is left")
    func restart() {
        var text = text(.segmentEnded("failed"), .append("attempt"))
        text.restart()
        #expect(text.isEmpty)
        #expect(text.whole == "")
    }

    @Test("the end's text wins, unless it was cut shorter than what is known")
    func settle() {
        var text = text(.append("a longer text"))
        text.settle(RunEnd(text: "a longer", truncated: true))
        #expect(text.whole == "a longer text")
        text.settle(RunEnd(text: nil))
        #expect(text.whole == "a longer text")
        text.settle(RunEnd(text: "short"))
        #expect(text.whole == "short")
    }

    @Test("an end of the newest segment leaves the earlier ones")
    func settleSegment() {
        var text = text(.segment("I look."), .segment("Fou"))
        text.settle(RunEnd(text: "Found.", scope: .segment))
        #expect(text.whole == "I look.\n\nFound.")
    }

    @Test("a follow-up comes after a blank line, and its end replaces only its own part")
    func followUp() {
        var text = text(.append("waiting"))
        text.keepForFollowUp()
        #expect(text.apply(.append("do")) == .grew(by: "\n\ndo"))
        text.settle(RunEnd(text: "done"))
        #expect(text.whole == "waiting\n\ndone")
        text.settle(RunEnd(text: "waiting\n\ndone."), coversBase: true)
        #expect(text.whole == "waiting\n\ndone.")
    }

    @Test("a look-up counts only where it goes beyond what is known")
    func caughtUp() {
        var text = text(.append("one two"))
        #expect(text.caughtUp(with: "one") == .none)
        #expect(text.caughtUp(with: "other than that") == .none)
        #expect(text.caughtUp(with: "one two three") == .changed)
        #expect(text.whole == "one two three")
    }

    @Test("it is bounded")
    func bounded() {
        var text = RunText()
        let piece = String(repeating: "x", count: 1_000_000)
        for _ in 0..<10 { _ = text.apply(.append(piece)) }
        #expect(text.whole.utf8.count == RunText.limit)
        #expect(text.apply(.snapshot(String(repeating: piece, count: 6))) == .changed)
        #expect(text.whole.utf8.count == RunText.limit)
    }

    @Test(
        "after a restart a message may be the second one: nothing of it is streamed, unless the run begins here",
        arguments: [false, true])
    func secondMessage(begins: Bool) {
        var text = RunText()
        text.resume(after: "", inStep: true)
        if begins { text.began() }
        #expect(text.apply(.segment("b")) == (begins ? .changed : .none))
        _ = text.apply(.segmentEnded(nil))
        #expect(text.apply(.segment("c")) == (begins ? .changed : .none))
        #expect(text.whole == "b\n\nc")
    }
}
