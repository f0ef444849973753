import AgentKit
import JSONReading
import Vocabulary

// Sub-agents, with threads and turns of their own (codex.md#sub-agents), and all that a Stop ends besides the turn.
extension CodexChat {
    // MARK: Following

    /// Resumes the sub-agents' threads, in which their asks come.
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

    /// The frame that named the sub-agent's turn was missed: the list has its id.
    mutating func isFollowed(_ child: String, _ result: FrameNode, isStopping: Bool, at now: Instant) -> [Order] {
        thread.changes.resumed(result)
        thread.follows(child, .no)
        link.asksDue = link.asksDue == nil ? nil : now + CodexTurn.lookAgain
        guard result["thread"]?["status"]?["type"]?.holds("active") == true else { return [] }
        guard !isStopping else { return endTurns(of: [child]) }
        let params = CodexFrames.turns(of: child, isWhole: true)
        return [.request(.childTurns(child: child), "thread/turns/list", params)]
    }

    /// Retries after an overload or a missing answer: the sub-agent's asks wait for it. After any other refusal there is nothing to
    /// follow.
    mutating func isNotFollowed(_ child: String, isLater: Bool, at now: Instant) -> [Order] {
        thread.follows(child, isLater ? .refused : .no)
        if isLater { link.asksDue = now + CodexTurn.lookAgain }
        return []
    }

    /// Settles asks that the server did not repeat; those of sub-agents wait until their threads are followed.
    mutating func asksAreDue(at now: Instant) -> [Order] {
        guard !thread.areFollowed else {
            link.asksDue = nil
            return say(asks.closeUnasked())
        }
        link.asksDue = now + CodexTurn.lookAgain
        let refused = thread.children.filter { $0.value.following == .refused }.keys.sorted()
        return follow(refused, isStopping: isStopping)
    }

    mutating func childIsListed(_ child: String, _ result: FrameNode, isStopping: Bool) -> [Order] {
        let going = result["data"]?.elements.first { $0["status"]?.holds("inProgress") == true }
        // An unknown sub-agent counts as begun by this turn.
        let isOwn = thread.hasBegun(child) ?? true
        guard let going, let id = going["id"]?.string else {
            return isStopping && isOwn ? ends([.terminals(thread: child, calls: nil)]) : []
        }
        thread.works(child, turn: id)
        guard isStopping || self.isStopping else { return [] }
        let listed = (going["items"]?.elements ?? []).compactMap { $0["id"]?.string }
        return ends([
            .interrupt(child: child, turn: id), .terminals(thread: child, calls: isOwn ? nil : Set(listed)),
        ])
    }

    // MARK: Stop

    /// Open calls of the turn and its sub-agents.
    var openCalls: Set<String> { Set(thread.turn?.calls.openItems ?? []) }

    /// Interrupts the sub-agents' turns too: Codex leaves them alone when their parent is interrupted.
    mutating func interrupts(of id: String, in thread: String) -> [Order] {
        guard let run = turn?.run else { return [] }
        let children = self.thread.children.sorted { $0.key < $1.key }.compactMap { child in
            child.value.turn.map { CodexCleanUp.interrupt(child: child.key, turn: $0) }
        }
        return [.request(.interrupt(run), "turn/interrupt", CodexFrames.interrupt(thread, id))] + ends(children)
    }

    /// Stops a turn beside the one that is followed or searched.
    mutating func stopBeside(_ run: RunID, _ listed: FrameNode, _ id: String) -> [Order] {
        guard let place else { return [] }
        let calls = Self.openCalls(in: listed)
        return [.request(.stop(run), "turn/interrupt", CodexFrames.interrupt(place.thread, id))]
            + (calls.isEmpty ? [] : ends([.terminals(thread: place.thread, calls: calls)]))
            + endTurns(of: CodexThread.begun(in: listed))
    }

    static func openCalls(in listed: FrameNode) -> Set<String> {
        let open = (listed["items"]?.elements ?? []).filter { $0["status"]?.holds("inProgress") == true }
        return Set(open.compactMap { $0["id"]?.string })
    }

    /// Lists commands to end: each runs on as a terminal of its own thread when its turn is interrupted. All commands of a
    /// sub-agent that the turn began belong to the turn, also those that an earlier process saw begin. The sub-agent's turn ends
    /// first, or it would begin more.
    /// `calls` is nil if the turn was not stopped. `isFound`: the sub-agents' interrupts may be lost.
    mutating func cleanUp(_ calls: Set<String>?, isFound: Bool = false) -> [Order] {
        guard let place, let calls else { return [] }
        func known(_ thread: String) -> [CodexCleanUp] {
            calls.isEmpty ? [] : [.terminals(thread: thread, calls: calls)]
        }
        let children = thread.children.sorted { $0.key < $1.key }.flatMap { id, child -> [CodexCleanUp] in
            if isFound { return (child.isOwn ? [] : known(id)) + [.turns(child: id)] }
            guard child.isOwn else { return known(id) }
            guard let turn = child.turn else { return [.turns(child: id)] }
            // This turn began behind the Stop and was not interrupted.
            let interrupt = turn == child.interrupted ? [] : [CodexCleanUp.interrupt(child: id, turn: turn)]
            return interrupt + [.terminals(thread: id, calls: nil)]
        }
        return ends(known(place.thread) + children)
    }

    /// Ends whatever the sub-agents of a stopped turn still do.
    mutating func endTurns(of children: [String]) -> [Order] { ends(children.map { .turns(child: $0) }) }

    mutating func terminals(_ result: FrameNode, _ thread: String, _ calls: Set<String>?) -> [Order] {
        let left = (result["data"]?.elements ?? []).compactMap { node -> CodexCleanUp? in
            guard let call = node["itemId"]?.string, calls?.contains(call) ?? true,
                let process = node["processId"]?.string
            else { return nil }
            return .terminate(thread: thread, process: process)
        }
        return ends(left)
    }
}
