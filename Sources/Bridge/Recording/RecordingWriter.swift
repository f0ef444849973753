import Glibc

/// Writes a recording (DESIGN.md#recording): `RecordingFormatter` makes the lines, and this type puts them into a file that only its owner
/// may read.
///
/// - A line is in the file whole or not at all: after a failed write the file is cut back to its last whole line, and every further line is
/// refused with the same error.
/// - `at_ms` never decreases, whatever the caller passes, because a reader would refuse the file.
/// - A recording is never appended to another: its times would go back.
package final class RecordingWriter {
    /// Size limit of a file; further lines are refused.
    package static let fileLimit = 4 << 30

    private let file: String
    private let descriptor: Int32
    private let formatter: RecordingFormatter
    private let limit: Int
    private let cover: (([UInt8], RecordedEntry.Link) -> [UInt8])?
    private var size = 0
    private var lastMilliseconds: Int64 = 0
    private var failure: RecordingError?

    /// `date` has the form of RFC 3339. `cover` replaces the secrets that are known when a line is written: more become known meanwhile.
    package init(
        file: String, agent: String, date: String, limit: Int = RecordingWriter.fileLimit,
        cover: (([UInt8], RecordedEntry.Link) -> [UInt8])? = nil
    ) throws(RecordingError) {
        self.file = file
        self.limit = limit
        self.cover = cover
        formatter = RecordingFormatter()
        descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw RecordingError(
                .unwritable, file: file,
                "cannot be written: \(Self.reason()); give a path in a folder that exists and that you may write to")
        }
        do throws(RecordingError) {
            try checkFile()
            try append(formatter.header(agent: agent, date: date))
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit { close(descriptor) }

    package func write(_ entry: EntryToRecord) throws(RecordingError) {
        if let failure { throw failure }
        var entry = entry
        lastMilliseconds = max(lastMilliseconds, entry.milliseconds)
        entry.milliseconds = lastMilliseconds
        let line = formatter.line(for: entry)
        try append(cover?(line, entry.link) ?? line)
    }

    private func checkFile() throws(RecordingError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 else {
            throw RecordingError(
                .unwritable, file: file, "is there already and not empty; remove it, or give another name")
        }
        // A file that existed before may be open to others.
        guard fchmod(descriptor, 0o600) == 0 else {
            throw RecordingError(
                .unwritable, file: file,
                "belongs to somebody else (\(Self.reason())), who could read what is recorded; give another name")
        }
    }

    private func append(_ line: [UInt8]) throws(RecordingError) {
        guard size + line.count <= limit else {
            throw fail(.tooLarge, "has reached \(limit) bytes; begin another recording")
        }
        var written = 0
        while written < line.count {
            let count = line.withUnsafeBytes { bytes in
                bytes.baseAddress.map { Glibc.write(descriptor, $0 + written, bytes.count - written) } ?? 0
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let reason = Self.reason()
                _ = ftruncate(descriptor, off_t(size))
                throw fail(
                    .unwritable, "cannot be written further: \(reason); free some space and begin another recording")
            }
            written += count
        }
        size += line.count
    }

    private func fail(_ code: RecordingError.Code, _ message: String) -> RecordingError {
        let error = RecordingError(code, file: file, message)
        failure = error
        return error
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
