import AgentKit
import Testing
import Vocabulary

@testable import AgentHosting

@Suite("Children as the journal names them")
struct KeptProcessTests {
    private let kind = AgentKind(rawValue: "codex")
    private let plan = ChildPlan(
        arguments: ["/opt/agents/codex", "app-server"], folder: "/", life: .outlives, pipes: .none(log: "/dev/null"))

    @Test("what is written is read again, with its life and its program")
    func roundTrip() throws {
        let name = ProcessName(id: 812, startTicks: 9_000)
        guard case .setting(let setting, let value?) = KeptFacts(kind).entry(of: name, plan) else {
            Issue.record("no setting")
            return
        }
        let read = try #require(KeptProcess(setting: setting, value: value))
        #expect(read.name == name)
        #expect(read.agent == kind)
        #expect(read.life == .outlives)
        #expect(read.program == "codex")
    }

    @Test("one that an earlier version wrote has no life, and comes with the past all the same")
    func earlierVersion() throws {
        let setting = Fact("agent codex process 812 9000", [])
        let read = try #require(KeptProcess(setting: setting.name, value: []))
        #expect(read.life == nil)
        let past = KeptFacts(kind).past([setting, Fact("agent codex thread:x", [1])], turns: [])
        #expect(past.processes == [ProcessName(id: 812, startTicks: 9_000)])
        #expect(past.facts == [Fact("thread:x", [1])])
    }

    @Test(
        "nothing else is taken for a process",
        arguments: [
            "agent codex process 812", "agent codex process x 9", "agent codex process 1 9", "agent codex process -4 9",
            "agent codex thread: process 812 9000", "process 812 9000", "owed:process 812 9000",
        ])
    func others(setting: String) { #expect(KeptProcess(setting: setting, value: []) == nil) }

    @Test("its end takes away what its beginning wrote")
    func ended() {
        let name = ProcessName(id: 812, startTicks: 9_000)
        guard case .setting(let setting, _) = KeptFacts(kind).entry(of: name, plan),
            case .setting(let ended, nil)? = KeptFacts(kind).entries(ofEnded: [name]).first
        else {
            Issue.record("no settings")
            return
        }
        #expect(setting == ended)
    }
}
