import Glibc

/// Bounds the log that a child appends to for as long as it lives.
///
/// The child holds its file open, so that a rename would not help: the content is copied to a second file, then the
/// file is truncated. Bytes written between the two are lost.
package enum LogBound {
    /// Size limit of each of the two files.
    package static let limit = 8 << 20

    /// Path of the file with the older half.
    package static func older(_ path: String) -> String { path + ".1" }

    /// Copies and truncates a log over the limit. A missing log, or one that is no regular file, is left alone.
    package static func keep(_ path: String, under limit: Int = limit) {
        let log = open(path, O_RDWR | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)
        guard log >= 0 else { return }
        defer { close(log) }
        var status = stat()
        guard fstat(log, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > off_t(limit) else {
            return
        }
        // Truncated even if the copy failed, or the log could fill the disk.
        copy(log, from: status.st_size - off_t(limit), until: status.st_size, to: older(path))
        ftruncate(log, 0)
    }

    /// Copies up to the size found before: a child that floods its log writes faster than this loop reads.
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
