import AgentKit
import JSONReading
import OpenClaw
import Testing
import Vocabulary

@testable import Codex
@testable import Oppi

@Suite("Another user's program at an agent's port")
struct ListenerTests {
    private static let sentence = "port 18789 of this machine is held by user 1001"
    private static let now = Occasion(now: .zero, wallMilliseconds: 0, random: 7)

    private static func findings(_ orders: [AgentOrder]) -> [String] {
        orders.compactMap { order in
            switch order {
            case .finding(let finding):
                "\(finding.outcome) \(finding.check.rawValue) \(finding.exitCode?.rawValue ?? 0) \(finding.message)"
            case .done: "done"
            default: nil
            }
        }
    }

    private static let expected = ["failed agent_listener 12 \(sentence)", "done"]

    @Test("doctor names it for OpenClaw")
    func openClaw() {
        let settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: "secret",
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        let check = GatewayCheck(of: WebAddress(.ws, "127.0.0.1", 18789), connection: "default", known: [])
        var machine = OpenClawMachine(settings, check)
        _ = machine.check(Self.now)
        let orders = machine.happened(.failed(message: Self.sentence, .foreignListener), on: ChannelID(1), Self.now)
        #expect(Self.findings(orders) == Self.expected)
    }

    @Test("doctor names it for Oppi")
    func oppi() {
        let settings = OppiSettings(address: WebAddress(.http, "127.0.0.1", 7749), token: Secret("secret"))
        var machine = OppiMachine(settings, checkOf: "default")
        _ = machine.check(Self.now)
        let orders = machine.happened(.failed(message: Self.sentence, .foreignListener), on: ChannelID(1), Self.now)
        #expect(Self.findings(orders) == Self.expected)
    }

    @Test("doctor names it for a Codex that is named by its address")
    func codex() {
        let settings = CodexSettings(
            server: .named(.web(WebAddress(.ws, "127.0.0.1", 4500)), Secret("secret")), folder: nil,
            sandbox: "workspace-write", approvalPolicy: "on-request", version: "1.0.0")
        var check = CodexCheck(settings, connection: "default")
        _ = check.begin(at: .zero)
        let orders = check.happened(
            .failed(message: Self.sentence, .foreignListener), on: CodexCheck.channel, at: .zero)
        #expect(Self.findings(orders) == Self.expected)
    }

    @Test("a file of certificates or a pin leaves the listener as it is configured: the address may be without TLS")
    func beside() {
        var values = OppiValues()
        values.listener = .any
        values.pin = [UInt8](repeating: 7, count: 32)
        let oppi = OppiSettings(values, isAddressSet: true, displayName: "Test bridge")
        #expect(oppi.trust == Trust(.leaf([UInt8](repeating: 7, count: 32)), listener: .any))
        values.pin = nil
        values.authorityFile = "/ca.pem"
        #expect(
            OppiSettings(values, isAddressSet: true, displayName: "Test bridge").trust
                == Trust(.authority(file: "/ca.pem"), listener: .any))
        let settings = OpenClawSettings(
            url: "ws://127.0.0.1:18789", token: "secret",
            client: OpenClawClient(displayName: "Test bridge", version: "1.0.0"))
        var machine = OpenClawMachine(settings, authorityFile: "/ca.pem", listener: .any)
        let plans = machine.begin(AgentPast(), Self.now).compactMap { order in
            if case .open(_, .socket(let plan)) = order { plan.trust } else { nil }
        }
        #expect(plans == [Trust(.authority(file: "/ca.pem"), listener: .any)])
    }
}
