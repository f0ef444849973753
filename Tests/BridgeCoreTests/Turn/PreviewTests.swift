import Testing

@testable import BridgeCore

@Suite("The preview")
struct PreviewTests {
    private var preview = Preview(limit: 100)

    @Test("an addition in step goes out without a look at the text")
    mutating func inStep() {
        #expect(preview.moved(.grew(by: "Hel"), to: Self.unasked()) == "Hel")
        #expect(preview.moved(.grew(by: "lo"), to: Self.unasked()) == "lo")
        #expect(preview.streamed == "Hello")
    }

    private static func unasked() -> String {
        Issue.record("the whole text was asked for")
        return ""
    }

    @Test("a text that extends it sends the rest, a beginning of it sends nothing")
    mutating func trims() {
        #expect(preview.moved(.changed, to: "now.\n\n") == "now.")
        #expect(preview.moved(.changed, to: "now.") == nil)
        #expect(!preview.isPaused)
        #expect(preview.moved(.changed, to: "now.\n\nThen") == "\n\nThen")
    }

    @Test("white space at the end waits for what follows it")
    mutating func space() {
        #expect(preview.moved(.grew(by: "one \n"), to: "one \n") == "one")
        #expect(preview.moved(.grew(by: "\n"), to: "one \n\n") == nil)
        #expect(preview.moved(.grew(by: "two"), to: "one \n\ntwo") == " \n\ntwo")
        #expect(preview.streamed == "one \n\ntwo")
    }

    @Test("a text that says something else pauses it until it extends again")
    mutating func apart() {
        _ = preview.moved(.changed, to: "abc")
        #expect(preview.moved(.changed, to: "abX") == nil)
        #expect(preview.isPaused)
        #expect(preview.moved(.grew(by: "Y"), to: Self.unasked()) == nil)
        #expect(preview.moved(.changed, to: "abcd") == "d")
        #expect(!preview.isPaused)
    }

    @Test("equal characters of other bytes are something else")
    mutating func bytes() {
        _ = preview.moved(.changed, to: "caf\u{E9}")
        #expect(preview.moved(.changed, to: "cafe\u{301} au lait") == nil)
        #expect(preview.isPaused)
    }

    @Test("a mark that joins the last character is only a byte more")
    mutating func joining() {
        _ = preview.moved(.changed, to: "e")
        #expect(preview.moved(.changed, to: "e\u{301}") == "\u{301}")
        #expect(preview.streamed.utf8.elementsEqual("e\u{301}".utf8))
    }

    @Test("it stops at its limit, between two characters")
    mutating func limit() {
        preview = Preview(limit: 10)
        #expect(preview.moved(.grew(by: "12345678👩‍👩‍👧"), to: Self.unasked()) == "12345678")
        #expect(preview.isOver)
        #expect(preview.moved(.grew(by: "9"), to: Self.unasked()) == nil)
        #expect(preview.moved(.changed, to: "123456789") == nil)
    }

    @Test("what an earlier process streamed is compared first")
    mutating func restored() {
        preview = Preview(limit: 100, streamed: "one ")
        #expect(preview.moved(.grew(by: "two"), to: "one two") == "two")
        preview = Preview(limit: 100, streamed: "one ")
        #expect(preview.moved(.grew(by: "two"), to: "two") == nil)
    }

    @Test("when it is stopped nothing goes out any more")
    mutating func stopped() {
        preview.stop()
        #expect(preview.moved(.grew(by: "x"), to: Self.unasked()) == nil)
    }
}
