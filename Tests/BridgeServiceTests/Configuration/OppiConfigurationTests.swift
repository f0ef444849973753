import BridgeService
import ConfigurationFile
import Testing
import Vocabulary

@Suite("The configuration of Oppi")
struct OppiConfigurationTests {
    private static func link(_ scheme: String?, _ host: String) -> String {
        let scheme = scheme.map { #","scheme":"\#($0)""# } ?? ""
        let json = #"{"v":3,"host":"\#(host)","port":7750,"pairingToken":"pt_secret"\#(scheme)}"#
        return "oppi://connect?v=3&invite=" + Base64URL.encode(Array(json.utf8))
    }

    private static func file(_ link: String, url: String = "", top: String = "") -> String {
        #"{"connections":[{"agent":{"kind":"oppi","invite":"\#(link)"\#(url)}}]\#(top)}"#
    }

    @Test("a link leads to the same addresses as the configuration: no token crosses the internet in the clear")
    func plainLink() throws {
        for scheme in [nil, "http"] {
            let faults = faults(Self.file(Self.link(scheme, "oppi.example.com")))
            #expect(faults.map(\.path) == ["connections[0].agent.invite"])
            #expect(faults.first?.expected.contains("https://") == true)
            #expect(faults.first?.remedy.hasSuffix(#"add "oppi.example.com" to allow_plain"#) == true, "\(faults)")
            #expect(faults.first.map { "\($0)".contains("pt_secret") } == false)
        }
        let environment = ["SOPHON_AGENT": "oppi", "OPPI_INVITE": Self.link(nil, "8.8.8.8")]
        #expect(faults(nil, environment: environment).count == 1)
    }

    @Test(
        "private networks, encryption, and what is allowed by name are taken",
        arguments: [(nil, "10.0.0.5"), ("http", "localhost"), ("https", "oppi.example.com")] as [(String?, String)])
    func taken(_ scheme: String?, _ host: String) {
        #expect(faults(Self.file(Self.link(scheme, host))).isEmpty)
    }

    @Test("a link's address does not matter where it is allowed by name or not used")
    func unused() {
        let link = Self.link(nil, "oppi.example.com")
        #expect(faults(Self.file(link, top: #","allow_plain":["oppi.example.com"]"#)).isEmpty)
        #expect(faults(Self.file(link, url: #","url":"https://oppi.example.com:7750""#)).isEmpty)
    }
}
