/// A private file that one process alone keeps: read once, then replaced whole by each write.
///
/// The lock is a separate file, because each write replaces the file itself. The unfinished copy has one fixed name: a
/// killed writer leaves the last whole file, and a partial copy that the next writer overwrites.
package final class ExclusiveFile: Sendable {
    package let path: String
    private let lock: FileLock

    /// Makes a missing directory. Throws `.inUse` when another process keeps the file.
    package init(_ path: String) throws(FileError) {
        try PrivateFile.makeDirectory(PrivateFile.directory(of: path))
        guard let lock = try FileLock(path + ".lock") else {
            throw FileError(.inUse, "another process keeps \(path); stop it, or name another file")
        }
        self.path = path
        self.lock = lock
    }

    /// Nil if the file does not exist yet.
    package func read(atMost limit: Int) throws(FileError) -> PrivateFile.Content? {
        try PrivateFile.read(path, atMost: limit)
    }

    package func write(_ bytes: [UInt8]) throws(FileError) {
        try PrivateFile.write(bytes, to: path, through: path + ".new")
    }
}
