import Testing
import Vocabulary

@Suite("Secrets")
struct SecretTests {
    private struct Holder { var token: Secret? = Secret("s3cret") }

    @Test("a secret shows itself neither alone nor inside of what holds it")
    func hidden() {
        var dumped = ""
        dump(Holder(), to: &dumped)
        let texts = ["\(Secret("s3cret"))", String(reflecting: Secret("s3cret")), "\(Holder())", dumped]
        #expect(texts.allSatisfy { !$0.contains("s3cret") })
        #expect(Secret("s3cret").text == "s3cret")
    }
}
