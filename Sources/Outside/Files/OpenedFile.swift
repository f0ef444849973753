import Glibc
import Vocabulary

/// An open file to show to the phone, safe against a swap of its path between check and read.
///
/// - The first open has `O_PATH`: a FIFO does not block it, and a device sees no open.
/// - The found file must be regular, and the kernel's name for it must equal the requested path: no link is followed. A
///   link placed there later changes nothing, because the read uses the descriptor and not the name.
final class OpenedFile {
    /// `O_PATH`, missing from the Glibc module; the same number on every architecture of Swift on Linux.
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

    func beginning(_ count: Int) throws(FileRefusal) -> [UInt8] { try read(upTo: count) }

    /// The whole content. The limit is checked again on the read, because the file may have grown.
    func bytes(atMost limit: Int) throws(FileRefusal) -> [UInt8] {
        guard size <= limit else { throw .tooLarge(size: size) }
        let bytes = try read(upTo: limit + 1)
        guard bytes.count <= limit else { throw .tooLarge(size: max(size, bytes.count)) }
        return bytes
    }

    private func read(upTo limit: Int) throws(FileRefusal) -> [UInt8] {
        var bytes: [UInt8] = []
        // Kernel files have the size 0 wherever they are mounted, and their content is that of the reading process,
        // such as the bridge's own environment.
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
