import AgentKit
import Codex
import OpenClaw
import Oppi
import Testing

@Suite("Agents whose files are this machine's")
struct SharedFilesTests {
    private static let agents: [(plugin: any AgentPlugin, values: String)] = [
        (OpenClawPlugin(), #", "url": "ws://HOST:18789", "token": "secret""#),
        (OppiPlugin(), #", "url": "http://HOST:7749", "token": "secret""#),
        (CodexPlugin(), #", "url": "ws://HOST:4500""#),
    ]

    @Test("a loopback address is this machine, but for a listener that may be a container", arguments: agents.indices)
    func shared(_ index: Int) throws {
        let agent = Self.agents[index]
        func sharesFiles(at host: String, _ listener: String = "") throws -> Bool {
            try PluggedAgent.live(agent.plugin, agent.values.replacing("HOST", with: host) + listener).agent.sharesFiles
        }
        #expect(try sharesFiles(at: "127.0.0.1"))
        #expect(try sharesFiles(at: "127.0.0.1", #", "listener": "1001""#))
        #expect(try !sharesFiles(at: "127.0.0.1", #", "listener": "any""#))
        #expect(try !sharesFiles(at: "192.168.1.7"))
    }
}
