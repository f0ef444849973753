import Glibc

/// An exclusive lock over threads and processes. The kernel releases it when its process ends, in any way.
///
/// The file is never deleted: a process that had locked a deleted file would hold a lock invisible to any other.
package final class FileLock: Sendable {
    private let descriptor: Int32

    /// Nil if another holder has the lock; the call never waits. Throws if the file cannot be made.
    package init?(_ path: String) throws(FileError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR)
        guard descriptor >= 0 else {
            throw .ofSystem(
                .unwritable, "cannot write \(path)", remedy: "let this user write there, or name another file")
        }
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit {
        // A bare `close` would leave the lock with a child that is between fork and exec at this moment.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
