import Testing
import Vocabulary

@Suite("Addresses of relays and agents")
struct WebAddressTests {
    @Test(
        "what is written comes back in its plain form",
        arguments: [
            ("https://api.sophon.at", "https://api.sophon.at"), ("HTTPS://API.Sophon.at/", "https://api.sophon.at"),
            ("ws://127.0.0.1:18789", "ws://127.0.0.1:18789"), ("http://[::1]:7749/x//", "http://[::1]:7749/x"),
        ])
    func plainForm(text: String, form: String) throws {
        #expect(try WebAddress(text).description == form)
    }

    @Test(
        "what cannot be used is told apart",
        arguments: [
            ("htp://x", WebAddress.Fault.scheme), ("api.sophon.at", .scheme), ("", .scheme), ("https://", .host),
            ("https://a b", .host), ("https://[::1", .host), ("https://[127.0.0.1]", .host), ("https://x/ y", .host),
            ("https://x:0", .port), ("https://x:65536", .port), ("https://x:", .port),
            ("https://x:+80", .port), ("https://me:secret@x", .credentials), ("https://me:a/b?c@x", .credentials),
            ("https://x?token=1", .query),
            ("https://x/#y", .query),
        ])
    func faults(text: String, fault: WebAddress.Fault) {
        #expect(throws: fault) { try WebAddress(text) }
    }

    @Test(
        "loopback and private networks are known",
        arguments: [
            "localhost", "relay.localhost", "127.0.0.1", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1",
            "169.254.1.1", "[::1]", "[fd00::1]", "[fe80::1]", "[::ffff:10.0.0.1]",
        ])
    func privateHosts(host: String) throws {
        #expect(try WebAddress("http://\(host)").isPrivate)
    }

    @Test(
        "everything else is public, also what only looks like a private address",
        arguments: [
            "relay.lan", "8.8.8.8", "172.32.0.1", "127.1", "010.0.0.1", "2130706433", "127.0.0.1.example.com",
            "[2001:db8::1]", "[::]", "[::ffff:8.8.8.8]", "localhost.example.com",
        ])
    func publicHosts(host: String) throws {
        #expect(try !WebAddress("http://\(host)").isPrivate)
    }

    @Test(
        "an IPv6 address is taken only whole",
        arguments: [
            "1:2:3:4:5:6:7", "1::2::3", ":1", "1:2:3:4:5:6:7:8:9", "12345::", "::1.2.3", "1:2:3:4:5:6:7::8", "::g",
        ])
    func brokenVersion6(text: String) { #expect(NumericAddress(text) == nil) }
}
