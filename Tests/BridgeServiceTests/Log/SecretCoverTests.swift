import BridgeService
import FoundationEssentials
import Testing
import Vocabulary

@Suite("Secrets that nothing shows")
struct SecretCoverTests {
    private static let secret = "plain\"hex/without?shape>0123"

    @Test("a secret is covered as it is, in a JSON text, and in base64 wherever it begins", arguments: 0..<3)
    func forms(place: Int) {
        let cover = SecretCover()
        cover.cover(Secret(Self.secret))
        let prefix = String(repeating: "p", count: place)
        let encoded = Data((prefix + Self.secret + "tail").utf8).base64EncodedString()
        let url = encoded.replacing("+", with: "-").replacing("/", with: "_")
        for text in [Self.secret, #"plain\"hex/without?shape>0123"#, encoded, url] {
            let covered = cover.covered("a \(text) b")
            #expect(covered.contains("***") && !covered.contains(text.dropFirst(6).dropLast(10)), "\(covered)")
        }
        #expect(cover.covered("a b") == "a b")
    }

    @Test("every way in which JSON may write a secret is covered")
    func escapes() {
        let cover = SecretCover()
        cover.cover(Secret("p/q\"ä\u{1F511}\\end&key"))
        for text in [
            #"p\/q\"ä🔑\\end&key"#, #"p/q\"\u00e4\ud83d\udd11\\end\u0026key"#, #"\u0070\u002Fq\u0022ä🔑\u005Cend&key"#,
            "p/q\"ä\u{1F511}\\end&key",
        ] { #expect(cover.covered("a \(text) b") == "a *** b", "\(text)") }
        #expect(cover.covered(#"a p/q\\\"ä🔑\\\\end&key b"#) == "a *** b", "escaped twice")
        // Also the slashes of base64.
        cover.cover(Secret("???>>>???>>>"))
        let encoded = Data("???>>>???>>>".utf8).base64EncodedString().replacing("/", with: #"\/"#)
        #expect(cover.covered("a \(encoded) b") == "a *** b")
        #expect(cover.covered(#"a \q \u12 \"# + "\\") == #"a \q \u12 \"# + "\\")
    }

    @Test("of secrets that begin alike, contain or overlap one another nothing stays", arguments: [false, true])
    func overlaps(isReversed: Bool) {
        let cover = SecretCover()
        let secrets = ["token-abc", "token-abcdefgh", "defgh-and-more", "more-of-it"]
        for secret in isReversed ? secrets.reversed() : secrets { cover.cover(Secret(secret)) }
        #expect(cover.covered("a token-abcdefgh b") == "a *** b")
        #expect(cover.covered("a token-abcdefgh-and-more-of-it b") == "a *** b")
        #expect(cover.covered("token-abctoken-abc") == "******")
    }

    @Test("one that is made known again stays known when thousands of others have come")
    func newest() {
        let cover = SecretCover()
        cover.cover(Secret("in-force-token"))
        for number in 0..<5_000 {
            cover.cover(Secret("device-token-\(number)"))
            if number % 1_000 == 0 { cover.cover(Secret("in-force-token")) }
        }
        #expect(cover.covered("in-force-token") == "***" && cover.covered("device-token-0") == "device-token-0")
    }
}
