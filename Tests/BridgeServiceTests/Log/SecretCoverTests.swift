import BridgeModel
import BridgeService
import FoundationEssentials
import Testing

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
}
