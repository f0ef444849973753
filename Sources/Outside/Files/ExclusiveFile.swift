/// A private file that one process alone keeps: read once, and then replaced again and again, whole each time.
///
/// The lock is a file beside it, since the file itself is another one after each write. What is being written is beside it
/// too, under one name: a writer that is killed leaves the last whole file, and half of a file that the next one overwrites.
package final class ExclusiveFile: Sendable {
    package let path: String
    private let lock: FileLock

    /// Makes the directory where it is missing. Throws `.inUse` when another process keeps the file.
    package init(_ path: String) throws(FileError) {
        try PrivateFile.makeDirectory(PrivateFile.directory(of: path))
        guard let lock = try FileLock(path + ".lock") else {
            throw FileError(.inUse, "another process keeps \(path); stop it, or name another file")
        }
        self.path = path
        self.lock = lock
    }

    /// Nil when there is no such file yet.
    package func read(atMost limit: Int) throws(FileError) -> PrivateFile.Content? {
        try PrivateFile.read(path, atMost: limit)
    }

    package func write(_ bytes: [UInt8]) throws(FileError) {
        try PrivateFile.write(bytes, to: path, through: path + ".new")
    }
}
