import AgentKit
import JSONReading
import Testing
import Vocabulary

@testable import Codex

@Suite("What doctor asks of Codex")
struct CodexCheckTests {
    private static let isHeld = WorkResult.failed(WorkFailure(.full, "it is locked"))
    private static let version = WorkResult.ran(.exited(0), output: Array("codex-cli 0.163.0".utf8), errors: "")

    private static func own() -> CodexCheck {
        let own = CodexSettings.Own(
            command: ["codex"], folder: "/", socket: "/s", log: "/l", lock: "/state/start.lock", fingerprint: "F")
        return CodexCheck(CodexSettings(own, folder: nil), connection: "default")
    }

    /// A check with no server running.
    private static func begun() -> CodexCheck {
        var check = own()
        _ = check.begin(at: .zero)
        _ = check.happened(.failed(message: "there is none", .absent), on: CodexCheck.probe, at: .zero)
        return check
    }

    private static func said(_ check: inout CodexCheck, _ frame: String) -> [AgentOrder] {
        var bytes = Array(frame.utf8)
        bytes.reserveCapacity(bytes.count + 64)
        let parser = FrameParser()
        return bytes.withUnsafeBytes { buffer in
            parser.parse(buffer, capacity: bytes.capacity).flatMap(CodexMessage.init).map { check.received($0) } ?? []
        }
    }

    private static func words(_ orders: [AgentOrder]) -> [String] {
        orders.compactMap { order in
            switch order {
            case .work(_, .lock(let path)): "lock \(path)"
            case .work(_, .unlock(let path)): "unlock \(path)"
            case .work(_, .run): "version"
            case .open: "open"
            case .close: "close"
            case .finding(let finding): "\(finding.outcome) \(finding.message)"
            case .done: "done"
            default: nil
            }
        }
    }

    @Test("its server waits for those of bridges that start, and lets others start when it has answered")
    func waits() {
        var check = Self.begun()
        #expect(Self.words(check.finished(Self.version, at: .zero)) == ["lock /state/start.lock"])
        #expect(Self.words(check.finished(Self.isHeld, at: .zero)).isEmpty)
        let later = check.nextDeadline ?? .zero
        #expect(later > .zero && later <= .zero + .seconds(1))
        #expect(Self.words(check.timePassed(at: later)) == ["lock /state/start.lock"])
        #expect(Self.words(check.finished(.done, at: later)) == ["open"])
        _ = check.happened(.spawned(ProcessName(id: 7, startTicks: 1)), on: CodexCheck.channel, at: later)
        let said = Self.said(&check, #"{"id":1,"result":{"userAgent":"sophon_bridge/0.163.0"}}"#)
        #expect(Self.words(said) == ["unlock /state/start.lock"])
    }

    @Test("it does not wait without end, and starts nothing beside another start")
    func isHeld() {
        var check = Self.begun()
        _ = check.finished(Self.version, at: .zero)
        let said = Self.words(check.finished(Self.isHeld, at: .zero + .seconds(11)))
        #expect(said.first?.contains("failed") == true && said.last == "done" && !said.contains("open"))
    }

    @Test("the socket of the bridge's server is opened to see whose it is, and nothing is sent over it")
    func probes() {
        var check = Self.own()
        #expect(Self.words(check.begin(at: .zero)) == ["open"])
        #expect(Self.words(check.happened(.opened, on: CodexCheck.probe, at: .zero)) == ["close", "version"])
        #expect(check.happened(.closed(code: 1000, reason: ""), on: CodexCheck.probe, at: .zero).isEmpty)
        var other = Self.own()
        _ = other.begin(at: .zero)
        let said = other.happened(.failed(message: "of user 1001", .foreignListener), on: CodexCheck.probe, at: .zero)
        #expect(Self.words(said) == ["failed of user 1001", "done"])
        guard case .finding(let finding) = said[0] else { return }
        #expect(finding.check == .agentListener && finding.exitCode == .agentUnreachable && finding.remedy != nil)
    }

    @Test("a named server of a version that run refuses is not called good")
    func tooOld() {
        let settings = CodexSettings(
            server: .named(.socket(path: "/s"), nil), folder: nil, sandbox: "workspace-write",
            approvalPolicy: "on-request", version: "1")
        var check = CodexCheck(settings, connection: "default")
        _ = check.begin(at: .zero)
        _ = check.happened(.opened, on: CodexCheck.channel, at: .zero)
        let said = Self.words(Self.said(&check, #"{"id":1,"result":{"userAgent":"x/0.120.0"}}"#))
        #expect(said.first?.contains("0.120.0 is too old") == true && said.last == "done")
    }
}
