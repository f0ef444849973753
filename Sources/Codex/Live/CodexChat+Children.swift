import AgentKit
import BridgeModel
import JSONReading

// Sub-agents, which have threads and turns of their own (codex.md#sub-agents), and what a Stop ends besides the turn.
extension CodexChat {
    // MARK: Following

    /// They ask in threads of their own, which have to be resumed too.
    func followChildren(isStopping: Bool) -> [Order] {
        guard let place else { return [] }
        return thread.children.keys.sorted().map {
            let params = CodexFrames.resume($0, settings, folder: place.folder)
            return .request(.follow(child: $0, isStopping: isStopping), "thread/resume", params)
        }
    }

    /// The beginning of its turn was missed: the list has its name.
    func isFollowed(_ child: String, _ result: FrameNode, isStopping: Bool) -> [Order] {
        guard result["thread"]?["status"]?["type"]?.holds("active") == true else { return [] }
        let params = CodexFrames.turns(of: child, isWhole: true)
        return [.request(.childTurns(child: child, isStopping: isStopping), "thread/turns/list", params)]
    }

    mutating func childIsListed(_ child: String, _ result: FrameNode, isStopping: Bool) -> [Order] {
        let going = result["data"]?.elements.first { $0["status"]?.holds("inProgress") == true }
        guard let going, let id = going["id"]?.string else { return [] }
        thread.works(child, turn: id)
        guard isStopping || turn?.isStopping == true else { return [] }
        return [.request(.aside, "turn/interrupt", CodexFrames.interrupt(child, id))]
            + cleanUp(Self.openCalls(in: going))
    }

    // MARK: Stop

    /// Of the turn and its sub-agents.
    var openCalls: Set<String> { Set(thread.turn?.calls.openCalls.map(\.text) ?? []) }

    /// The parent's interrupt leaves the sub-agents' turns alone.
    func interrupts(of id: String, in thread: String) -> [Order] {
        guard let run = turn?.run else { return [] }
        let children = self.thread.children.sorted { $0.key < $1.key }.compactMap { child -> Order? in
            child.value.turn.map { .request(.aside, "turn/interrupt", CodexFrames.interrupt(child.key, $0)) }
        }
        return [.request(.interrupt(run), "turn/interrupt", CodexFrames.interrupt(thread, id))] + children
    }

    /// The turn that is followed or looked for is another one.
    func stopBeside(_ run: RunID, _ listed: FrameNode, _ id: String) -> [Order] {
        guard let place else { return [] }
        return [.request(.stop(run), "turn/interrupt", CodexFrames.interrupt(place.thread, id))]
            + cleanUp(Self.openCalls(in: listed))
    }

    static func openCalls(in listed: FrameNode) -> Set<String> {
        let open = (listed["items"]?.elements ?? []).filter { $0["status"]?.holds("inProgress") == true }
        return Set(open.compactMap { $0["id"]?.string })
    }

    /// Commands run on when their turn is interrupted, each as a terminal of its own thread.
    func cleanUp(_ calls: Set<String>) -> [Order] {
        guard let place, !calls.isEmpty else { return [] }
        return ([place.thread] + thread.children.keys.sorted()).map {
            .request(
                .terminals(thread: $0, calls: calls), "thread/backgroundTerminals/list", CodexFrames.thread($0))
        }
    }

    func terminals(_ result: FrameNode, _ thread: String, _ calls: Set<String>) -> [Order] {
        (result["data"]?.elements ?? []).compactMap { node in
            guard let call = node["itemId"]?.string, calls.contains(call), let process = node["processId"]?.string
            else { return nil }
            return .request(
                .aside, "thread/backgroundTerminals/terminate", CodexFrames.terminate(thread, process))
        }
    }
}
