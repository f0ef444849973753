import BridgeModel
import Testing

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

    @Test(
        "a header that is not there is nil, also when its name only begins alike",
        arguments: ["Retry", "Retry-After-", ""])
    func missing(name: String) {
        #expect(response.header(name) == nil)
    }
}
