import Files
import Testing
import Vocabulary

@Suite("Relay credentials on disk")
struct CredentialStoreTests {
    private static let standard = ConnectionName("default")
    private static let relay = WebAddress(.https, "api.sophon.at")
    private let folder: Folder
    private var store: CredentialStore { CredentialStore(directory: folder.path) }

    init() throws { folder = try Folder() }

    @Test("the reference bridge's file is read as it is")
    func referenceFile() throws {
        try folder.put(
            """
            {
              "botToken": "inst_1:s_live_1", "installationId": "inst_1", "sophonBase": "https://api.sophon.at",
              "bridgeSecretHex": "aa", "bridgePubkeyHex": "bb", "savedAt": "2026-05-06T07:08:09.123Z"
            }
            """, "credentials.json")
        let found = try store.load(Self.standard, for: Self.relay)
        #expect(
            found?.credentials
                == RelayCredentials(
                    token: Secret("inst_1:s_live_1"), installation: "inst_1", relay: "https://api.sophon.at",
                    bridgeSecret: Secret("aa"), bridgePublicKey: "bb"))
        #expect(found?.warning == nil)
    }

    @Test("what is written has the reference bridge's form, and nothing for what there is not")
    func form() throws {
        try store.save(
            RelayCredentials(token: Secret("t"), installation: "inst_1", relay: "https://api.sophon.at"),
            for: Self.standard, wallMilliseconds: 1_770_000_000_123)
        #expect(
            folder.text("credentials.json") == """
                {
                  "botToken" : "t",
                  "installationId" : "inst_1",
                  "savedAt" : "2026-02-02T02:40:00.123Z",
                  "sophonBase" : "https://api.sophon.at"
                }
                """)
        #expect(folder.mode("credentials.json") == 0o600)
    }

    @Test("credentials for another relay are none; the same one written otherwise is the same")
    func otherRelay() throws {
        try store.save(
            RelayCredentials(token: Secret("t"), relay: "https://API.sophon.at/"), for: Self.standard,
            wallMilliseconds: 0)
        #expect(try store.load(Self.standard, for: Self.relay) != nil)
        #expect(try store.load(Self.standard, for: WebAddress(.http, "127.0.0.1", 8787)) == nil)
    }

    @Test("each connection has credentials of its own")
    func connections() throws {
        let work = ConnectionName("work")
        try store.save(RelayCredentials(token: Secret("a")), for: Self.standard, wallMilliseconds: 0)
        try store.save(RelayCredentials(token: Secret("b")), for: work, wallMilliseconds: 0)
        #expect(folder.names == ["credentials.json", "credentials.work.json"])
        #expect(try store.load(work, for: Self.relay)?.credentials.token == Secret("b"))
        #expect(try store.delete(work))
        #expect(try !store.delete(work))
        #expect(try store.load(Self.standard, for: Self.relay)?.credentials.token == Secret("a"))
    }

    @Test("a file without a token is no credentials, and a damaged one says what to do without showing itself")
    func damaged() throws {
        try folder.put(#"{"installationId":"inst_1"}"#, "credentials.json")
        #expect(try store.load(Self.standard, for: Self.relay) == nil)
        try folder.put(#"{"botToken":"inst_1:s_live_secret""#, "credentials.json")
        do {
            _ = try store.load(Self.standard, for: Self.relay)
            Issue.record("it was read")
        } catch {
            #expect(error.code == .malformed)
            #expect(error.message.contains("sophon-bridge pair"))
            #expect(!error.message.contains("s_live_secret"))
        }
    }
}
