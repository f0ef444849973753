import Files
import OpenClaw
import Testing
import Vocabulary

@Suite("The bridge's device towards OpenClaw")
struct OpenClawFilesTests {
    private static let gateway = "ws://127.0.0.1:18789"
    private let folder: Folder
    private var files: OpenClawDeviceFiles { OpenClawDeviceFiles(directory: folder.path + "/config") }

    init() throws { folder = try Folder() }

    @Test("a key is made once, kept 0600, and read ever after")
    func key() throws {
        let seed = (0..<32).map { UInt8($0) * 7 }
        #expect(try files.seed(wallMilliseconds: 0) { seed }.seed == seed)
        #expect(folder.mode("config/openclaw-device.json") == 0o600)
        let again = try files.seed(wallMilliseconds: 0) {
            Issue.record("made once more")
            return []
        }
        #expect(again.seed == seed)
    }

    @Test("a damaged key is not replaced in silence", arguments: ["", "{}", #"{"seedHex":"00","createdAt":"x"}"#])
    func damagedKey(text: String) throws {
        try folder.put(text, "config/openclaw-device.json")
        #expect(throws: FileError.self) { try files.seed(wallMilliseconds: 0) { [UInt8](repeating: 1, count: 32) } }
        #expect(folder.text("config/openclaw-device.json") == text)
    }

    /// Saves as the bridge does: reads the file, changes it, and writes it whole.
    private func save(
        _ token: String, _ gateway: String, device: String = "d1", wallMilliseconds: Int64 = 0
    ) throws {
        let name = OpenClawDeviceFiles.tokensName
        var tokens = try OpenClawDeviceFiles.Tokens(folder.text("config/" + name).map { Secret($0) })
        tokens.add(
            .init(gateway: gateway, deviceID: device, role: "operator", scopes: ["operator.read"], token: token),
            wallMilliseconds: wallMilliseconds)
        try folder.put(tokens.secret.text, "config/" + name)
    }

    @Test("a device's token is kept for each gateway, and is nobody else's")
    func tokens() throws {
        #expect(try files.token(gateway: Self.gateway, device: "d1") == nil)
        try save("a", Self.gateway)
        try save("b", "wss://other.example")
        try save("c", Self.gateway)
        #expect(try files.token(gateway: Self.gateway, device: "d1") == Secret("c"))
        #expect(try files.token(gateway: Self.gateway, device: "d2") == nil)
        #expect(try files.token(gateway: "wss://other.example", device: "d1") == Secret("b"))
    }

    @Test("a damaged file of tokens is not replaced in silence", arguments: ["", "[]", #"{"tokens":3}"#])
    func damagedTokens(text: String) throws {
        #expect(throws: FileError.self) { try OpenClawDeviceFiles.Tokens(Secret(text)) }
    }

    @Test("beyond 64 gateways the oldest is forgotten")
    func manyGateways() throws {
        for number in 0..<66 {
            try save("t", "ws://\(number)", device: "d", wallMilliseconds: Int64(number) * 1_000)
        }
        #expect(try files.token(gateway: "ws://1", device: "d") == nil)
        #expect(try files.token(gateway: "ws://2", device: "d") != nil)
    }
}
