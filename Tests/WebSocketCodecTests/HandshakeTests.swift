import Testing
import Vocabulary
import WebSocketCodec

@Suite struct HandshakeTests {
    private static let key = "dGhlIHNhbXBsZSBub25jZQ=="
    private static let good =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\n"
        + "Sec-WebSocket-Accept:s3pPLMBiTxaQ9kYGzzhZRbK+xOo= \r\n"

    private func parse(_ text: String, pieces: Int) throws -> (head: ResponseHead, rest: [UInt8])? {
        var parser = ResponseHeadParser()
        let bytes = Array(text.utf8)
        var found: (head: ResponseHead, rest: [UInt8])?
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            if found != nil {
                found?.rest += piece
            } else {
                found = try parser.take(piece)
            }
        }
        return found
    }

    @Test func theAcceptValueIsTheOneOfTheStandard() {
        #expect(UpgradeHandshake.accept(for: Self.key) == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(UpgradeHandshake.key(from: Array("the sample nonce".utf8)) == Self.key)
    }

    @Test func theRequestCarriesItsHeadersOnLinesOfTheirOwn() {
        let bytes = UpgradeHandshake.request(
            target: "/a?b=c", host: "h:1", key: Self.key,
            headers: [HTTPHeader("Authorization", "Bearer x\r\nX-Evil: y"), HTTPHeader("X-Two", "2")])
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "GET /a?b=c HTTP/1.1\r\nHost: h:1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Key: \(Self.key)\r\nSec-WebSocket-Version: 13\r\n"
                + "Authorization: Bearer xX-Evil: y\r\nX-Two: 2\r\n\r\n")
    }

    @Test(arguments: [1, 2, 3, 7, 10_000]) func aHeadIsFoundAndWhatFollowsIsKept(pieces: Int) throws {
        let found = try #require(try parse(Self.good + "\r\n\u{81}frames", pieces: pieces))
        #expect(found.head.status == 101)
        #expect(found.rest == Array("\u{81}frames".utf8))
        #expect(UpgradeHandshake.fault(of: found.head, key: Self.key) == nil)
    }

    @Test(arguments: [1, 5, 10_000]) func interimAnswersArePassedOver(pieces: Int) throws {
        let found = try #require(
            try parse(
                "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 C\r\n\r\n" + Self.good + "\r\n", pieces: pieces
            ))
        #expect(found.head.status == 101)
        #expect(found.rest == [])
    }

    @Test(arguments: [
        ("Upgrade: WebSocket", "Upgrade: h2c"), ("keep-alive, Upgrade", "keep-alive"), ("s3pPLM", "t3pPLM"),
        ("Upgrade: WebSocket", "Upgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate"),
    ])
    func aYesThatIsNotTheProtocolsYesIsAFault(part: String, replacement: String) throws {
        let text = Self.good.split(separator: part, omittingEmptySubsequences: false).joined(separator: replacement)
        let found = try #require(try parse(text + "\r\n", pieces: 100))
        #expect(UpgradeHandshake.fault(of: found.head, key: Self.key) != nil)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 101 S\r\nno header\r\n\r\n",
        "HTTP/1.1 101 S\r\n: empty\r\n\r\n", "HTTP/1.1 101 S\r\nA: b\r\n folded\r\n\r\n", "\r\n\r\n",
    ])
    func whatIsNoHeadIsMalformed(text: String) {
        #expect { try parse(text, pieces: 100) } throws: { ($0 as? HandshakeError)?.code == .malformed }
    }

    @Test(arguments: [1_000, 100_000]) func aHeadThatDoesNotEndIsTooLong(pieces: Int) {
        let endless = "HTTP/1.1 101 S\r\n" + String(repeating: "X-Filler: yyyyyyyyyyyyyyyyyyyyyyy\r\n", count: 3_000)
        #expect { try parse(endless, pieces: pieces) } throws: { ($0 as? HandshakeError)?.code == .tooLong }
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 5_000)
        #expect { try parse(interim, pieces: pieces) } throws: { ($0 as? HandshakeError)?.code == .tooLong }
    }

    @Test(arguments: [
        ("Content-Length: 5", "hello+", "hello"),
        ("Transfer-Encoding: chunked", "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", "hello"),
        ("Transfer-Encoding: chunked", "zz", ""), ("Content-Length: 0", "", ""),
    ])
    func theBodyOfARefusalIsKnownToBeWhole(header: String, body: String, expected: String) throws {
        let found = try #require(try parse("HTTP/1.1 401 No\r\n\(header)\r\n\r\n", pieces: 100))
        for pieces in [1, 100] {
            var refusal = RefusalBody(found.head)
            var isWhole = refusal.take([])
            let bytes = Array(body.utf8)
            for start in stride(from: 0, to: bytes.count, by: pieces) {
                isWhole = refusal.take(bytes[start..<min(start + pieces, bytes.count)])
            }
            #expect(String(decoding: refusal.bytes, as: UTF8.self) == expected)
            #expect(isWhole || body == "zz")
        }
    }

    @Test func aBodyWithoutLengthIsBounded() throws {
        let found = try #require(try parse("HTTP/1.1 500 No\r\n\r\n", pieces: 100))
        var refusal = RefusalBody(found.head)
        let piece = [UInt8](repeating: 97, count: 50_000)
        let first = refusal.take(piece)
        let second = refusal.take(piece)
        #expect(!first)
        #expect(second)
        #expect(refusal.bytes.count == RefusalBody.limit)
    }

    private static let asks = [
        HTTPHeader("upgrade", "websocket"), HTTPHeader("connection", "keep-alive, Upgrade"),
        HTTPHeader("Sec-WebSocket-Version", "13"), HTTPHeader("Sec-WebSocket-Key", key),
    ]

    @Test func aServerAcceptsAProperRequest() {
        #expect(
            UpgradeHandshake.judge(method: "GET", headers: Self.asks) == .accept(value: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="))
    }

    @Test(arguments: [(0, 426), (1, 426), (2, 426), (3, 400)])
    func aServerRefusesARequestThatLacksSomething(index: Int, status: Int) {
        var headers = Self.asks
        headers.remove(at: index)
        guard case .refuse(status, _) = UpgradeHandshake.judge(method: "GET", headers: headers) else {
            Issue.record("not refused with \(status)")
            return
        }
    }

    @Test(arguments: ["", "abc", "dGhlIHNhbXBsZSBub25jZQ=!", "dGhlIHNhbXBsZSBub25jZQAA"])
    func aServerRefusesAKeyThatIsNone(key: String) {
        let headers = Array(Self.asks.dropLast()) + [HTTPHeader("Sec-WebSocket-Key", key)]
        guard case .refuse(400, _) = UpgradeHandshake.judge(method: "GET", headers: headers) else {
            Issue.record("not refused")
            return
        }
    }

    @Test func whatAServerAnswersIsWhatAClientExpects() throws {
        let answer =
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: \(UpgradeHandshake.accept(for: Self.key))\r\nX-A: b\r\n\r\n"
        let found = try #require(try parse(answer, pieces: 9))
        #expect(UpgradeHandshake.fault(of: found.head, key: Self.key) == nil)
        #expect(found.head.header("x-a") == "b")
    }
}
