import Testing

@testable import Children

@Suite struct LineReaderTests {
    private func lines(_ pieces: [[UInt8]], limit: Int = 5) -> [LineReader.Output] {
        var reader = LineReader(limit: limit)
        var found: [LineReader.Output] = []
        for piece in pieces {
            piece.withUnsafeBytes { bytes in
                var rest = bytes
                while let next = reader.next(&rest) { found.append(next) }
                #expect(rest.isEmpty)
            }
        }
        if let last = reader.finish() { found.append(last) }
        return found
    }

    private static let cases: [(String, [LineReader.Output])] = [
        ("", []), ("\n", [.line([])]), ("a\nb\n", [.line([97]), .line([98])]), ("a\r\n", [.line([97, 13])]),
        ("12345\n", [.line(Array("12345".utf8))]), ("123456\nb", [.skipped(bytes: 6), .line([98])]),
        ("123456789", [.skipped(bytes: 9)]), ("\n\n123456\n\n", [.line([]), .line([]), .skipped(bytes: 6), .line([])]),
    ]

    @Test(arguments: cases) func wholeAndAByteAtATime(text: String, expected: [LineReader.Output]) {
        #expect(lines([Array(text.utf8)]) == expected)
        #expect(lines(text.utf8.map { [$0] }) == expected)
        for cut in 0...text.utf8.count {
            #expect(lines([Array(text.utf8.prefix(cut)), Array(text.utf8.dropFirst(cut))]) == expected)
        }
    }
}
