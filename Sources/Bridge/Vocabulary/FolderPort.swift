/// Inspects folders that agents are to work in.
package protocol FolderPort: Sendable {
    /// Never blocks. Calls `completion` once, on any thread, possibly before this method returns.
    func look(at folder: String, completion: @escaping @Sendable (FolderAnswer) -> Void)
    /// Blocks as long as the disk does. For the start of the process, which has checked its folders before.
    func look(at folder: String) -> FolderAnswer
}

package enum FolderAnswer: Hashable, Sendable {
    /// The folder behind all links.
    case found(String)
    /// Reason and remedy.
    case unusable(String)
}
