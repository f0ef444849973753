/// Fetches the files that messages name, and keeps them on the disk until the agent has them.
package protocol AttachmentPort: Sendable {
    /// Never blocks. `completion` is called once, on any thread, with the same attachments in the same order, each with its outcome;
    /// never after `drop`.
    func fetch(_ attachments: [Attachment], for turn: TurnID, completion: @escaping @Sendable ([Attachment]) -> Void)
    /// Ends what is under way for the turn, and deletes its files.
    func drop(_ turn: TurnID)
}
