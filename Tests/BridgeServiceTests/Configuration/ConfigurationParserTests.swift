import Testing

@testable import ConfigurationFile

@Suite("The configuration file's JSON")
struct ConfigurationParserTests {
    private func content(_ text: String) throws -> ConfigurationValue.Content {
        try ConfigurationParser.parse(Array(text.utf8)).content
    }

    @Test("every kind of value is read, with the line it begins on")
    func values() throws {
        let value = try ConfigurationParser.parse(Array("{\"a\": [1, -2.5e1,\n true, null],\n \"b\": \"x\"}\n".utf8))
        let list: [ConfigurationValue] = [
            ConfigurationValue(content: .number(1), line: 1), ConfigurationValue(content: .number(-25), line: 1),
            ConfigurationValue(content: .bool(true), line: 2), ConfigurationValue(content: .null, line: 2),
        ]
        #expect(
            value.content
                == .members([
                    .init(name: "a", value: ConfigurationValue(content: .list(list), line: 1)),
                    .init(name: "b", value: ConfigurationValue(content: .string("x"), line: 3)),
                ]))
    }

    @Test(
        "escapes mean what RFC 8259 says",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e4\uD83D\uDE00""#, "ä😀"), (#""→""#, "→"),
        ])
    func escapes(text: String, meaning: String) throws { #expect(try content(text) == .string(meaning)) }

    @Test("comments may repeat, and a byte order mark is no text")
    func tolerated() throws {
        #expect(throws: Never.self) { try content("\u{FEFF}{\"//\": 1, \"//\": 2}") }
    }

    @Test(
        "the first fault is named with its place",
        arguments: [
            ("", 1, 1), ("{\"a\": 1,\n \"b\": }", 2, 7), ("{\"a\":1,}", 1, 8), ("{\"a\":1\n\"b\":2}", 2, 1),
            ("{'a':1}", 1, 2), ("{\"a\":1} x", 1, 9), ("{\"a\":\"x\n\"}", 1, 8), ("{\"a\":\"x", 1, 8), ("[01]", 1, 2),
            ("[1.]", 1, 2), ("[1.e5]", 1, 2), ("[-.5]", 1, 2), ("[-01]", 1, 2), ("[-]", 1, 2), ("[1e999]", 1, 2),
            ("[tru]", 1, 2), (#"["\x"]"#, 1, 4),
            (#"["\uD83Dx"]"#, 1, 9), (#"["\uD83D\u0041"]"#, 1, 15), (#"["\u12"]"#, 1, 5), (#"["\uDC00"]"#, 1, 9),
            ("{\"a\":1,\"a\":2}", 1, 8), ("// hi\n{}", 1, 1),
        ])
    func faults(text: String, line: Int, column: Int) {
        let fault = #expect(throws: ConfigurationParser.Fault.self) { try content(text) }
        #expect(fault?.line == line)
        #expect(fault?.column == column)
    }

    @Test("what is nested too deeply ends, and so does what is no UTF-8")
    func hostile() {
        #expect(throws: ConfigurationParser.Fault.self) { try content(String(repeating: "[", count: 100_000)) }
        #expect(throws: ConfigurationParser.Fault.self) { try ConfigurationParser.parse([0x22, 0xFF, 0x22]) }
    }
}
