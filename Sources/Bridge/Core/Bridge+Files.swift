package import Vocabulary

// The files that come with messages.
extension Bridge {
    /// Each has its outcome now. Of a turn that does not wait for them any more nothing is taken: its files were dropped.
    package mutating func fetched(_ attachments: [Attachment], for id: TurnID, at now: Instant) {
        guard let turn = entries[id]?.turn, turn.phase == .fetching else { return }
        let session = turn.opening.agentSession
        change(id, at: now) { $0.fetched(attachments, at: now) }
        handOverNext(of: session, at: now)
        deliver(at: now)
        keepChanged()
    }

    /// The turn has no use for its files any more. A fetch that was not begun is not begun.
    mutating func dropFiles(of id: TurnID) {
        let fetch = orders.firstIndex { if case .fetch(id, _) = $0 { true } else { false } }
        if let fetch { orders.remove(at: fetch) } else { orders.append(.dropFiles(id)) }
    }

    mutating func touched(_ files: [ToolFile], by id: TurnID) {
        guard !files.isEmpty, let opening = entries[id]?.turn.opening else { return }
        orders.append(.filesTouched(opening.session, opening.sealing, files))
    }

    /// The agent got the message without these.
    package mutating func filesLeftOut(_ files: [MissingFile], of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run] else { return }
        change(id, at: now) { $0.filesLeftOut(files) }
        keepChanged()
    }
}
