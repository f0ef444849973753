package import Files
import Glibc
import Locking

/// The folder of files on their way from the phone to an agent. A new process cannot tell which message a leftover file
/// belonged to, so the folder is emptied at the start.
///
/// - Files have mode 0600 in a folder of mode 0700, under names without meaning.
/// - All files together hold at most `limit` bytes, and leave free a reserve on the disk, which the journal shares.
/// - Half of `limit` is divided into equal shares, one per connection, so that one connection cannot use up the space
///   of another.
/// - After a failure to make the folder, each new file retries it.
package final class FileSpool: Sendable {
    package static let usualLimit = 1 << 30
    /// Bytes left free on the disk. A small disk keeps a twentieth free instead.
    private static let reserve = 256 << 20
    /// Bytes written between two checks of the free space.
    private static let lookEvery = 4 << 20

    private struct State {
        var isOpen = false
        var count = 0
        var bytes = 0
        /// Bytes held by each connection, out of `bytes`.
        var shares = [0]
        var connections = 0
        /// Bytes written since the last check of the free space.
        var unseen = 0

        /// Unused bytes of the other connections' shares.
        func kept(besides share: Int, of limit: Int) -> Int {
            let own = limit / 2 / shares.count
            return shares.enumerated().reduce(0) { $1.offset == share ? $0 : $0 + max(0, own - $1.element) }
        }
    }

    private let folder: String
    private let limit: Int
    private let room: @Sendable (String) -> Int?
    private let state = Locked(State())

    /// No other process uses `folder`. `room` returns the bytes that its disk has for files, or nil if that is unknown.
    package init(
        _ folder: String, limit: Int = usualLimit,
        room: @escaping @Sendable (String) -> Int? = { FileSpool.room(on: $0) }
    ) {
        self.folder = folder
        self.limit = limit
        self.room = room
    }

    private static func room(on folder: String) -> Int? {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return nil }
        // Some network file systems report the largest number as their size.
        func bytes(_ blocks: UInt) -> Int {
            let (bytes, isTooMany) = blocks.multipliedReportingOverflow(by: UInt(status.f_frsize))
            return isTooMany ? .max : Int(clamping: bytes)
        }
        let (free, all) = (bytes(UInt(status.f_bavail)), bytes(UInt(status.f_blocks)))
        return free - min(reserve, all / 20)
    }

    package static func isThere(_ folder: String) -> Bool { access(folder, F_OK) == 0 }

    /// Makes and empties the folder, once.
    package func open() throws(FileError) {
        let failure: FileError? = state.withLock { state in
            guard !state.isOpen else { return nil }
            do throws(FileError) { try makeFolder() } catch { return error }
            state.isOpen = true
            return nil
        }
        if let failure { throw failure }
    }

    private func makeFolder() throws(FileError) {
        try PrivateFile.makeDirectory(folder)
        var status = stat()
        // A symbolic link is refused: its target would be emptied.
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

    /// Opens the share of one more connection. The first one gets share 0, which exists from the start.
    func openShare() -> Int {
        state.withLock { state in
            state.connections += 1
            if state.connections > 1 { state.shares.append(0) }
            return state.shares.count - 1
        }
    }

    func make(in share: Int = 0) throws(FetchProblem) -> SpooledFile {
        do throws(FileError) { try open() } catch { throw .notWritten(error.message) }
        if let room = room(folder), room <= 0 { throw .diskLow }
        let number = state.withLock { state in
            state.count += 1
            return state.count
        }
        let path = "\(folder)/file-\(number)"
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR)
        guard descriptor >= 0 else {
            let number = errno
            if number == ENOENT { state.withLock { $0.isOpen = false } }
            throw Self.problem(number)
        }
        return SpooledFile(path: path, descriptor: descriptor, spool: self, share: share)
    }

    /// Reserves `count` bytes, or returns why there is no room for them.
    fileprivate func take(_ count: Int, in share: Int) -> FetchProblem? {
        let (problem, looks): (FetchProblem?, Bool) = state.withLock { state in
            guard state.bytes + count <= limit - state.kept(besides: share, of: limit) else { return (.noRoom, false) }
            state.bytes += count
            state.shares[share] += count
            state.unseen += count
            guard state.unseen >= Self.lookEvery else { return (nil, false) }
            state.unseen = 0
            return (nil, true)
        }
        guard looks, let room = room(folder), room <= 0 else { return problem }
        giveBack(count, in: share)
        return .diskLow
    }

    fileprivate func giveBack(_ count: Int, in share: Int) {
        state.withLock { state in
            state.bytes -= count
            state.shares[share] -= count
        }
    }

    fileprivate static func problem(_ number: Int32) -> FetchProblem {
        [ENOSPC, EDQUOT].contains(number) ? .diskFull : .notWritten(String(cString: strerror(number)))
    }
}

/// One file of the spool, written by one thread, and deleted once by any thread. A slow disk blocks the writer alone.
final class SpooledFile: Sendable {
    fileprivate struct State {
        var descriptor: Int32
        var size = 0
        /// The writer is in `write`, outside the lock. After a deletion it closes the descriptor itself.
        var isWriting = false
        var isDeleted = false
    }

    let path: String
    private let spool: FileSpool
    private let share: Int
    private let state: Locked<State>

    init(path: String, descriptor: Int32, spool: FileSpool, share: Int = 0) {
        self.path = path
        self.spool = spool
        self.share = share
        state = Locked(State(descriptor: descriptor))
    }

    deinit { delete() }

    var size: Int { state.withLock { $0.size } }

    func append(_ bytes: UnsafeRawBufferPointer) throws(FetchProblem) {
        if let problem = spool.take(bytes.count, in: share) { throw problem }
        let descriptor: Int32? = state.withLock { state in
            guard state.descriptor >= 0, !state.isDeleted else { return nil }
            state.size += bytes.count
            state.isWriting = true
            return state.descriptor
        }
        guard let descriptor else {
            spool.giveBack(bytes.count, in: share)
            throw .cancelled
        }
        let problem = Self.write(bytes, to: descriptor)
        let isDeleted = state.withLock { state in
            state.isWriting = false
            if state.isDeleted { state.close() }
            return state.isDeleted
        }
        if let problem = isDeleted ? .cancelled : problem { throw problem }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> FetchProblem? {
        var written = 0
        while written < bytes.count {
            let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return FileSpool.problem(count == 0 ? ENOSPC : errno) }
            written += count
        }
        return nil
    }

    /// Closes the file after its last byte.
    func finish() { state.withLock { $0.close() } }

    func delete() {
        let size: Int? = state.withLock { state in
            guard !state.isDeleted else { return nil }
            state.isDeleted = true
            if !state.isWriting { state.close() }
            return state.size
        }
        guard let size else { return }
        unlink(path)
        spool.giveBack(size, in: share)
    }
}

extension SpooledFile.State {
    fileprivate mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }
}
