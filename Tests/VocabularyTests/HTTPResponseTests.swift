import Testing
import Vocabulary

@Suite("HTTP responses")
struct HTTPResponseTests {
    private let response = HTTPResponse(
        status: 200,
        headers: [HTTPHeader("Retry-After", "1"), HTTPHeader("x-request-id", "req_1"), HTTPHeader("RETRY-AFTER", "2")])

    @Test("a header is found whatever the case of its name, and the last one wins")
    func caseAndOrder() {
        #expect(response.header("retry-after") == "2")
        #expect(response.header("X-Request-ID") == "req_1")
    }

    @Test("a header that is not there is nil, also when its name only begins alike")
    func missing() {
        #expect(response.header("Retry") == nil)
        #expect(response.header("Retry-After-") == nil)
        #expect(response.header("") == nil)
    }

    @Test(
        "a count is digits and nothing else",
        arguments: [
            ("12", 12), (" 007 \r", 7), ("999999999", 999_999_999), ("0", 0), ("1000000000", nil), ("-1", nil),
            ("", nil),
            ("1.5", nil), ("1 2", nil), ("x", nil),
        ] as [(String, Int?)])
    func count(value: String, expected: Int?) {
        let response = HTTPResponse(status: 200, head: Array("n:\(value)\n".utf8), body: [])
        var counts: [Int?] = []
        response.forEachHeader { counts.append($0.count) }
        #expect(counts == [expected])
    }

    @Test("blanks round a value are no part of it, and a head that was cut is no trouble")
    func blanks() {
        let head = Array("A:  x y \r\nB:\r\n: z\r\nC: cut".utf8)
        let response = HTTPResponse(status: 200, head: head, body: [])
        #expect(response.header("a") == "x y")
        #expect(response.header("b") == "")
        #expect(response.header("c") == nil)
    }
}
