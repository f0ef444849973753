import BridgeService
import Testing

@Suite("Text for terminals")
struct TerminalTextTests {
    private static let hostile =
        "a\u{1B}[3A\u{1B}[2Kb\r\u{9B}2J\u{7F}\u{202E}c\u{2066}\u{2028}\n\td\u{1B}]52;c;eA==\u{7}é👍"

    @Test("nothing that moves a cursor, turns a line round or reaches a clipboard is written as it is")
    func words() {
        let text = String(decoding: TerminalText.words(Array(Self.hostile.utf8)), as: UTF8.self)
        #expect(
            text
                == "a⟨U+001B⟩[3A⟨U+001B⟩[2Kb⟨U+000D⟩⟨U+009B⟩2J⟨U+007F⟩⟨U+202E⟩c⟨U+2066⟩⟨U+2028⟩\n\td⟨U+001B⟩]52;c;eA==⟨U+0007⟩é👍"
        )
    }

    @Test("a line of JSON stays what it says")
    func document() {
        let line = "{\"a\":\"x\u{9B}y\u{202E}\"}\n"
        let text = String(decoding: TerminalText.document(Array(line.utf8)), as: UTF8.self)
        #expect(text == "{\"a\":\"x\\u009by\\u202e\"}\n")
    }
}
