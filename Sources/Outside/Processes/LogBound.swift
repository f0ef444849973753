import Glibc

/// Bounds the log that a child appends to for as long as it lives.
///
/// The child holds its file open, so that it cannot be moved away: what is in it is copied to a second file, and then it is emptied. What the
/// child writes between the two is lost.
package enum LogBound {
    /// Of each of the two files.
    package static let limit = 8 << 20

    /// The older half.
    package static func older(_ path: String) -> String { path + ".1" }

    /// Where it is over the limit. A log that does not exist, or is no file, is left alone.
    package static func keep(_ path: String, under limit: Int = limit) {
        let log = open(path, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        guard log >= 0 else { return }
        defer { close(log) }
        var status = stat()
        guard fstat(log, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > off_t(limit) else {
            return
        }
        // A copy that is not whole is no reason to let the log fill the disk.
        copy(log, from: status.st_size - off_t(limit), until: status.st_size, to: older(path))
        ftruncate(log, 0)
    }

    /// No more than was there: a child that floods it writes faster than this reads.
    private static func copy(_ log: Int32, from start: off_t, until end: off_t, to path: String) {
        unlink(path)
        let older = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard older >= 0 else { return }
        defer { close(older) }
        var place = start
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while place < end {
            let count = pread(log, &buffer, min(buffer.count, Int(end - place)), place)
            guard count > 0, write(older, buffer, count) == count else { return }
            place += off_t(count)
        }
    }
}
