import AgentKit
import Agents
import FoundationEssentials
import Recording
import Testing

/// The half of the contract that needs no live agent.
@Suite("Recordings of agents")
struct RecordedAgentsTests {
    private static let folder = RealOutside.root + "/Tests/Fixtures/traces"

    static let kinds = AgentRegistry.all.kinds

    @Test("their frames are known as theirs, and say what was asked and answered", arguments: kinds)
    func recorded(_ kind: AgentKind) throws {
        let plugin = try #require(ContractTable.registry[kind: kind])
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter {
            $0.hasPrefix(kind.rawValue + "-")
        }
        #expect(!names.isEmpty)
        var heard = Frames.Heard()
        for name in names {
            let frames = Frames()
            let reader = try RecordingReader(file: Self.folder + "/" + name)
            while let entry = try reader.next() { frames.add(entry.direction == .incoming, Array(entry.frame)) }
            #expect(frames.strangers(to: plugin) == [], "\(name)")
            let said = frames.replayed(by: plugin)
            heard.prompts += said.prompts
            heard.tools += said.tools
            heard.approvals += said.approvals
            heard.decisions += said.decisions
            if said.text?.isEmpty == false { heard.text = said.text }
        }
        #expect(heard.text != nil && !heard.prompts.isEmpty)
        #expect(heard.tools > 0 && heard.approvals > 0 && heard.decisions > 0)
    }
}
