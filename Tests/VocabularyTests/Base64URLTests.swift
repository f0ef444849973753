import Testing
import Vocabulary

@Suite("Base64 for URLs")
struct Base64URLTests {
    @Test(
        "bytes become letters without padding",
        arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg")])
    func letters(_ text: String, _ encoded: String) { #expect(Base64URL.encode(Array(text.utf8)) == encoded) }

    @Test("the two letters that URLs keep for themselves are not used")
    func urlLetters() { #expect(Base64URL.encode([0xFB, 0xEF, 0xFF]) == "--__") }
}
