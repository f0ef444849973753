import Testing
import Vocabulary

@Suite("Addresses of the public internet")
struct PublicAddressTests {
    @Test(
        "are hosts anywhere",
        arguments: [
            "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.1.2.3",
            "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2001:4860:4860::8888", "2a00::1",
            "64:ff9b::8.8.8.8",
        ])
    func hosts(text: String) throws { #expect(try #require(NumericAddress(text)).isPublic) }

    @Test(
        "are nothing else",
        arguments: [
            // Addresses of this machine and network.
            "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "::", "::1",
            // Private and shared networks.
            "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.127.255.255", "fc00::1",
            "fd12:3456::1", "fec0::1",
            // Link-local addresses, at which clouds serve their secrets.
            "169.254.169.254", "169.254.0.1", "fe80::1", "febf::1",
            // Addresses of many hosts, of none, of tests and of documents.
            "224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "ff02::1", "192.0.0.8", "192.0.2.1",
            "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff:fff::1",
            "100::1", "5f00::1",
            // IPv6 addresses that contain an IPv4 address.
            "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:169.254.169.254", "::7f00:1", "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:808:808::1", "2001::1", "2001:0:7f00:1::",
        ])
    func others(text: String) throws { #expect(try !#require(NumericAddress(text)).isPublic) }
}
