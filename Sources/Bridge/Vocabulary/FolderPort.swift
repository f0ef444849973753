/// Looks at folders that agents are to work in.
package protocol FolderPort: Sendable {
    /// Never blocks. `completion` is called once, on any thread, also before this returns.
    func look(at folder: String, completion: @escaping @Sendable (FolderAnswer) -> Void)
    /// Blocks as long as the disk does: for the start of the process, which has looked at its folders before.
    func look(at folder: String) -> FolderAnswer
}

package enum FolderAnswer: Hashable, Sendable {
    /// As it is found behind all links.
    case found(String)
    /// Why it cannot be used, with what to do.
    case unusable(String)
}
