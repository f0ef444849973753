import AgentKit
import JSONReading
import Links
import Vocabulary

/// Whether a server still works before the bridge ends it: its turns may belong to sub-agents or other clients.
///
/// - `asking`: the loaded threads are listed, then each is read. Can transition to `waiting` (one of them works), and to `none`
///   (none does, or the connection is lost).
/// - `waiting`: Can transition to `asking` (`nextLook`).
/// An outdated server is spared for `bound` at most; a look for a person ends no working server.
struct CodexRest {
    enum Reason: Hashable { case outdated, look }
    enum State: Hashable { case none, asking(Reason, unread: Int, works: Bool), waiting }

    static let pause = Duration.seconds(10)
    static let bound = Duration.seconds(3_600)
    static let answerLimit = Duration.seconds(10)
    /// Threads that are read; a server with more counts as working.
    static let limit = 200

    var state = State.none
    var nextLook: Instant?
    /// First look that found the server at work.
    var since: Instant?

    func isOver(at now: Instant) -> Bool { since.map { $0 + Self.bound <= now } ?? false }
    func mayAsk(_ reason: Reason, at now: Instant) -> Bool {
        if case .asking = state { return false }
        return reason == .look || nextLook.map { $0 <= now } ?? true
    }

    mutating func connectionLost() { (state, nextLook) = (.none, nil) }
}

extension CodexMachine {
    /// Ends the server at once if nothing works in it; otherwise later, or not at all.
    mutating func endIfIdle(_ reason: CodexRest.Reason, _ now: Occasion) {
        if server.rest.isOver(at: now.read) { return end(reason, now) }
        guard server.rest.mayAsk(reason, at: now.read) else { return }
        server.rest.state = .asking(reason, unread: 1, works: false)
        server.rest.nextLook = nil
        ask(.loaded, "thread/loaded/list", CodexFrames.none, for: CodexRest.answerLimit, now)
    }

    mutating func loaded(_ result: FrameNode, _ now: Occasion) {
        guard case .asking(let reason, _, _) = server.rest.state else { return }
        let threads = (result["data"]?.elements ?? []).compactMap { $0.string ?? $0["id"]?.string }
        guard threads.count <= CodexRest.limit else { return works(reason, now) }
        server.rest.state = .asking(reason, unread: threads.count, works: false)
        for thread in threads {
            ask(.working, "thread/read", CodexFrames.thread(thread), for: CodexRest.answerLimit, now)
        }
        if threads.isEmpty { conclude(now) }
    }

    /// `status` of one thread, or nil if the server does not say.
    mutating func isWorking(_ status: FrameNode?, _ now: Occasion) {
        guard case .asking(let reason, let unread, let works) = server.rest.state else { return }
        let isActive = status?["type"]?.holds("active") == true
        server.rest.state = .asking(reason, unread: unread - 1, works: works || isActive)
        if unread <= 1 { conclude(now) }
    }

    /// Ends a server whose version has no list of loaded threads.
    mutating func notLoaded(_ now: Occasion) {
        guard case .asking(let reason, _, _) = server.rest.state else { return }
        server.rest.state = .none
        end(reason, now)
    }

    /// A server without an answer may be at work.
    mutating func doesNotSay(_ now: Occasion) {
        if case .asking(let reason, _, _) = server.rest.state { works(reason, now) }
    }

    private mutating func conclude(_ now: Occasion) {
        guard case .asking(let reason, _, let isBusy) = server.rest.state else { return }
        if isBusy { return works(reason, now) }
        server.rest.state = .none
        end(reason, now)
    }

    private mutating func works(_ reason: CodexRest.Reason, _ now: Occasion) {
        server.rest.state = .none
        switch reason {
        case .look: drop("Codex is looked at again", .atOnce, now)
        case .outdated:
            if server.rest.since == nil {
                let words =
                    "Codex or its environment has changed; its server is started again when its turns have ended"
                orders.append(.note(.words(words)))
            }
            server.rest.state = .waiting
            server.rest.since = server.rest.since ?? now.read
            server.rest.nextLook = now.read + CodexRest.pause
        }
    }

    private mutating func end(_ reason: CodexRest.Reason, _ now: Occasion) {
        guard chats.areIdle, server.name != nil else { return }
        if reason == .outdated {
            orders.append(.note(.words("Codex or its environment has changed: its server is started again")))
        }
        restart(now)
    }
}
