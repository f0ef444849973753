import OpenClaw
import Testing
import Vocabulary

@Suite("Finding OpenClaw")
struct OpenClawDiscoveryTests {
    private static let config = """
        {
          // A comment, as OpenClaw allows it.
          gateway: { port: 19001, bind: "loopback", auth: { mode: "token", token: "from-file" } },
        }
        """
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func find(
        _ address: WebAddress? = nil, _ token: String? = nil, environment: [String: String] = [:]
    ) -> OpenClawDiscovery.Found {
        OpenClawDiscovery(stateDirectory: folder.path, environment: environment)
            .find(address: address, token: token.map { Secret($0) })
    }

    @Test("port and token are taken from openclaw.json")
    func fromFile() throws {
        try folder.put(Self.config, "openclaw.json")
        #expect(
            find()
                == OpenClawDiscovery.Found(
                    address: WebAddress(.ws, "127.0.0.1", 19001), token: Secret("from-file"),
                    tokenSource: folder.path + "/openclaw.json"))
    }

    @Test("what was set wins, each value for itself")
    func precedence() throws {
        try folder.put(Self.config, "openclaw.json")
        let address = WebAddress(.ws, "localhost", 20000)
        #expect(find(address).address == address)
        #expect(find(address).token == Secret("from-file"))
        #expect(find(nil, "set").address == WebAddress(.ws, "127.0.0.1", 19001))
        #expect(find(nil, "set").token == Secret("set"))
        #expect(find(nil, "set").tokenSource == "OPENCLAW_TOKEN")
    }

    @Test(
        "the local gateway's token is not for another machine",
        arguments: ["10.0.0.7", "claw.example", "127.evil.example", "127.0.0.1.evil.example", "claw.localhost"])
    func elsewhere(host: String) throws {
        try folder.put(Self.config, "openclaw.json")
        #expect(find(WebAddress(.wss, host)).token == nil)
    }

    @Test("a password is a password, and no mode but token or password has a secret")
    func modes() throws {
        try folder.put(#"{"gateway":{"auth":{"mode":"password","password":"p","token":"t"}}}"#, "openclaw.json")
        #expect(find().password == Secret("p"))
        #expect(find().token == nil)
        try folder.put(#"{"gateway":{"auth":{"mode":"none","token":"t"}}}"#, "openclaw.json")
        try folder.put(#"{"n":{"token":"old"}}"#, "nodes/paired.json")
        #expect(find().token == nil)
    }

    @Test("an early OpenClaw's paired nodes are the last resort, the same one each time")
    func pairedNodes() throws {
        try folder.put(#"{"gateway":{"port":"odd"}}"#, "openclaw.json")
        try folder.put(#"{"b":{"token":"second"},"a":{"token":"first"},"0":{"token":""},"1":7}"#, "nodes/paired.json")
        #expect(find().token == Secret("first"))
        #expect(find().tokenSource == folder.path + "/nodes/paired.json")
        #expect(find().address == WebAddress(.ws, "127.0.0.1", 18789))
    }

    @Test("a secret that stands in a variable is taken from there, or missed aloud")
    func variable() throws {
        try folder.put(#"{"gateway":{"auth":{"mode":"token","token":"${CLAW}"}}}"#, "openclaw.json")
        #expect(find(environment: ["CLAW": "from-environment"]).token == Secret("from-environment"))
        #expect(find().token == nil)
        #expect(find().warnings.count == 1)
    }

    @Test("nothing there is nothing found; what is not understood, or open to others, is told")
    func warnings() throws {
        #expect(find() == OpenClawDiscovery.Found(address: WebAddress(.ws, "127.0.0.1", 18789)))
        try folder.put("gateway", "openclaw.json")
        #expect(find().warnings.count == 1)
        try folder.put(Self.config, "openclaw.json", mode: 0o644)
        #expect(find().warnings.first?.contains("chmod") == true)
        #expect(find().token != nil)
    }
}
