import Testing
import Vocabulary

@testable import BridgeCore

@Suite("Files of tool calls on their way through the bridge")
struct ToolFilesTests {
    private static let call = ToolCallID("c")
    private static let run = RunID("r1")

    private static func bridge(_ sealing: TurnSealing = .open) -> Bridge {
        var opening = BridgeFilesTests.opening(1, files: 0)
        opening.sealing = sealing
        var bridge = Bridge(settings: BridgeSettings())
        bridge.turnBegins(opening, at: .at(1))
        bridge.sendAnswered(.accepted(run: run), run: run, at: .at(2))
        return bridge
    }

    private static func says(_ event: ToolEvent, to bridge: inout Bridge) -> [String] {
        bridge.agentSays(RunSignal(run: run, session: nil, event: .tool(event)), at: .at(3))
        return bridge.takeOrders().compactMap { order in
            guard case .filesTouched(let session, let sealing, let files) = order else { return nil }
            return "\(session) \(sealing == .open ? "open" : "sealed"): "
                + files.map { "\($0.use) \($0.path)" }.joined(separator: ", ")
        }
    }

    private static func start(_ path: String, _ channel: ToolChannel = .call) -> ToolEvent {
        .started(ToolStart(call: call, channel: channel, name: "write", file: ToolFile(.write, path)))
    }

    private static func end(
        _ status: ToolResult.Status = .completed, _ channel: ToolChannel = .call, files: [ToolFile] = []
    ) -> ToolEvent {
        var result = ToolResult(call: call, channel: channel, status: status)
        result.files = files
        return .finished(result)
    }

    @Test("a file is touched when its call has ended well, once, whatever channels say so")
    func once() {
        var bridge = Self.bridge()
        #expect(Self.says(Self.start("/a"), to: &bridge) == [])
        #expect(Self.says(.started(ToolStart(call: Self.call, channel: .item, name: "write")), to: &bridge) == [])
        #expect(Self.says(Self.end(.completed, .item), to: &bridge) == ["ses_1 open: write /a"])
        #expect(Self.says(Self.end(), to: &bridge) == [])
    }

    @Test("a call that failed has touched nothing", arguments: [ToolResult.Status.failed, .cancelled])
    func failed(status: ToolResult.Status) {
        var bridge = Self.bridge()
        _ = Self.says(Self.start("/a"), to: &bridge)
        #expect(Self.says(Self.end(status), to: &bridge) == [])
        #expect(Self.says(Self.end(), to: &bridge) == [])
    }

    @Test("the newest path of a call counts, and what its progress and its end say goes with it")
    func more() {
        var bridge = Self.bridge(.sealed(KeyName("k1")))
        _ = Self.says(Self.start("/a"), to: &bridge)
        _ = Self.says(Self.start("/ab"), to: &bridge)
        var progress = ToolProgress(call: Self.call)
        progress.files = [ToolFile(.edit, "/p")]
        #expect(Self.says(.progress(progress), to: &bridge) == ["ses_1 sealed: edit /p"])
        #expect(
            Self.says(Self.end(files: [ToolFile(.edit, "/e")]), to: &bridge) == ["ses_1 sealed: write /ab, edit /e"])
    }

    @Test("calls of runs that are over are forgotten")
    func forgotten() {
        var files = OpenToolFiles()
        let turn = TurnID("t")
        _ = files.heard(Self.start("/a"), of: turn)
        files.closed(TurnID("other"))
        #expect(files.heard(Self.end(), of: turn).count == 1)
        _ = files.heard(Self.start("/a"), of: turn)
        files.closed(turn)
        #expect(files.heard(Self.end(), of: turn) == [])
    }
}
