/// Fetches the files that messages name, and keeps them on the disk until the agent has them.
package protocol AttachmentPort: Sendable {
    /// Never blocks. Calls `completion` once, on any thread, with the same attachments in the same order, each with its outcome; never after `drop`.
    func fetch(_ attachments: [Attachment], for turn: TurnID, completion: @escaping @Sendable ([Attachment]) -> Void)
    /// Ends the turn's fetches, and deletes its files.
    func drop(_ turn: TurnID)
}
