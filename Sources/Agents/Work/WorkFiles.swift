import AgentKit
import Files
import Glibc
import Locking
import Vocabulary

/// Files that machines read and write. Blocks.
struct WorkFiles: Sendable {
    let secretsFolder: String?
    let writableFolders: [String]
    /// Lock files held now, by path.
    private let locks = Locked<[String: FileLock]>([:])

    init(secretsFolder: String?, writableFolders: [String]) {
        self.secretsFolder = secretsFolder
        self.writableFolders = writableFolders
    }

    func result(of work: Work) -> WorkResult {
        do throws(WorkFailure) {
            return switch work {
            case .read(let path, let from, let limit): try read(path, from: from, limit: limit)
            case .write(let path, let bytes): try write(bytes, to: path)
            case .find(let pattern, let limit): .found(try find(pattern, limit: limit))
            case .secret(let name): .secret(try secret(name))
            case .keepSecret(let name, let secret): try keep(secret, name)
            case .lock(let path): try lock(path)
            case .unlock(let path): unlock(path)
            case .http, .run, .look, .end, .keep, .complaints: throw WorkFailure(.other, "no file is meant")
            }
        } catch {
            return .failed(error)
        }
    }

    private func read(_ path: String, from: Int64, limit: Int) throws(WorkFailure) -> WorkResult {
        guard from >= 0, limit >= 0 else { throw WorkFailure(.forbidden, "no part of a file begins at \(from)") }
        // Without O_NONBLOCK a pipe in the file's place would block the thread without limit.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.failure(errno, "cannot read \(path)") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw WorkFailure(.forbidden, "\(path) is no ordinary file")
        }
        var bytes = [UInt8](repeating: 0, count: max(0, min(limit, Int(status.st_size) - Int(clamping: from))))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map {
                    pread(descriptor, $0 + count, buffer.count - count, off_t(from) + off_t(count))
                } ?? 0
            }
            if more < 0, errno == EINTR { continue }
            guard more >= 0 else { throw Self.failure(errno, "cannot read \(path)") }
            // The file has become shorter.
            if more == 0 { break }
            count += more
        }
        bytes.removeLast(bytes.count - count)
        return .read(bytes, size: Int64(status.st_size))
    }

    private func write(_ bytes: [UInt8], to path: String) throws(WorkFailure) -> WorkResult {
        guard let slash = path.lastIndex(of: "/"), let folder = Self.real(String(path[..<slash])),
            !["", ".", ".."].contains(path[path.index(after: slash)...])
        else { throw WorkFailure(.absent, "there is no folder for \(path)") }
        // Compares real folders: a link in a workspace may lead out of it.
        let mayWrite = writableFolders.contains { allowed in
            guard let allowed = Self.real(allowed) else { return false }
            return folder == allowed || folder.hasPrefix(allowed == "/" ? "/" : allowed + "/")
        }
        guard mayWrite else {
            throw WorkFailure(.forbidden, "\(path) is in no folder that this connection may write to")
        }
        do {
            try PrivateFile.write(bytes, to: folder + path[slash...])
        } catch {
            throw WorkFailure(.other, error.message)
        }
        return .done
    }

    private func lock(_ path: String) throws(WorkFailure) -> WorkResult {
        let isHeld = WorkFailure(.full, "\(path) is locked")
        guard locks.withLock({ $0[path] == nil }) else { throw isHeld }
        do {
            guard let lock = try FileLock(path) else { throw isHeld }
            locks.withLock { $0[path] = lock }
        } catch let error as FileError {
            throw WorkFailure(.other, error.message)
        } catch {
            throw error as? WorkFailure ?? isHeld
        }
        return .done
    }

    private func unlock(_ path: String) -> WorkResult {
        locks.withLock { $0[path] = nil }
        return .done
    }

    private func find(_ pattern: String, limit: Int) throws(WorkFailure) -> [String] {
        guard pattern.hasPrefix("/") else { throw WorkFailure(.forbidden, "\(pattern) does not begin at /") }
        // The star alone is a wildcard.
        let escaped = pattern.reduce(into: "") { text, character in
            if "?[\\".contains(character) { text.append("\\") }
            text.append(character)
        }
        var found = glob_t()
        defer { globfree(&found) }
        switch glob(escaped, 0, nil, &found) {
        case 0: break
        case GLOB_NOMATCH: return []
        default: throw WorkFailure(.other, "cannot look for \(pattern)")
        }
        return (0..<min(Int(found.gl_pathc), max(0, limit))).compactMap { index in
            found.gl_pathv[index].map { String(cString: $0) }
        }
    }

    private func secret(_ name: String) throws(WorkFailure) -> Secret? {
        do {
            return try PrivateFile.read(try secretPath(name)).map { Secret(String(decoding: $0.bytes, as: UTF8.self)) }
        } catch let error as FileError {
            throw WorkFailure(error.code == .tooLarge ? .tooLarge : .other, error.message)
        } catch {
            throw error as? WorkFailure ?? WorkFailure(.other, "\(error)")
        }
    }

    private func keep(_ secret: Secret?, _ name: String) throws(WorkFailure) -> WorkResult {
        let path = try secretPath(name)
        do {
            if let secret {
                try PrivateFile.write(Array(secret.text.utf8), to: path)
            } else {
                try PrivateFile.remove(path)
            }
        } catch {
            throw WorkFailure(.other, error.message)
        }
        return .done
    }

    private func secretPath(_ name: String) throws(WorkFailure) -> String {
        guard let secretsFolder else {
            throw WorkFailure(.forbidden, "there is no place for secrets: set HOME or SOPHON_CONFIG_DIR")
        }
        guard !name.isEmpty, !name.hasPrefix("."), !name.contains("/") else {
            throw WorkFailure(.forbidden, "\(name) is no name of a secret")
        }
        return secretsFolder + "/" + name
    }

    private static func real(_ path: String) -> String? {
        guard let resolved = realpath(path.isEmpty ? "/" : path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func failure(_ number: Int32, _ doing: String) -> WorkFailure {
        let code: WorkFailure.Code =
            switch number {
            case ENOENT, ENOTDIR: .absent
            case EACCES, EPERM, ELOOP: .forbidden
            default: .other
            }
        return WorkFailure(code, "\(doing): \(String(cString: strerror(number)))")
    }
}
