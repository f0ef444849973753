package import BridgeModel
package import Files
import Threads

/// Looks at folders on a thread of its own: a disk that hangs holds nothing else up.
package struct SystemFolders: FolderPort {
    private let folders: WorkspaceFolders

    package init(_ folders: WorkspaceFolders) { self.folders = folders }

    package func look(at folder: String) -> FolderAnswer { folders.look(at: folder) }

    package func look(at folder: String, completion: @escaping @Sendable (FolderAnswer) -> Void) {
        let folders = folders
        if !startThread({ completion(folders.look(at: folder)) }) {
            completion(.unusable("The system has no thread left to look at the workspace. Please send it again later."))
        }
    }
}
