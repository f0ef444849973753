import Testing
import Vocabulary

@Suite("Columns of a terminal")
struct DisplayWidthTests {
    @Test(
        "a letter has one column, an East Asian one and an emoji two, a mark none",
        arguments: [
            ("", 0), ("ready", 5), ("Grüße", 5), ("e\u{301}", 1), ("日本語", 6), ("한국", 4), ("ｱ", 1), ("Ａ", 2), ("🙂", 2),
            ("❤\u{FE0F}", 2), ("👩\u{200D}💻", 2), ("🇩🇪", 2), ("…", 1), ("a\u{200B}b", 2),
        ])
    func width(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(
        "a clip keeps to the width and shows that it is one",
        arguments: [
            ("hello", 5, "hello"), ("hello", 4, "hel…"), ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"),
            ("日本語", 1, "…"), ("a", 0, ""),
        ])
    func clipped(text: String, width: Int, expected: String) {
        #expect(DisplayWidth.clipped(text, to: width) == expected)
    }

    @Test("a text is broken at spaces, and within a word that is longer than a line")
    func wrapped() {
        #expect(DisplayWidth.wrapped("one two three", to: 7) == ["one two", "three"])
        #expect(DisplayWidth.wrapped("abcdefgh ij", to: 4) == ["abcd", "efgh", "ij"])
        #expect(DisplayWidth.wrapped("日本語です", to: 5) == ["日本", "語で", "す"])
        #expect(DisplayWidth.wrapped("", to: 5) == [""])
        #expect(DisplayWidth.wrapped("日", to: 1) == ["日"])
    }
}
