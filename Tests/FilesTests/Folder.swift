import FoundationEssentials
import Glibc

/// A fresh directory that is removed with the test.
final class Folder {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func put(_ text: String, _ name: String, mode: mode_t = 0o600) throws {
        let url = URL(filePath: path + "/" + name)
        try FileManager.default.createDirectory(
            atPath: url.deletingLastPathComponent().path, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        chmod(url.path, mode)
    }

    func text(_ name: String) -> String? {
        guard let data = FileManager.default.contents(atPath: path + "/" + name) else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + folder)) ?? []).sorted()
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

    /// Permission bits of a file in the folder.
    func mode(_ name: String) -> mode_t {
        var status = stat()
        lstat(path + "/" + name, &status)
        return status.st_mode & 0o777
    }

    /// This process's descriptors of a file in the folder.
    func opened(_ name: String) -> [Int32] {
        var file = stat()
        guard stat(path + "/" + name, &file) == 0 else { return [] }
        return (0..<1_024).filter { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 && status.st_ino == file.st_ino && status.st_dev == file.st_dev
        }
    }
}
