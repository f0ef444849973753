import Testing
import WebSocketCodec

/// Each vector whole, a byte at a time, in odd pieces, and many at once.
@Suite struct MessageReaderTests {
    struct Vector: CustomTestStringConvertible, Sendable {
        var name: String
        var bytes: [UInt8]
        var expected: [WebSocketInput]
        var fault: WebSocketFault.Code?
        var role = WebSocketRole.client

        var testDescription: String { name }
    }

    private static let long = [UInt8](repeating: 97, count: 70_000)

    static let good: [Vector] = [
        Vector(name: "text", bytes: Raw.text("Grüße"), expected: [.text("Grüße")]),
        Vector(name: "empty text", bytes: Raw.text(""), expected: [.text("")]),
        Vector(name: "125 bytes", bytes: Raw.frame(2, Array(long[..<125])), expected: [.binary(Array(long[..<125]))]),
        Vector(name: "126 bytes", bytes: Raw.frame(2, Array(long[..<126])), expected: [.binary(Array(long[..<126]))]),
        Vector(name: "70,000 bytes", bytes: Raw.frame(1, long), expected: [.text(long)]),
        Vector(
            name: "fragments",
            bytes: Raw.text("a", isLast: false) + Raw.frame(0, [98], isLast: false) + Raw.frame(0, [99]),
            expected: [.text("abc")]),
        Vector(
            name: "empty fragments",
            bytes: Raw.text("", isLast: false) + Raw.frame(0, isLast: false) + Raw.frame(0, [99]) + Raw.text("d"),
            expected: [.text("c"), .text("d")]),
        Vector(
            name: "control frames between fragments",
            bytes: Raw.text("a", isLast: false) + Raw.frame(9, [1]) + Raw.frame(10, [2]) + Raw.frame(9)
                + Raw.frame(0, [98]),
            expected: [.ping([1]), .pong([2]), .ping([]), .text("ab")]),
        Vector(
            name: "a character split between fragments",
            bytes: Raw.frame(1, [0xC3], isLast: false) + Raw.frame(0, [0xBC]),
            expected: [.text("ü")]),
        Vector(name: "binary is not checked", bytes: Raw.frame(2, [0xFF]), expected: [.binary([0xFF])]),
        Vector(
            name: "masked, to a server", bytes: Raw.frame(1, [104, 105, 106, 107, 108], mask: [1, 2, 3, 4]),
            expected: [.text("hijkl")], role: .server),
    ]

    /// Vectors that end the reading, so no other can follow them.
    static let last: [Vector] = [
        Vector(name: "close", bytes: Raw.frame(8), expected: [.close(code: nil, reason: "")]),
        Vector(
            name: "close with a reason", bytes: Raw.frame(8, [0x0F, 0xA1] + Array("weg".utf8)),
            expected: [.close(code: 4001, reason: "weg")]),
        Vector(
            name: "nothing counts after a close", bytes: Raw.frame(8, [3, 232]) + Raw.frame(3, [1]),
            expected: [.close(code: 1000, reason: "")]),
    ]

    static let bad: [Vector] = [
        Vector(name: "reserved bit 1", bytes: Raw.frame(1, [97], reserved: 4), expected: [], fault: .protocolError),
        Vector(name: "reserved bit 3", bytes: Raw.frame(9, reserved: 1), expected: [], fault: .protocolError),
        Vector(name: "unknown opcode", bytes: Raw.frame(3, [97]), expected: [], fault: .protocolError),
        Vector(name: "unknown control opcode", bytes: Raw.frame(11), expected: [], fault: .protocolError),
        Vector(name: "continuation of nothing", bytes: Raw.frame(0, [97]), expected: [], fault: .protocolError),
        Vector(
            name: "continuation of a finished message", bytes: Raw.text("a") + Raw.frame(0, [97]),
            expected: [.text("a")],
            fault: .protocolError),
        Vector(
            name: "message within a message", bytes: Raw.text("a", isLast: false) + Raw.text("b"), expected: [],
            fault: .protocolError),
        Vector(
            name: "masked, to a client", bytes: Raw.frame(1, [97], mask: [1, 2, 3, 4]), expected: [],
            fault: .protocolError),
        Vector(
            name: "unmasked, to a server", bytes: Raw.text("a"), expected: [], fault: .protocolError, role: .server),
        Vector(
            name: "long ping", bytes: [0x89, 126, 0, 126] + long[..<126], expected: [], fault: .protocolError),
        Vector(name: "fragmented ping", bytes: Raw.frame(9, isLast: false), expected: [], fault: .protocolError),
        Vector(name: "length not minimal", bytes: [0x82, 126, 0, 1, 0], expected: [], fault: .protocolError),
        Vector(
            name: "length with the highest bit", bytes: [0x82, 127] + Raw.length(1 << 63) + [0], expected: [],
            fault: .protocolError),
        Vector(
            name: "length 2^63-1", bytes: [0x82, 127] + Raw.length(UInt64(Int64.max)) + [0], expected: [],
            fault: .messageTooLarge),
        Vector(name: "bad UTF-8", bytes: Raw.frame(1, [97, 0xC3, 0x28]), expected: [], fault: .invalidText),
        Vector(name: "surrogate", bytes: Raw.frame(1, [0xED, 0xA0, 0x80]), expected: [], fault: .invalidText),
        Vector(name: "text cut in a character", bytes: Raw.frame(1, [0xC3]), expected: [], fault: .invalidText),
        Vector(name: "close of one byte", bytes: Raw.frame(8, [3]), expected: [], fault: .protocolError),
        Vector(
            name: "close with a bad reason", bytes: Raw.frame(8, [3, 232, 0xFF]), expected: [], fault: .invalidText),
    ]

