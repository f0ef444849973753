import Vocabulary

/// The view that one connection has of the journal.
struct ConnectionJournal: TurnJournal {
    /// Owned, so that the file stays open as long as there is a writer.
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

    /// Waits for the writer: never to be called from a `done`, which is on the writer's own thread.
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
