import Glibc
import Vocabulary

/// Names the place of a state directory: this machine, and the file of the journal on it. A directory that is moved or copied to another
/// machine, restored from a copy, or copied beside the first one has another name there.
package enum StatePlace {
    package static func name(of directory: String) -> String {
        var journal = stat()
        let file = stat(directory + "/journal.db", &journal) == 0 ? "\(journal.st_ino)" : ""
        return StableHash.text(of: "\(machine)|\(file)", length: 16)
    }

    /// This start of the machine: two that are clones of one have the same name and the same files, and each its own start. Nil where the
    /// system does not say.
    package static var start: String? {
        let text = content(of: "/proc/sys/kernel/random/boot_id")
        return text.isEmpty ? nil : StableHash.text(of: text, length: 16)
    }

    /// Empty where the system has no name for itself (machine-id(5)).
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
