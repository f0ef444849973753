package import BridgeModel

// The files that come with messages.
extension Bridge {
    /// Each has its outcome now. Of a turn that does not wait for them any more nothing is taken: its files were dropped.
    package mutating func fetched(_ attachments: [Attachment], for id: TurnID, at now: Instant) {
        guard let session = entries[id]?.turn.opening.agentSession else { return }
        let files = attachments.compactMap { if case .file(let file) = $0.outcome { file } else { nil } }
        change(id, at: now) { $0.fetched(attachments, at: now) }
        routeAnswer(id, at: now)
        if case .answering = entries[id]?.turn.phase {
            let reason = "the answer to a question is its text alone"
            change(id, at: now) { $0.filesLeftOut(files.map { .notPassedOn($0.name, reason) }) }
        }
        handOverNext(of: session, at: now)
        deliver(at: now)
        keepChanged()
    }

    mutating func dropFiles(of id: TurnID, _ turn: Turn) {
        #if PLANTED_FAULTS
            if PlantedFault.filesLeftBehind.isPlanted, turn.outcome == nil { return }
        #endif
        orders.append(.dropFiles(id))
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
