package import Vocabulary

// The files that come with messages.
extension Bridge {
    /// Each file has its outcome now. A turn that no longer waits for its files takes none: they were dropped.
    package mutating func fetched(_ attachments: [Attachment], for id: TurnID, at now: Instant) {
        guard let turn = entries[id]?.turn, turn.phase == .fetching else { return }
        let session = turn.opening.agentSession
        change(id, at: now) { $0.fetched(attachments, at: now) }
        handOverNext(of: session, at: now)
        deliver(at: now)
        keepChanged()
    }

    /// The turn has no more use for its files. A fetch that has not begun does not begin.
    mutating func dropFiles(of id: TurnID) {
        let fetch = orders.firstIndex { if case .fetch(id, _) = $0 { true } else { false } }
        if let fetch { orders.remove(at: fetch) } else { orders.append(.dropFiles(id)) }
    }

    mutating func touched(_ files: [ToolFile], by id: TurnID) {
        guard !files.isEmpty, let opening = entries[id]?.turn.opening else { return }
        orders.append(.filesTouched(opening.session, opening.sealing, files))
    }

    /// The agent got the message without these files.
    package mutating func filesLeftOut(_ files: [MissingFile], of run: RunID, at now: Instant) {
        guard let id = agent.turnOfRun[run] else { return }
        change(id, at: now) { $0.filesLeftOut(files) }
        keepChanged()
    }
}
