import BridgeService
import ConfigurationFile
import Testing

@Suite("Who may listen, in the configuration")
struct ListenerConfigurationTests {
    private static func file(_ kind: String, _ listener: String) -> String {
        connection(#""agent": {"kind": "\#(kind)", "listener": \#(listener)}"#)
    }

    @Test("a user's name or number, own and any are taken", arguments: ["openclaw", "oppi", "codex"])
    func taken(kind: String) {
        for listener in ["own", "any", "claw", "_claw-1", "1001", "0"] {
            #expect(faults(Self.file(kind, #""\#(listener)""#)).isEmpty, "\(listener)")
        }
    }

    @Test("everything else is a fault of that key", arguments: ["openclaw", "oppi", "codex"])
    func refused(kind: String) {
        let long = String(repeating: "u", count: 65)
        let bad = [#""""#, #""a b""#, #""a:b""#, #""a\nb""#, #""é""#, "1001", "true", #"["own"]"#, "{}"]
        for listener in bad + [#""\#(long)""#] {
            let found = faults(Self.file(kind, listener))
            #expect(found.map(\.path) == ["connections[0].agent.listener"], "\(listener)")
            #expect(found.first?.expected.contains("any") == true, "\(found)")
        }
    }

    @Test("pi has no port to listen on")
    func pi() {
        #expect(faults(Self.file("pi", #""own""#)).map(\.path) == ["connections[0].agent.listener"])
    }
}
