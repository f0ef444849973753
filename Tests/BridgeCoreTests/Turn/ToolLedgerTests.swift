import Testing
import Vocabulary

@testable import BridgeCore

@Suite("The tool cards of a turn")
struct ToolLedgerTests {
    private let call = ToolCallID("c1")
    private let task = TaskID("c1")
    private var tools = ToolLedger()

    private func start(_ channel: ToolChannel = .call, title: String? = nil, _ arguments: String? = nil) -> ToolStart {
        ToolStart(
            call: call, channel: channel, name: "exec", title: title,
            arguments: arguments.map(JSONText.init(unchecked:)))
    }
    private func result(
        _ channel: ToolChannel = .call, _ status: ToolResult.Status = .completed, _ result: String? = nil
    ) -> ToolResult {
        ToolResult(call: call, channel: channel, status: status, result: result.map { JSONText.string($0) })
    }
    private func ended(_ status: ToolResult.Status, label: String? = nil, _ result: String? = nil) -> Post {
        .taskEnded(
            TaskEnd(
                task: task, name: "exec", status: status, label: label, result: result.map { JSONText.string($0) }))
    }

    @Test(
        "output that the end does not tell goes with it, beside what it does tell",
        arguments: [nil, #"{"exitCode":0}"#])
    mutating func outputApart(details: String?) {
        _ = tools.started(start())
        _ = tools.progressed(ToolProgress(call: call, output: "4", append: true))
        _ = tools.progressed(ToolProgress(call: call, output: "2\n", append: true))
        var end = ToolResult(call: call, status: .completed, result: details.map(JSONText.init(unchecked:)))
        end.lacksOutput = true
        let whole = details.map { #"{"output":"42\n","details":\#($0)}"# } ?? #""42\n""#
        #expect(
            tools.finished(end)
                == .taskEnded(
                    TaskEnd(task: task, name: "exec", status: .completed, result: JSONText(unchecked: whole))))
    }

    @Test("one call over three channels is one card with the richest result")
    mutating func channels() {
        #expect(
            tools.started(start(.call, #"{"command":"ls"}"#))
                == .taskStarted(
                    TaskStart(
                        task: task, kind: "exec", label: "exec", arguments: JSONText(unchecked: #"{"command":"ls"}"#))))
        #expect(tools.started(start(.item)) == nil)
        #expect(tools.started(start(.command, title: "List files")) == nil)
        #expect(
            tools.progressed(ToolProgress(call: call, title: "exec", output: "a"))
                == .taskProgress(TaskProgress(task: task, label: "List files", partialResult: .string("a"))))
        #expect(tools.finished(result(.call, .completed, "a b")) == ended(.completed, "a b"))
        #expect(tools.finished(result(.item)) == nil)
        #expect(tools.finished(result(.command)) == nil)
        #expect(!tools.hasOpen)
    }

    @Test("an item that returned waits for its command")
    mutating func itemWaits() {
        _ = tools.started(start(.item))
        _ = tools.started(start(.command))
        #expect(tools.finished(result(.item, .completed, "from the item")) == nil)
        #expect(tools.finished(result(.command, .failed)) == ended(.failed, "from the item"))
    }

    @Test("a command that never ends leaves the item's word")
    mutating func itemHeld() {
        _ = tools.started(start(.item))
        _ = tools.started(start(.command))
        _ = tools.finished(result(.item, .completed, "ok"))
        #expect(tools.finishAll(status: .failed) == [ended(.completed, "ok")])
    }

    @Test("a paused call is finished by its approval and by nothing else")
    mutating func paused() {
        _ = tools.started(start())
        tools.paused(call, for: ApprovalID("a1"))
        #expect(tools.finished(result(.item)) == nil)
        #expect(tools.approvalSettled(ApprovalID("a2"), status: .completed, label: nil) == [])
        #expect(
            tools.approvalSettled(ApprovalID("a1"), status: .cancelled, label: "denied")
                == [ended(.cancelled, label: "denied")])
        #expect(tools.approvalSettled(ApprovalID("a1"), status: .completed, label: nil) == [])
        #expect(tools.finishAll(status: .failed) == [])
    }

    @Test("a failed attempt's calls are finished, but not those that wait for an approval")
    mutating func attemptFailed() {
        _ = tools.started(start())
        _ = tools.started(ToolStart(call: ToolCallID("c2"), name: "exec"))
        tools.paused(call, for: ApprovalID("a1"))
        #expect(
            tools.attemptFailed() == [.taskEnded(TaskEnd(task: TaskID("c2"), name: "exec", status: .failed))])
        #expect(tools.hasOpen)
    }

    @Test("an end without a start, and progress after the end, go nowhere")
    mutating func orphans() {
        #expect(tools.finished(result()) == nil)
        #expect(tools.progressed(ToolProgress(call: call, output: "x")) == nil)
        _ = tools.started(start())
        _ = tools.finished(result())
        #expect(tools.progressed(ToolProgress(call: call, output: "x")) == nil)
        #expect(tools.started(start()) == nil)
    }

    @Test("output is appended or replaced, and of a long one the end is shown")
    mutating func progress() {
        _ = tools.started(start())
        func shown(_ text: String) -> Post { .taskProgress(TaskProgress(task: task, partialResult: .string(text))) }
        #expect(tools.progressed(ToolProgress(call: call, output: "a", append: true)) == shown("a"))
        #expect(tools.progressed(ToolProgress(call: call, output: "b", append: true)) == shown("ab"))
        #expect(tools.progressed(ToolProgress(call: call, output: "c")) == shown("c"))
        #expect(tools.progressed(ToolProgress(call: call)) == nil)
        let long = String(repeating: "ä", count: 20_000) + "!"
        guard case .taskProgress(let said) = tools.progressed(ToolProgress(call: call, output: long)) else {
            return #expect(Bool(false), "no progress")
        }
        let text = said.partialResult?.text ?? ""
        #expect(text.hasPrefix("\"(cut) …ä"))
        #expect(text.hasSuffix("ä!\""))
        #expect(text.utf8.count <= ToolLedger.progressLimit + 2)
    }

    @Test("the same output on another channel is not said twice")
    mutating func sameOutput() {
        _ = tools.started(start())
        #expect(tools.progressed(ToolProgress(call: call, channel: .command, output: "a\n", append: true)) != nil)
        #expect(tools.progressed(ToolProgress(call: call, channel: .item, output: "a")) == nil)
        #expect(tools.progressed(ToolProgress(call: call, output: "a\n")) == nil)
        #expect(tools.progressed(ToolProgress(call: call, channel: .command, output: "b\n", append: true)) == nil)
        #expect(
            tools.progressed(ToolProgress(call: call, output: "a\nb\n"))
                == .taskProgress(TaskProgress(task: task, partialResult: .string("a\nb\n"))))
    }

    @Test("a share is between nothing and all, and said once")
    mutating func percent() {
        _ = tools.started(start())
        #expect(
            tools.progressed(ToolProgress(call: call, percent: 130))
                == .taskProgress(TaskProgress(task: task, percent: 100)))
        #expect(tools.progressed(ToolProgress(call: call, percent: 100)) == nil)
    }

    @Test("a title that was not shown yet goes with the end")
    mutating func lateTitle() {
        _ = tools.started(start())
        _ = tools.started(start(.command, title: "List files"))
        #expect(tools.finished(result()) == ended(.completed, label: "List files"))
    }

    @Test("arguments, results, labels and errors are cut with a mark")
    mutating func cuts() {
        let long = String(repeating: "x", count: 200_000)
        guard case .taskStarted(let begun) = tools.started(start(title: long, "\"\(long)\"")) else {
            return #expect(Bool(false), "no card")
        }
        #expect(begun.label?.utf8.count == ToolLedger.labelLimit)
        #expect(begun.label?.hasSuffix("… (cut)") == true)
        #expect(begun.arguments.map { $0.text.utf8.count <= ToolLedger.payloadLimit } == true)
        #expect(begun.arguments?.text.hasPrefix(#""\"xxx"#) == true)
        let failed = ToolResult(call: call, status: .failed, result: .string(long), error: long)
        guard case .taskEnded(let ended) = tools.finished(failed) else { return #expect(Bool(false), "no end") }
        #expect(ended.error?.utf8.count == 4_000)
        #expect(ended.result.map { $0.text.utf8.count <= ToolLedger.payloadLimit } == true)
    }

    @Test("a long id is shortened, and two that differ at their beginning stay apart")
    mutating func ids() {
        let tail = String(repeating: "z", count: 400)
        let posts = ["a", "b"].map { tools.started(ToolStart(call: ToolCallID($0 + tail), name: "exec")) }
        let tasks = posts.compactMap { if case .taskStarted(let begun) = $0 { begun.task } else { nil } }
        #expect(Set(tasks).count == 2)
        #expect(tasks.allSatisfy { $0.text.unicodeScalars.count <= ToolLedger.taskLimit })
    }

    @Test("there is an end to the cards of one turn")
    mutating func limit() {
        for number in 0..<ToolLedger.callLimit {
            #expect(tools.started(ToolStart(call: ToolCallID("n\(number)"), name: "exec")) != nil)
        }
        #expect(tools.started(start()) == nil)
        #expect(tools.finishAll(status: .failed).count == ToolLedger.callLimit)
    }
}
