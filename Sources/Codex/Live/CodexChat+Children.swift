import AgentKit
import BridgeModel
import JSONReading

// Sub-agents, which have threads and turns of their own (codex.md#sub-agents), and what a Stop ends besides the turn.
extension CodexChat {
    // MARK: Following

    /// They ask in threads of their own, which have to be resumed too.
    mutating func followChildren(isStopping: Bool) -> [Order] {
        follow(thread.children.keys.sorted(), isStopping: isStopping)
    }

    private mutating func follow(_ children: [String], isStopping: Bool) -> [Order] {
        guard let place else { return [] }
        for child in children { thread.follows(child, .asked) }
        return children.map {
            let params = CodexFrames.resume($0, settings, folder: place.folder, showsTurn: bearsWhole)
            return .request(.follow(child: $0, isStopping: isStopping), "thread/resume", params)
        }
    }

    /// The beginning of its turn was missed: the list has its name.
    mutating func isFollowed(_ child: String, _ result: FrameNode, isStopping: Bool, at now: Instant) -> [Order] {
        thread.changes.resumed(result)
        thread.follows(child, .no)
        link.asksDue = link.asksDue == nil ? nil : now + CodexTurn.lookAgain
        guard result["thread"]?["status"]?["type"]?.holds("active") == true else { return [] }
        let params = CodexFrames.turns(of: child, isWhole: true)
        return [.request(.childTurns(child: child, isStopping: isStopping), "thread/turns/list", params)]
    }

    /// An overloaded server, or one that did not answer, is asked again: what the sub-agent asks waits for that. Else there is nothing to
    /// be followed.
    mutating func isNotFollowed(_ child: String, isLater: Bool, at now: Instant) -> [Order] {
        thread.follows(child, isLater ? .refused : .no)
        if isLater { link.asksDue = now + CodexTurn.lookAgain }
        return []
    }

    /// Asks count as answered that were not asked again; those of sub-agents once their threads are followed.
    mutating func asksAreDue(at now: Instant) -> [Order] {
        guard !thread.areFollowed else {
            link.asksDue = nil
            return say(asks.closeUnasked())
        }
        link.asksDue = now + CodexTurn.lookAgain
        let refused = thread.children.filter { $0.value.following == .refused }.keys.sorted()
        return follow(refused, isStopping: turn?.isStopping == true)
    }

    mutating func childIsListed(_ child: String, _ result: FrameNode, isStopping: Bool) -> [Order] {
        let going = result["data"]?.elements.first { $0["status"]?.holds("inProgress") == true }
        // Unless it is known to be of an earlier turn.
        let isOwn = thread.children[child]?.isOwn ?? true
        guard let going, let id = going["id"]?.string else {
            return isStopping && isOwn ? [terminals(of: child, nil)] : []
        }
        thread.works(child, turn: id)
        guard isStopping || turn?.isStopping == true else { return [] }
        let listed = (going["items"]?.elements ?? []).compactMap { $0["id"]?.string }
        return [
            .request(.aside, "turn/interrupt", CodexFrames.interrupt(child, id)),
            terminals(of: child, isOwn ? nil : Set(listed)),
        ]
    }

    // MARK: Stop

    /// Of the turn and its sub-agents.
    var openCalls: Set<String> { Set(thread.turn?.calls.openItems ?? []) }

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
        let calls = Self.openCalls(in: listed)
        return [.request(.stop(run), "turn/interrupt", CodexFrames.interrupt(place.thread, id))]
            + (calls.isEmpty ? [] : [terminals(of: place.thread, calls)]) + endTurns(of: CodexThread.begun(in: listed))
    }

    static func openCalls(in listed: FrameNode) -> Set<String> {
        let open = (listed["items"]?.elements ?? []).filter { $0["status"]?.holds("inProgress") == true }
        return Set(open.compactMap { $0["id"]?.string })
    }

    /// Commands run on when their turn is interrupted, each as a terminal of its own thread. Those of a sub-agent that the turn has begun
    /// are all of this turn, also where an earlier process saw them begin; its turn is ended before them, or it would begin others. Nil: the
    /// turn is not stopped. `isFound`: the interrupts of its sub-agents may be lost.
    func cleanUp(_ calls: Set<String>?, isFound: Bool = false) -> [Order] {
        guard let place, let calls else { return [] }
        let own = calls.isEmpty ? [] : [terminals(of: place.thread, calls)]
        return own
            + thread.children.sorted { $0.key < $1.key }.flatMap { id, child -> [Order] in
                let known = calls.isEmpty ? [] : [terminals(of: id, calls)]
                if isFound { return (child.isOwn ? [] : known) + endTurns(of: [id]) }
                guard child.isOwn else { return known }
                return child.turn == nil ? endTurns(of: [id]) : [terminals(of: id, nil)]
            }
    }

    /// What the sub-agents of a stopped turn do behind its end.
    func endTurns(of children: [String]) -> [Order] {
        children.map {
            let params = CodexFrames.turns(of: $0, isWhole: true)
            return .request(.childTurns(child: $0, isStopping: true), "thread/turns/list", params)
        }
    }

    func terminals(of thread: String, _ calls: Set<String>?) -> Order {
        .request(
            .terminals(thread: thread, calls: calls), "thread/backgroundTerminals/list", CodexFrames.thread(thread))
    }

    func terminals(_ result: FrameNode, _ thread: String, _ calls: Set<String>?) -> [Order] {
        (result["data"]?.elements ?? []).compactMap { node in
            guard let call = node["itemId"]?.string, calls?.contains(call) ?? true,
                let process = node["processId"]?.string
            else { return nil }
            return .request(
                .aside, "thread/backgroundTerminals/terminate", CodexFrames.terminate(thread, process))
        }
    }
}
