import JSONReading
import Testing
import Vocabulary

/// `JSON.stringify` writes text that a strict parser refuses, and the model chooses the values.
@Suite("Frames that a strict parser refuses")
struct FrameParserTests {
    private func compact(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        let parser = FrameParser()
        return bytes.withUnsafeBytes { parser.parse($0, capacity: $0.count)?.compact.text }
    }

    @Test(
        "half of a surrogate pair and a long integer are read",
        arguments: [
            (#"{"a":"echo \ud83d"}"#, "{\"a\":\"echo \u{FFFD}\"}"),
            (#"{"a":"\udc00\ud83d\ud83d\ude00 \\ud83d"}"#, "{\"a\":\"\u{FFFD}\u{FFFD}\u{1F600} \\\\ud83d\"}"),
            (#"{"\ud83d":1,"b":"\ud83d\u0041"}"#, "{\"\u{FFFD}\":1,\"b\":\"\u{FFFD}A\"}"),
            (#"[100000000000000000000,-9223372036854775809]"#, "[1e+20,-9.223372036854776e+18]"),
            (
                #"["100000000000000000000",18446744073709551615,100000000000000000000]"#,
                #"["100000000000000000000",18446744073709551615,1e+20]"#
            ),
            ("[1e400,-1e400]", #"["1e400","-1e400"]"#),
        ])
    func strict(text: String, read: String) { #expect(compact(text) == read) }

    @Test("values that nest without limit are read, the deepest as a text", arguments: [600, 1_025, 50_000])
    func deep(depth: Int) throws {
        let text =
            #"{"id":"a","in":"# + String(repeating: #"{"k":["#, count: depth / 2) + #""x\n\ud83d""#
            + String(repeating: "]}", count: depth / 2) + #","end":[1]}"#
        let read = try #require(compact(text))
        #expect(read.hasPrefix(#"{"id":"a","in":{"k":[{"k":["#) && read.hasSuffix(#","end":[1]}"#))
        #expect(read.contains("x"))
        // The bridge reads its own output.
        #expect(compact(read) == read)
    }

    @Test(
        "what is no JSON is still none",
        arguments: [#"{"a":"\ud83d"#, #"{"a":1e20"#, "-", #"["\ux"]"#, #""\"#, "[[", "", #"{"a":"\q"}"#, "[01]"])
    func malformed(text: String) { #expect(compact(text) == nil) }
}
