import Glibc

/// Files with secrets: mode 0600 in directories of 0700. A write replaces the whole file, so that a crash leaves either
/// the old content or the new.
package enum PrivateFile {
    package struct Content: Hashable, Sendable {
        package var bytes: [UInt8]
        /// Warning to the user that others may read the file, which is read all the same, as the reference bridge does.
        package var warning: String?
    }

    /// Far above the size of any file stored here.
    package static let limit = 1 << 20

    /// Nil if the file does not exist. `owner` is the required owner, for a file whose author decides whether it is trusted.
    package static func read(
        _ path: String, atMost limit: Int = PrivateFile.limit, ownedBy owner: UInt32? = nil
    ) throws(FileError) -> Content? {
        // Without O_NONBLOCK a pipe in the file's place would block the thread without limit.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .ofSystem(.unreadable, "cannot read \(path)", remedy: "let this user read it")
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw FileError(.unreadable, "\(path) is no ordinary file; remove it, or name another directory")
        }
        if let owner, status.st_uid != owner {
            throw FileError(
                .foreign,
                "\(path) belongs to another user (\(status.st_uid)), who may have put keys of their own into it; move it away, "
                    + "or run: chown \(owner) \(path)")
        }
        let isOpen = status.st_mode & (S_IRWXG | S_IRWXO) != 0
        return Content(
            bytes: try bytes(of: descriptor, path, atMost: limit),
            warning: isOpen ? "\(path) holds secrets and others may open it; run: chmod 600 \(path)" : nil)
    }

    /// Makes a missing directory, and replaces the file atomically; returns when the disk has it, unless `isDurable` is
    /// false. A sole writer may name the temporary file, `through`: a process killed again and again then leaves one
    /// partial file instead of many.
    package static func write(
        _ bytes: [UInt8], to path: String, through name: String? = nil, isDurable: Bool = true
    ) throws(FileError) {
        let directory = directory(of: path)
        try makeDirectory(directory)
        let (descriptor, temporary) = openTemporary(path, name)
        guard descriptor >= 0 else { throw unwritable(path) }
        try settle(descriptor, temporary, path, isWritten: put(bytes, into: descriptor), isDurable: isDurable)
    }

    /// Replaces the file, atomically and durably, by an empty one that `fill` fills; it gets the temporary path. The
    /// directory must exist.
    package static func replace(_ path: String, fill: (String) throws -> Void) throws {
        let (descriptor, temporary) = openTemporary(path, nil)
        guard descriptor >= 0 else { throw unwritable(path) }
        do { try fill(temporary) } catch {
            close(descriptor)
            unlink(temporary)
            throw error
        }
        try settle(descriptor, temporary, path, isWritten: true, isDurable: true)
    }

    private static func settle(
        _ descriptor: Int32, _ temporary: String, _ path: String, isWritten: Bool, isDurable: Bool
    ) throws(FileError) {
        let isWritten = isWritten && (!isDurable || fsync(descriptor) == 0)
        let failure = errno
        // After a successful fsync a failing `close` loses nothing.
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            let reason = isWritten ? errno : failure
            unlink(temporary)
            errno = reason
            throw unwritable(path)
        }
        if isDurable { sync(directory(of: path)) }
    }

    /// Opens a temporary file of mode 0600.
    private static func openTemporary(_ path: String, _ name: String?) -> (descriptor: Int32, path: String) {
        if let name {
            unlink(name)
            return (open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR), name)
        }
        var template = Array("\(path).XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return (descriptor, String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// Returns whether the file existed.
    @discardableResult
    package static func remove(_ path: String) throws(FileError) -> Bool {
        guard unlink(path) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return false }
            throw .ofSystem(.unwritable, "cannot delete \(path)", remedy: "delete it by hand")
        }
        sync(directory(of: path))
        return true
    }

    /// Makes missing directories with mode 0700; existing ones keep theirs.
    package static func makeDirectory(_ path: String) throws(FileError) {
        if mkdir(path, S_IRWXU) == 0 || errno == EEXIST { return }
        let parent = directory(of: path)
        guard errno == ENOENT, parent != path else {
            throw .ofSystem(.unwritable, "cannot make the directory \(path)", remedy: "make it, or name another one")
        }
        try makeDirectory(parent)
        if mkdir(path, S_IRWXU) == 0 || errno == EEXIST { return }
        throw .ofSystem(.unwritable, "cannot make the directory \(path)", remedy: "make it, or name another one")
    }

    /// Why files in this directory cannot be trusted, or nil if they can, or if it does not exist. Root accepts any
    /// owner: in a container the directories belong to a user outside.
    package static func fault(ofDirectory path: String, for user: UInt32 = geteuid()) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if user != 0, status.st_uid != user, status.st_uid != 0 {
            return
                "\(path) belongs to another user (\(status.st_uid)), who may put files of their own into it; name another directory, or "
                + "run: chown \(user) \(path)"
        }
        return nil
    }

    /// Warns if every user may write there: harmless in a container, whose volumes are often made so.
    package static func warning(ofDirectory path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IWOTH != 0 else { return nil }
        return "every user of this machine may write into \(path); if there are others, run: chmod o-w \(path)"
    }

    // MARK: Within

    static func directory(of path: String) -> String {
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        guard let slash = trimmed.lastIndex(of: "/") else { return "." }
        return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
    }

    private static func unwritable(_ path: String) -> FileError {
        .ofSystem(.unwritable, "cannot write \(path)", remedy: "let this user write there, or name another directory")
    }

    /// Makes a new name survive a power cut. Some file systems reject the call, because they need none.
    private static func sync(_ directory: String) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    private static func put(_ bytes: [UInt8], into descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func bytes(of descriptor: Int32, _ path: String, atMost limit: Int) throws(FileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw .ofSystem(.unreadable, "cannot read \(path)", remedy: "let this user read it")
            }
            if count == 0 { return bytes }
            bytes += piece.prefix(count)
            guard bytes.count <= limit else {
                throw FileError(.tooLarge, "\(path) is over \(limit) bytes; it is no file of this bridge: move it away")
            }
        }
    }
}
