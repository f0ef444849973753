import Glibc

/// Allows one bridge per state directory, by a lock that the kernel releases when the process ends in any way. The file
/// holds the process id for people. It is never deleted: a process that had locked a deleted file would hold a lock
/// invisible to any other.
///
/// `holder` takes a shared lock for a moment. A bridge that starts in that moment sees a shared lock and retries
/// instead of giving up: first without a pause, then with pauses, because the other process may be descheduled.
package final class InstanceLock: Sendable {
    package enum Holder: Hashable, Sendable {
        case nobody
        /// Process id of the holder, or nil if the file has no readable one.
        case process(Int32?)
    }

    private static let triesAtOnce = 100
    /// Tries with a pause of a millisecond before each.
    private static let triesWithPause = 5_000
    private let descriptor: Int32

    package static func path(in directory: String) -> String { directory + "/sophon-bridge.lock" }

    /// Makes a missing directory. Throws `.inUse` when another process holds the lock.
    package init(directory: String) throws(FileError) {
        try PrivateFile.makeDirectory(directory)
        if let fault = PrivateFile.fault(ofDirectory: directory) { throw FileError(.foreign, fault) }
        let path = Self.path(in: directory)
        for attempt in 0..<(Self.triesAtOnce + Self.triesWithPause) {
            if attempt >= Self.triesAtOnce { poll(nil, 0, 1) } else if attempt > 0 { sched_yield() }
            let descriptor = try Self.open(path)
            guard Self.take(descriptor) else {
                let holder = Self.number(in: descriptor)
                let isShared = flock(descriptor, LOCK_SH | LOCK_NB) == 0
                Self.letGo(descriptor)
                if isShared { continue }
                throw Self.inUse(directory, holder)
            }
            // The file may have been deleted between open and lock.
            guard Self.isStill(descriptor, at: path) else {
                Self.letGo(descriptor)
                continue
            }
            Self.write(getpid(), into: descriptor)
            self.descriptor = descriptor
            return
        }
        throw FileError(
            .inUse, "\(path) is locked and let go again and again, for seconds now; see who does it, and try once more")
    }

    deinit { Self.letGo(descriptor) }

    /// The current holder. The caller does not become one.
    package static func holder(directory: String) throws(FileError) -> Holder {
        let path = path(in: directory)
        // Without O_NONBLOCK a pipe in the file's place would block the thread without limit.
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return .nobody }
            throw .ofSystem(.unreadable, "cannot read \(path)", remedy: "let this user read it")
        }
        defer { letGo(descriptor) }
        while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return .process(number(in: descriptor)) }
            guard errno == EINTR else {
                throw .ofSystem(
                    .unreadable, "cannot ask for the lock \(path)",
                    remedy: "name a state directory on a file system with locks")
            }
        }
        return .nobody
    }

    // MARK: Within

    private static func inUse(_ directory: String, _ holder: Int32?) -> FileError {
        let who = holder.map { "another bridge (process \($0))" } ?? "another bridge"
        return FileError(
            .inUse, "\(who) works with \(directory); stop it, or name another directory with SOPHON_STATE_DIR")
    }

    private static func open(_ path: String) throws(FileError) -> Int32 {
        // `O_NOFOLLOW`: the target of a symbolic link would be truncated.
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)
        if descriptor >= 0 { return descriptor }
        if errno == ELOOP { throw FileError(.unwritable, "\(path) is a link, which is not followed; remove it") }
        throw .ofSystem(
            .unwritable, "cannot write \(path)", remedy: "let this user write there, or name another directory")
    }

    private static func take(_ descriptor: Int32) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 { if errno != EINTR { return false } }
        return true
    }

    /// A bare `close` would leave the lock with a child that is between fork and exec at this moment.
    private static func letGo(_ descriptor: Int32) {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func isStill(_ descriptor: Int32, at path: String) -> Bool {
        var ours = stat()
        var theirs = stat()
        return fstat(descriptor, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino
            && ours.st_dev == theirs.st_dev
    }

    /// Information for people; the lock holds without it.
    private static func write(_ number: Int32, into descriptor: Int32) {
        let text = Array("\(number)\n".utf8)
        ftruncate(descriptor, 0)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    private static func number(in descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return Int32(String(decoding: bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
