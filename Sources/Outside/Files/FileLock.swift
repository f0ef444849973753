import Glibc

/// A lock that one holder alone has, in this process or in any other, until it is let go of or its process ends, however that ends.
///
/// The file stays: a process that locked a deleted file would hold a lock that no other process can see.
package final class FileLock: Sendable {
    private let descriptor: Int32

    /// Nil where another holder has it: it is never waited for. Throws where there can be no such file.
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
        // Closing alone would leave the lock with a child that is being started at this moment.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
