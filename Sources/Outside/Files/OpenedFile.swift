import Glibc
import Vocabulary

/// A file that was opened to be shown to the phone, and to no one who could swap it meanwhile.
///
/// - It is found without opening it (`O_PATH`): a FIFO does not hold us up, and a device does not notice.
/// - What was found must be an ordinary file at exactly the path that was asked for, as the kernel names it: no link is followed, and
///   none that is put in its place later leads elsewhere, because from then on the file itself is used and not its name.
final class OpenedFile {
    /// `O_PATH`, which Glibc's module leaves out: the same on every machine that Swift runs Linux on.
    private static let pathOnly: Int32 = 0o10_000_000

    let path: String
    let size: Int
    private let descriptor: Int32

    init(_ path: String) throws(FileRefusal) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw .invalidRequest }
        let found = open(path, Self.pathOnly | O_NOFOLLOW | O_CLOEXEC)
        guard found >= 0 else { throw FileRefusal(ofSystem: errno) }
        defer { close(found) }
        var status = stat()
        guard fstat(found, &status) == 0 else { throw FileRefusal(ofSystem: errno) }
        guard status.st_mode & S_IFMT == S_IFREG, Self.name(of: found) == path else { throw .forbidden }
        let opened = open("/proc/self/fd/\(found)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw FileRefusal(ofSystem: errno) }
        descriptor = opened
        size = Int(status.st_size)
        self.path = path
    }

    deinit { close(descriptor) }

    private static func name(of descriptor: Int32) -> String? {
        var name = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = readlink("/proc/self/fd/\(descriptor)", &name, name.count - 1)
        guard length > 0 else { return nil }
        return String(validating: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func isSame(as other: OpenedFile) -> Bool {
        var (mine, theirs) = (stat(), stat())
        guard fstat(descriptor, &mine) == 0, fstat(other.descriptor, &theirs) == 0 else { return false }
        return mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino
    }

    /// Its first bytes.
    func beginning(_ count: Int) throws(FileRefusal) -> [UInt8] { try read(upTo: count) }

    /// It may grow meanwhile.
    func bytes(atMost limit: Int) throws(FileRefusal) -> [UInt8] {
        guard size <= limit else { throw .tooLarge(size: size) }
        let bytes = try read(upTo: limit + 1)
        guard bytes.count <= limit else { throw .tooLarge(size: max(size, bytes.count)) }
        return bytes
    }

    private func read(upTo limit: Int) throws(FileRefusal) -> [UInt8] {
        var bytes: [UInt8] = []
        // What the kernel makes up for the process that reads it says that it has no size, wherever it is mounted: the bridge's own
        // environment would be such a file.
        guard size > 0 else { return bytes }
        var piece = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while bytes.count < limit {
            let count = piece.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress, min($0.count, limit - bytes.count), off_t(bytes.count))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileRefusal(ofSystem: errno) }
            if count == 0 { break }
            bytes += piece.prefix(count)
        }
        return bytes
    }
}

extension FileRefusal {
    init(ofSystem number: Int32) {
        switch number {
        case ENOENT, ENOTDIR: self = .notFound
        case EACCES, EPERM: self = .permissionDenied
        case ENAMETOOLONG: self = .invalidRequest
        default: self = .unknown
        }
    }
}
