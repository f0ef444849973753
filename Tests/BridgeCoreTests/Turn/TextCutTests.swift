import Testing

@testable import BridgeCore

@Suite("Cutting text")
struct TextCutTests {
    @Test(
        "cuts between characters, never within",
        arguments: [
            ("hello", 5, "hello"), ("hello", 3, "hel"), ("a👩‍👩‍👧b", 10, "a"), ("a👩‍👩‍👧b", 19, "a👩‍👩‍👧"), ("éé", 3, "é"),
            ("e\u{301}x", 2, ""), ("🇩🇪🇫🇷", 8, "🇩🇪"), ("🇩🇪🇫🇷", 12, "🇩🇪"), ("abc", 0, ""), ("abc", -1, ""), ("\r\n", 1, ""),
        ])
    func split(text: String, limit: Int, head: String) {
        let cut = TextCut.split(text, atMost: limit)
        #expect(String(cut.head).utf8.elementsEqual(head.utf8))
        #expect((cut.head + cut.rest).utf8.elementsEqual(text.utf8))
    }

    @Test("a character longer than anybody writes is cut between its scalars")
    func monster() {
        let monster = "e" + String(repeating: "\u{301}", count: 10_000)
        let cut = TextCut.split(monster, atMost: 1_001)
        #expect((700...1_001).contains(cut.head.utf8.count))
        #expect((cut.head + cut.rest).utf8.elementsEqual(monster.utf8))
    }

    @Test("what was cut bears a mark and keeps the limit")
    func marked() {
        #expect(TextCut.marked("short", atMost: 20) == "short")
        let cut = TextCut.marked(String(repeating: "ä", count: 50), atMost: 31)
        #expect(cut.hasSuffix("… (cut)"))
        #expect(cut.utf8.count <= 31)
    }

    @Test(
        "pieces are cut after a paragraph, else a line, else a character",
        arguments: [
            ("aaaaaaaa\n\nb\ncccccc", 13, ["aaaaaaaa\n\n", "b\ncccccc"]),
            ("aaaaaaaaa\nbbbbbb", 12, ["aaaaaaaaa\n", "bbbbbb"]), ("a\nbbbbbbbbbb", 8, ["a\nbbbbbb", "bbbb"]),
            ("👩‍👩‍👧👩‍👩‍👧", 20, ["👩‍👩‍👧", "👩‍👩‍👧"]), ("", 5, []),
        ])
    func pieces(text: String, limit: Int, expected: [String]) {
        #expect(TextCut.pieces(text[...], atMost: limit) == expected)
        #expect(TextCut.pieces(text[...], atMost: limit).joined() == text)
    }

    @Test("a beginning is one byte for byte")
    func beginnings() {
        #expect(extends("hello", "hel"))
        #expect(extends("hello", ""))
        #expect(!extends("hel", "hello"))
        #expect(!extends("cafe\u{301}", "caf\u{E9}"))
    }
}
