package import Files
import Glibc
import Locking

/// The folder of files on their way from the phone to an agent. What a process leaves in it is of no use to the next one, which does
/// not know of which message it was: it is emptied at the start.
///
/// - Files are 0600 in a folder of 0700, under names that say nothing.
/// - All of them together hold at most `limit` bytes.
package final class FileSpool: Sendable {
    package static let usualLimit = 1 << 30

    private struct State {
        var count = 0
        var bytes = 0
    }

    private let folder: String
    private let limit: Int
    private let state = Locked(State())

    /// `folder` belongs to this process alone.
    package init(_ folder: String, limit: Int = usualLimit) throws(FileError) {
        self.folder = folder
        self.limit = limit
        try PrivateFile.makeDirectory(folder)
        var status = stat()
        // Not through a link: what is behind it would be emptied.
        guard lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw FileError(.unwritable, "\(folder) is no folder; move it away")
        }
        _ = chmod(folder, S_IRWXU)
        try empty()
    }

    private func empty() throws(FileError) {
        guard let stream = opendir(folder) else {
            throw FileError(.unreadable, "cannot read \(folder); let this user read it")
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix("file-") { unlinkat(dirfd(stream), name, 0) }
        }
    }

    func make() throws(FetchProblem) -> SpooledFile {
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let path = "\(folder)/file-\(number)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)
        guard descriptor >= 0 else { throw Self.problem(errno) }
        return SpooledFile(path: path, descriptor: descriptor, spool: self)
    }

    fileprivate func take(_ count: Int) -> Bool {
        state.withLock { state in
            guard state.bytes + count <= limit else { return false }
            state.bytes += count
            return true
        }
    }

    fileprivate func giveBack(_ count: Int) { state.withLock { $0.bytes -= count } }

    fileprivate static func problem(_ number: Int32) -> FetchProblem {
        [ENOSPC, EDQUOT].contains(number) ? .diskFull : .notWritten(String(cString: strerror(number)))
    }
}

/// One file of the spool, written by one thread, deleted by any, once.
final class SpooledFile: Sendable {
    private struct State {
        var descriptor: Int32
        var size = 0
        var isDeleted = false
    }

    let path: String
    private let spool: FileSpool
    private let state: Locked<State>

    init(path: String, descriptor: Int32, spool: FileSpool) {
        self.path = path
        self.spool = spool
        state = Locked(State(descriptor: descriptor))
    }

    deinit { delete() }

    var size: Int { state.withLock { $0.size } }

    func append(_ bytes: UnsafeRawBufferPointer) throws(FetchProblem) {
        let problem: FetchProblem? = state.withLock { state in
            guard state.descriptor >= 0 else { return .cancelled }
            guard spool.take(bytes.count) else { return .noRoom }
            state.size += bytes.count
            var written = 0
            while written < bytes.count {
                let count = write(state.descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return FileSpool.problem(count == 0 ? ENOSPC : errno) }
                written += count
            }
            return nil
        }
        if let problem { throw problem }
    }

    /// Nothing more is written.
    func finish() {
        state.withLock { state in
            if state.descriptor >= 0 { close(state.descriptor) }
            state.descriptor = -1
        }
    }

    func delete() {
        let size: Int? = state.withLock { state in
            guard !state.isDeleted else { return nil }
            state.isDeleted = true
            if state.descriptor >= 0 { close(state.descriptor) }
            state.descriptor = -1
            unlink(path)
            return state.size
        }
        if let size { spool.giveBack(size) }
    }
}
