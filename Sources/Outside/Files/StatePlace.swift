import Glibc
import Vocabulary

/// Identifies the place of a state directory, by this machine and the inode of its journal. A directory that was moved
/// or copied to another machine, restored from a backup, or copied beside the original gets another name.
package enum StatePlace {
    package static func name(of directory: String) -> String {
        var journal = stat()
        let file = stat(directory + "/journal.db", &journal) == 0 ? "\(journal.st_ino)" : ""
        return StableHash.text(of: "\(machine)|\(file)", length: 16)
    }

    /// Identifies this boot of the machine: two clones have the same machine id and the same files, but different
    /// boots. Nil if the system does not tell.
    package static var start: String? {
        let text = content(of: "/proc/sys/kernel/random/boot_id")
        return text.isEmpty ? nil : StableHash.text(of: text, length: 16)
    }

    /// Empty if the system has no id (machine-id(5)).
    private static var machine: String { content(of: "/etc/machine-id") }

    private static func content(of path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : ""
    }
}
