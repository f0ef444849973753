import Vocabulary

/// The journal as one connection sees it.
struct ConnectionJournal: TurnJournal {
    /// A strong reference keeps the file open while a connection can write.
    let journal: Journal
    let name: ConnectionName

    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        hand(.entries(entries, durability, done: done))
    }

    func accept(
        _ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void
    ) {
        hand(.accept(message, done: done))
    }

    /// Blocks until the writer answers. A `done` must not call it: it runs on the writer's own thread.
    func load() throws(JournalFailure) -> JournalContents {
        let answer = Answer<Result<JournalContents, JournalFailure>>()
        hand(.load { answer.give($0) })
        return try answer.wait().get()
    }

    var heldBytes: Int { journal.writer.queue.heldBytes(of: name) }

    func purge(before wall: Int64) { journal.writer.queue.purge(name, before: wall) }

    private func hand(_ work: JournalJob.Work) {
        let job = JournalJob(connection: name, work: work)
        if !journal.writer.queue.put(job) {
            job.fail(JournalFailure(.other, "the journal is closed; start the bridge again"))
        }
    }
}
