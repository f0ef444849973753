import Glibc
import Locking
package import Vocabulary

/// The agent's files on this machine. Checks after tool calls and reads for a person have separate threads, so that the
/// former never delay the latter.
package final class LocalFiles: AgentFilePort {
    private let home: String?
    /// Kernel file systems, never served: `/proc/self` would resolve to the bridge's own process, not to the agent's.
    private static let system = ["/proc", "/sys", "/dev"]

    /// Absolute paths that are refused, with everything below them.
    private let hidden: Locked<Set<String>>
    private let reads: @Sendable (String) -> Void
    private let lookers = WorkerPool(workerLimit: 2)
    private let readers = WorkerPool(workerLimit: 4)

    /// `hidden` are the bridge's own folders and files, which contain its keys. `reads` is called before a file is opened.
    package init(home: String?, hidden: Set<String>, reads: @escaping @Sendable (String) -> Void = { _ in }) {
        self.home = home
        self.hidden = Locked(hidden)
        self.reads = reads
    }

    /// Adds hidden paths: a reloaded configuration may name other files with secrets.
    package func hide(_ more: Set<String>) { hidden.withLock { $0.formUnion(more) } }

    package func look(at path: String, completion: @escaping @Sendable (Result<SeenFile, FileRefusal>) -> Void) {
        run(on: lookers, completion) { [self] () throws(FileRefusal) in
            let written = try expanded(path)
            // Refused before links are resolved: links in `/proc` lead to the files of this process, not of the agent.
            guard !hides(written) else { throw .forbidden }
            let file = try opened(Self.resolved(written))
            return SeenFile(path: file.path, size: file.size, mimeType: try kind(of: file))
        }
    }

    package func read(
        _ paths: [String], atMost limit: Int, completion: @escaping @Sendable (Result<ShownFile, FileRefusal>) -> Void
    ) {
        run(on: readers, completion) { [self] () throws(FileRefusal) in
            guard let first = paths.first else { throw .invalidRequest }
            let file = try opened(first)
            for path in paths.dropFirst() where try !opened(path).isSame(as: file) { throw .forbidden }
            return ShownFile(mimeType: try kind(of: file), bytes: try file.bytes(atMost: limit))
        }
    }

    private func run<Value: Sendable>(
        on pool: WorkerPool, _ completion: @escaping @Sendable (Result<Value, FileRefusal>) -> Void,
        _ body: @escaping @Sendable () throws(FileRefusal) -> Value
    ) {
        pool.run({ completion(Result(catching: body)) }, orElse: { completion(.failure(.unknown)) })
    }

    private func opened(_ path: String) throws(FileRefusal) -> OpenedFile {
        guard !hides(path) else { throw .forbidden }
        reads(path)
        return try OpenedFile(path)
    }

    /// Links in the hidden paths are resolved on every call, because they may change while the bridge runs.
    private func hides(_ path: String) -> Bool {
        let hidden = hidden.withLock(\.self)
        return (Self.system + hidden + hidden.compactMap { try? Self.resolved($0) })
            .contains { path == $0 || path.hasPrefix("\($0)/") }
    }

    private func kind(of file: OpenedFile) throws(FileRefusal) -> String {
        let name = file.path.split(separator: "/").last.map { String($0) } ?? ""
        return FileKind.mimeType(of: name, beginning: try file.beginning(FileKind.prefixLength))
    }

    private func expanded(_ path: String) throws(FileRefusal) -> String {
        if path.hasPrefix("/") || path.hasPrefix("./") { return path }
        guard path.hasPrefix("~/"), let home else { throw .notFound }
        return home + path.dropFirst()
    }

    private static func resolved(_ path: String) throws(FileRefusal) -> String {
        guard !path.utf8.contains(0) else { throw .invalidRequest }
        guard let resolved = realpath(path, nil) else { throw FileRefusal(ofSystem: errno) }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