    @Test(arguments: good + last + bad)
    func anyPiecesGiveTheSame(vector: Vector) {
        for pieces in [vector.bytes.count, 1, 7, 4_096] {
            let outcome = read(vector.bytes, pieces: pieces, role: vector.role)
            #expect(outcome == Outcome(inputs: vector.expected, fault: vector.fault), "in pieces of \(pieces)")
        }
    }

    @Test(arguments: good) func manyAtOnceComeInOrder(vector: Vector) {
        let many = Array(repeatElement(vector.bytes, count: 20).joined())
        let outcome = read(many, pieces: many.count, role: vector.role)
        #expect(outcome.inputs == Array(repeatElement(vector.expected, count: 20).joined()))
    }

    @Test func differentVectorsFollowOneAnother() {
        let client = Self.good.filter { $0.role == .client }
        let outcome = read(client.flatMap(\.bytes), pieces: 1_000)
        #expect(outcome.inputs == client.flatMap(\.expected))
    }

    @Test(arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535])
    func codesThatNeverTravelAreRefused(code: Int) {
        let outcome = read(Raw.frame(8, [UInt8(code >> 8), UInt8(code & 255)]), pieces: 10)
        #expect(outcome == Outcome(inputs: [], fault: .protocolError))
    }

    @Test(arguments: [1000, 1001, 1003, 1007, 1011, 1012, 1013, 1014, 3000, 4999])
    func codesInUsePass(code: Int) {
        let outcome = read(Raw.frame(8, [UInt8(code >> 8), UInt8(code & 255)]), pieces: 10)
        #expect(outcome.inputs == [.close(code: code, reason: "")])
    }

    @Test func aMessageAtTheLimitPassesAndOneByteMoreDoesNot() {
        let full = [UInt8](repeating: 97, count: 1_000)
        #expect(read(Raw.frame(1, full), pieces: 100, limit: 1_000).inputs == [.text(full)])
        #expect(read(Raw.frame(1, full + [97]), pieces: 100, limit: 1_000).fault == .messageTooLarge)
    }

    @Test func fragmentsCountTogether() {
        let half = [UInt8](repeating: 97, count: 600)
        let bytes = Raw.frame(1, half, isLast: false) + Raw.frame(0, half)
        #expect(read(bytes, pieces: 100, limit: 1_200).fault == nil)
        #expect(read(bytes, pieces: 100, limit: 1_199).fault == .messageTooLarge)
    }

    @Test func aFaultIsForGood() {
        let reader = MessageReader(role: .client, messageLimit: 100)
        for bytes in [Raw.frame(3, [1]), Raw.text("a")] {
            bytes.withUnsafeBytes { all in
                var piece = all
                #expect(throws: WebSocketFault.self) { try reader.next(from: &piece) }
            }
        }
    }

    @Test func whatIsGivenHasRoomForAParser() throws {
        let bytes =
            Raw.text("a") + Raw.frame(1, [UInt8](repeating: 98, count: 5_000), isLast: false) + Raw.frame(0, [99])
        for input in read(bytes, pieces: 100).inputs {
            guard case .text(let text) = input else { continue }
            #expect(text.capacity >= text.count + MessageReader.spareBytes)
        }
    }

    /// A reader that copied the message for each of 8,192 fragments would copy 130 GB for these 32 MB: the test would
    /// not end.
    @Test func manyFragmentsMakeALargeMessageWithoutCopyingItEachTime() {
        let fragment = [UInt8](repeating: 97, count: 4_096)
        var bytes = Raw.frame(1, fragment, isLast: false)
        let next = Raw.frame(0, fragment, isLast: false)
        for _ in 0..<8_190 { bytes += next }
        bytes += Raw.frame(0, fragment)
        let outcome = read(bytes, pieces: 65_536, limit: 64 << 20)
        guard case .text(let text) = outcome.inputs.first else { Issue.record("no text"); return }
        #expect(text.count == 32 << 20)
        #expect(outcome.inputs.count == 1)
    }

    @Test func aLargeFrameArrivesWhole() {
        let payload = [UInt8](repeating: 97, count: 30_000_000)
        #expect(read(Raw.frame(1, payload), pieces: 65_536, limit: 64 << 20).inputs == [.text(payload)])
    }
}
